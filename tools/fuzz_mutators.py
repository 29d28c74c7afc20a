"""How ``tools/fuzz_readers.py`` damages files: bytes, lines, JSON, protobuf messages, packed and compiled files.

Every mutator takes a ``random.Random`` and the bytes of a file and gives other bytes; one that knows a structure falls
back to plain bytes where the structure is gone already, so that they can be applied one after the other.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from numba_nlp._vocabulary_file import canonical_json, file_parts, metadata_digest, payload_digest
from numba_nlp.vocabulary import Vocabulary
from tools.fuzz_messages import mutate_message

__all__ = ["mutate", "mutate_bytes", "mutate_compiled", "mutate_json", "mutate_lines", "mutate_packed"]

Mutator = Callable[[random.Random, bytes], bytes]
#: Byte strings that readers trip over.
_BYTES = (
    b"", b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80", b"\n", b"\r",
    b"\n\n", b"\xe2\x80\xa8", b"\xc2\x85", b" ", b"\t", b"\xc4\xa0", b"\xe2\x96\x81", b"##", b"</w>", b"@@",
    b"\x80" * 10 + b"\x01", b"\xff" * 16, b"{" * 2000, b"[" * 100_000, b"a" * 20_000, b"-1", b"1e999", b"NaN",
    b"9" * 5000, b"18446744073709551616",
)  # fmt: skip
#: Values that no field of a vocabulary expects.
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 255, 256, 1 << 20, 1 << 31, -(1 << 31), (1 << 32) + 1, 1 << 63, 1 << 64, -(1 << 70),
    0.5, -0.0, 1e308, 1e-320, float("nan"), float("inf"), float("-inf"), "", " ", "a", "\x00", "\ud800", "\udfff\ud800",
    "a" * 9000, "\U0010ffff", "<unk>", "▁", "##", "(", "[", "(a+)+$", "\\", "$A", "$0", "</s>:1", "\u0301", [], {},
    [[]], [None], {"": None}, {"type": "BPE"}, {"String": ""}, {"Regex": "("}, {"Regex": "(?=a)*"}, [1, 2, 3],
    ["a", "a"], [["a", "a"]], "Sequence", "ByteLevel", "Unigram", "WordPiece", "Metaspace", "\ufeff",
)  # fmt: skip


def mutate_bytes(rng: random.Random, content: bytes) -> bytes:
    """Flip, cut, insert, splice or repeat bytes."""
    data = bytearray(content)
    start = rng.randint(0, len(data))
    stop = min(len(data), start + int(2 ** (rng.random() * 12)))
    match rng.randrange(9):
        case 0:
            for _ in range(rng.choice((1, 1, 2, 8))):
                if data:
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        case 2:
            del data[start:]
        case 3:
            del data[start:stop]
        case 4:
            data[start:start] = rng.choice(_BYTES)
        case 5:
            place = rng.randint(0, len(data))
            data[place:place] = data[start:stop]
        case 6:
            data[start:start] = data[start:stop] * rng.choice((2, 20, 200))
        case 7:
            data[start:stop] = rng.randbytes(stop - start)
        case _:
            return _recoded(rng, content)
    return bytes(data)


def _recoded(rng: random.Random, content: bytes) -> bytes:
    """The whole file in a wrong encoding, or another kind of file altogether."""
    text = content.decode("utf-8", "replace")
    match rng.randrange(7):
        case 0:
            return text.encode("utf-16")
        case 1:
            return text.encode("utf-32-le")
        case 2:
            return text.encode("latin-1", "replace")
        case 3:
            return b"\xef\xbb\xbf" + content
        case 4:
            return gzip.compress(content, 1, mtime=0)
        case 5:
            return content.replace(b"\n", b"\r")
        case _:
            return rng.randbytes(rng.choice((1, 8, 300)))


def mutate_lines(rng: random.Random, content: bytes) -> bytes:
    """Damage a file of lines: double, swap, drop and change lines and their parts."""
    if rng.random() < 0.25:
        return mutate_bytes(rng, content)
    lines = content.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    parts = lines[place].split(b" ")
    match rng.randrange(9):
        case 0:
            lines.insert(other, lines[place])
        case 1:
            lines[place], lines[other] = lines[other], lines[place]
        case 2:
            del lines[place]
        case 3:
            lines[place] += rng.choice((b" ", b"\t", b"", b"\r")) + lines[other]
        case 4:
            parts[rng.randrange(len(parts))] = rng.choice(_BYTES)
            lines[place] = b" ".join(parts)
        case 5:
            # a part that merges with itself, or a product in place of a part: cycles
            joined = b"".join(parts[:2])
            lines[place] = rng.choice((b"%b %b" % (parts[0], parts[0]), b"%b %b" % (joined, parts[-1]), joined))
        case 6:
            parts.insert(rng.randint(0, len(parts)), lines[other].split(b" ")[0])
            lines[place] = b" ".join(parts)
        case 7:
            lines = lines[: rng.randint(0, len(lines))]
        case _:
            lines[place] = lines[place] * rng.choice((2, 500))
    return b"\n".join(lines)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """All (container, key) of a JSON value, at most 4000 of one container."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict | list):
            keys = list(item) if isinstance(item, dict) else range(len(item))
            for key in list(keys)[:4000]:
                found.append((item, key))
                todo.append(item[key])
    return found


