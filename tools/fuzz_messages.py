"""How ``tools/fuzz_readers.py`` damages protobuf messages (SentencePiece models), by their wire format.

The wire format is that of https://protobuf.dev/programming-guides/encoding/: a message is a row of fields, each
a varint of ``number << 3 | type`` and a value, whose type is 0 (varint), 1 (8 bytes), 2 (length and bytes) or
5 (4 bytes).
"""

from __future__ import annotations

import random
import struct
from typing import NamedTuple

__all__ = ["Field", "mutate_message", "read_fields", "write_fields"]

_SCORES = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e30, -1e38, 1e-45, 3.5)
_VARINTS = (
    0,
    1,
    2,
    3,
    5,
    6,
    7,
    127,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
_PIECES = (
    b"", b" ", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xe2\x96\x81", b"<unk>", b"<s>", b"<0x41>", b"<0xZZ>",
    b"<0x0a>", b"a" * 7999, b"a" * 9000, b"\t", b"\n", b"\xf4\x8f\xbf\xbf", "e\u0301".encode(), b"\xef\xbb\xbf",
)  # fmt: skip
#: Fields of ModelProto that hold messages: pieces, trainer, normaliser, self test, denormaliser.
_MESSAGES = (1, 2, 3, 4, 5)
_PIECE, _NORMALIZERS = 1, (3, 5)


class Field(NamedTuple):
    """A field as it is written; the value is an int for varints, else bytes."""

    number: int
    wire: int
    value: int | bytes


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def read_fields(data: bytes) -> list[Field]:
    """Fields of a message.

    Raises
    ------
    ValueError
        The bytes are no message.
    """
    fields: list[Field] = []
    place = 0
    try:
        while place < len(data):
            key, place = _varint(data, place)
            wire = key & 7
            if wire == 0:
                value, place = _varint(data, place)
                fields.append(Field(key >> 3, wire, value))
                continue
            length = {1: 8, 5: 4}.get(wire)
            if wire == 2:
                length, place = _varint(data, place)
            if length is None or place + length > len(data):
                raise ValueError("no message")
            fields.append(Field(key >> 3, wire, data[place : place + length]))
            place += length
    except IndexError as error:
        raise ValueError("no message") from error
    return fields


def _written(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def write_fields(fields: list[Field], length: int | None = None) -> bytes:
    """The bytes of fields; ``length``, when given, is said of the last one with a length, whatever it has."""
    made = []
    for place, field in enumerate(fields):
        made.append(_written(field.number << 3 | field.wire))
        if isinstance(field.value, int):
            made.append(_written(field.value))
        else:
            said = length if length is not None and place == len(fields) - 1 else len(field.value)
            made += [_written(said)] if field.wire == 2 else []
            made.append(field.value)
    return b"".join(made)


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 4))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    cut = rng.randrange(len(changed) + 1) if rng.random() < 0.1 else len(changed)
    return bytes(changed[:cut])


def _charsmap(rng: random.Random, blob: bytes) -> bytes:
    """Units that loop, lead outside, or have other values; other sizes."""
    if len(blob) < 1028:
        return rng.randbytes(rng.choice((0, 4, 5, 1100)))
    changed = bytearray(blob)
    size = struct.unpack_from("<I", blob)[0]
    if rng.random() < 0.15:
        struct.pack_into("<I", changed, 0, rng.choice((0, 1, 4, 1024, size ^ 4, len(blob), 1 << 31, 0xFFFFFFFF)))
        return bytes(changed)
    if rng.random() < 0.15:
        return _flip(rng, blob)
    n_units = min(size, len(blob) - 4) // 4
    for _ in range(rng.choice((1, 4, 64)) if n_units else 0):
        place, other = rng.randrange(n_units), rng.randrange(n_units)
        (unit,) = struct.unpack_from("<I", blob, 4 + 4 * place)
        (another,) = struct.unpack_from("<I", blob, 4 + 4 * other)
        values = (
            unit ^ 1 << rng.randrange(32), 0, 0xFFFFFFFF, 0x80000000 | rng.randrange(1 << 20), unit ^ place << 10,
            (place ^ other) << 10 | unit & 0x3FF, another,
        )  # fmt: skip
        struct.pack_into("<I", changed, 4 + 4 * place, rng.choice(values) & 0xFFFFFFFF)
    return bytes(changed)


def _other_value(rng: random.Random, field: Field) -> Field:
    if isinstance(field.value, int):
        return field._replace(value=rng.choice(_VARINTS))
    if field.wire == 5:
        return field._replace(value=struct.pack("<f", rng.choice(_SCORES)))
    if len(field.value) > 1000:
        return field._replace(value=_charsmap(rng, field.value))
    return field._replace(value=rng.choice((*_PIECES, _flip(rng, field.value))))


def _change(rng: random.Random, fields: list[Field]) -> None:
    """Change, double, drop, reorder or retype one field."""
    if not fields:
        fields.append(Field(rng.randrange(1, 60), 2, rng.choice(_PIECES)))
        return
    place = rng.randrange(len(fields))
    field = fields[place]
    match rng.randrange(8):
        case 0:
            fields.insert(rng.randint(0, len(fields)), field)
        case 1:
            del fields[place]
        case 2:
            fields[place] = Field(field.number, rng.choice((0, 1, 2, 3, 4, 5, 6, 7)), b"\x01" * 8)
        case 3:
            other = rng.randrange(len(fields))
            fields[place], fields[other] = fields[other], field
        case 4:
            fields.insert(place, Field(rng.choice((1, 6, 15, 16, 200, 536870911, 1 << 29)), 2, rng.randbytes(5)))
        case 5:
            fields[place] = field._replace(number=rng.randrange(0, 50))
        case _:
            fields[place] = _other_value(rng, field)


def mutate_message(rng: random.Random, content: bytes) -> bytes:
    """Damage a SentencePiece model: its fields, or those of a piece, of the trainer, of the normaliser."""
    try:
        fields = read_fields(content)
    except ValueError:
        fields = []
    action = rng.random()
    if not fields or action < 0.1:
        changed = _flip(rng, content)
        start = rng.randint(0, len(changed))
        return changed[:start] + rng.choice((b"", b"\xff" * 10, b"\x0a\xff\xff\xff\xff\x0f")) + changed[start:]
    if action < 0.2:
        _change(rng, fields)
        return write_fields(fields)
    if action < 0.25:
        stop = rng.randint(1, len(fields))
        return write_fields(fields[:stop], rng.choice((0, 1 << 20, (1 << 31) - 1, 1 << 32, (1 << 64) - 1)))
    number = (
        rng.choice([field.number for field in fields if field.number != _PIECE] or [_PIECE])
        if rng.random() < 0.6
        else _PIECE
    )
    places = [place for place, field in enumerate(fields) if field.number == number]
    for _ in range(rng.choice((1, 1, 3, 40))):
        place = rng.choice(places)
        field = fields[place]
        try:
            inner = read_fields(field.value) if isinstance(field.value, bytes) and number in _MESSAGES else []
        except ValueError:
            continue
        large = [k for k, part in enumerate(inner) if isinstance(part.value, bytes) and len(part.value) > 1000]
        if number in _NORMALIZERS and large and rng.random() < 0.5:
            inner[large[0]] = _other_value(rng, inner[large[0]])
        else:
            _change(rng, inner)
        fields[place] = field._replace(value=write_fields(inner), wire=2)
    return write_fields(fields)