def mutate_json(rng: random.Random, content: bytes) -> bytes:
    """Wrong types and values, doubled pieces and keys, merges in circles, deep nesting, what JSON cannot say."""
    if rng.random() < 0.15:
        return mutate_bytes(rng, content)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return mutate_bytes(rng, content)
    places = _places(value)
    if not places:
        return mutate_bytes(rng, content)
    # every depth alike: else the pieces, which are thousands, would take all of it
    by_container: dict[int, list[tuple[Any, Any]]] = {}
    for item in places:
        by_container.setdefault(id(item[0]), []).append(item)
    large = [group for group in by_container.values() if len(group) > 3] or list(by_container.values())
    groups = rng.choice((large, list(by_container.values())))
    holder, key = rng.choice(rng.choice(groups))
    inner = holder[key]
    action = rng.randrange(10)
    if action == 0:
        if isinstance(holder, dict):
            del holder[key]
        else:
            holder.pop(key)
    elif action == 1:
        source, from_key = rng.choice(places)
        holder[key] = source[from_key] if source[from_key] is not value else None
        try:
            return _dumped(rng, value)
        except (ValueError, RecursionError):  # a container within itself
            return mutate_bytes(rng, content)
    elif action == 2 and isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), inner)
    elif action == 3 and isinstance(holder, list):
        other = rng.randrange(len(holder))
        holder[key], holder[other] = holder[other], holder[key]
    elif action == 4 and isinstance(inner, list) and len(inner) == 2:
        inner[rng.randrange(2)] = rng.choice((inner[0], inner[1], f"{inner[0]}{inner[1]}"))
    elif action == 4 and isinstance(inner, str) and " " in inner:
        left, _, right = inner.partition(" ")
        holder[key] = rng.choice((f"{left} {left}", f"{left}{right} {right}", f"{left}{right}", f"{inner} {left}"))
    elif action == 5 and isinstance(holder, dict):
        name = rng.choice(("", "type", "id", "\x00", "\ud800", f"{key} ", "a" * 9000, str(rng.choice(places)[1])))
        holder[name] = inner
        if rng.random() < 0.5 and name != key:
            del holder[key]
    elif action == 6 and isinstance(inner, int | float) and not isinstance(inner, bool):
        holder[key] = inner + rng.choice((-1, 1, 0.5, 100, -(1 << 40), 1 << 40))
    else:
        holder[key] = copy.deepcopy(rng.choice(_VALUES))
    return _dumped(rng, value)


def _dumped(rng: random.Random, value: Any) -> bytes:
    """The value as text, sometimes with a doubled key, deep nesting, or a number that nothing holds."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.2:
        cuts = [place for place, character in enumerate(text[:200_000]) if character in ":,[{"]
        if cuts:
            cut = rng.choice(cuts)
            depth = rng.choice((50, 2000, 200_000))
            extra = rng.choice(
                (
                    "1e999,",
                    "9" * 5000 + ",",
                    "-0,",
                    '"\\ud800",',
                    "[" * depth,
                    '{"a":' * depth,
                    "[" * depth + "]" * depth + ",",
                )
            )
            if rng.random() < 0.5 and text[cut] in ",{":
                extra = '"type": 1, "type": "BPE", ' + ('"vocab": {"a": 0, "a": 1},' if rng.random() < 0.5 else "")
            text = text[: cut + 1] + extra + text[cut + 1 :]
    return text.encode("utf-8", "surrogatepass")


def mutate_packed(rng: random.Random, content: bytes) -> bytes:
    """A gzip file: its own bytes, the lines in it, or many members of zeros (a gigabyte from a megabyte)."""
    action = rng.randrange(8)
    if action == 0:
        return gzip.compress(bytes(1 << 24), 9, mtime=0) * 64
    if action < 3 or len(content) > 1 << 19:  # many members already
        return mutate_bytes(rng, content)
    try:
        return gzip.compress(mutate_lines(rng, gzip.decompress(content)), 1, mtime=0)
    except (OSError, EOFError, zlib.error):
        return mutate_bytes(rng, content)


def mutate_compiled(rng: random.Random, content: bytes) -> bytes:
    """A compiled file: its bytes, its header, or its arrays and metadata with digests that are right again."""
    action = rng.randrange(4)
    try:
        if action == 0:
            return mutate_bytes(rng, content)
        if action == 1:
            return _other_header(rng, content)
        vocabulary = Vocabulary.from_bytes(content)
    except (ValueError, TypeError, LookupError, RecursionError, struct.error):  # damaged before
        return mutate_bytes(rng, content)
    arrays = {name: np.array(values) for name, values in vocabulary.arrays.items()}
    metadata = json.loads(json.dumps(dict(vocabulary.metadata), default=_plain))
    for _ in range(rng.choice((1, 1, 3))):
        if action == 2:
            _change_metadata(rng, metadata)
        elif arrays:
            _change_array(rng, arrays)
    metadata["payload_digest"] = payload_digest(arrays)
    metadata["metadata_digest"] = metadata_digest(metadata)
    return b"".join(file_parts(arrays, metadata))


def _plain(value: Any) -> Any:
    """Mappings and tuples that JSON does not know."""
    return dict(value) if hasattr(value, "keys") else list(value)


def _change_metadata(rng: random.Random, metadata: dict[str, Any]) -> None:
    holder, key = rng.choice(_places(metadata))
    holder[key] = copy.deepcopy(rng.choice(_VALUES))
    try:
        canonical_json(metadata)
    except ValueError:  # NaN and infinity cannot be written
        holder[key] = None


def _change_array(rng: random.Random, arrays: dict[str, Any]) -> None:
    name = rng.choice(sorted(arrays))
    values = arrays[name]
    match rng.randrange(6):
        case 0:
            arrays[name] = values[: rng.randint(0, values.size)].copy()
        case 1:
            arrays[name] = np.concatenate((values, values[: rng.randint(0, 3)]))
        case 2:
            arrays[name] = values.astype(rng.choice(("uint8", "int32", "int64", "float32", "float64")))
        case 3:
            del arrays[name]
        case _:
            raw = bytearray(values.tobytes())
            if raw:
                place = rng.randrange(len(raw))
                raw[place : place + 1] = bytes([rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))])
            arrays[name] = np.frombuffer(bytes(raw), values.dtype).copy()


def _other_header(rng: random.Random, content: bytes) -> bytes:
    """Sizes, dtypes, ranges and names of the header changed; its length right, or enormous."""
    length = struct.unpack("<Q", content[:8])[0]
    header, body = content[8 : 8 + length], content[8 + length :]
    if rng.random() < 0.2:
        return (
            struct.pack("<Q", rng.choice((0, 1, length - 1, length + 1, 1 << 31, 1 << 63, (1 << 64) - 1)))
            + header
            + body
        )
    changed = mutate_json(rng, header)
    if rng.random() < 0.5:
        value = json.loads(header)
        entry = value[rng.choice([name for name in value if name != "__metadata__"])]
        entry[rng.choice(("dtype", "shape", "data_offsets"))] = rng.choice(
            (
                "F16",
                "U8",
                [1 << 62],
                [-1],
                [2, 2],
                [],
                [0, 1 << 62],
                [1 << 62, 0],
                [0, 0],
                [0.0, 1e9],
                [True, True],
                1 << 70,
            )
        )
        changed = json.dumps(value, separators=(",", ":")).encode()
    return struct.pack("<Q", len(changed)) + changed + body


_OF_SUFFIX: dict[str, Mutator] = {
    ".json": mutate_json,
    ".model": mutate_message,
    ".spm": mutate_message,
    ".gz": mutate_packed,
    ".safetensors": mutate_compiled,
}


def mutate(rng: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """Damage one to four times one of the files, seldom several; or leave one out."""
    made = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        name = rng.choice(sorted(made))
        suffix = name[name.rfind(".") :]
        mutator = mutate_bytes if rng.random() < 0.1 else _OF_SUFFIX.get(suffix, mutate_lines)
        made[name] = mutator(rng, made[name])
    if len(made) > 1 and rng.random() < 0.03:
        del made[rng.choice(sorted(made))]
    return made
