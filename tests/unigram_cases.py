"""Small Unigram vocabularies, as tables for the kernels and as models for the twins and for sentencepiece."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from numba_nlp.kernels.segment.unigram_memory import (
    KIND_NORMAL,
    KIND_USER_DEFINED,
    UnigramTables,
    lattice_tables,
    new_tables,
)
from numba_nlp.reference.segment.unigram import Model, user_defined_score
from vocab_tools.compiler.double_array import build_double_array

SPACE = "\u2581"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(6)
#: Texts are made of these; "x", the accented letter and the emoji are often unknown.
ALPHABET = ("a", "b", "ab", SPACE, f"{SPACE}a", "x", "\u00e9", "\U0001f600")


class Piece(NamedTuple):
    """A line of a vocabulary; its id is its place."""

    text: str
    score: float
    kind: int


class Case(NamedTuple):
    """One vocabulary, several times."""

    pieces: tuple[Piece, ...]
    tables: UnigramTables
    lattice: UnigramTables
    model: Model
    lattice_model: Model


def make_case(pieces: Sequence[Piece], *, byte_fallback: bool = False) -> Case:
    """As sentencepiece reads a model of these pieces."""
    found = {piece.text.encode(): i for i, piece in enumerate(pieces) if piece.kind in (NORMAL, USER_DEFINED)}
    keys = sorted(found)
    kinds = np.array([piece.kind for piece in pieces], np.uint8)
    unknown_id = next(i for i, piece in enumerate(pieces) if piece.kind == UNKNOWN)
    byte_ids = None
    if byte_fallback:
        by_text = {piece.text: i for i, piece in enumerate(pieces) if piece.kind == BYTE}
        byte_ids = [by_text[f"<0x{byte:02X}>"] for byte in range(256)]
    tables = new_tables(
        build_double_array(keys, [found[key] for key in keys]),
        [len(piece.text.encode()) for piece in pieces],
        [piece.score for piece in pieces],
        kinds,
        unknown_id=unknown_id,
        byte_ids=byte_ids,
    )
    normal = [np.float32(piece.score) for piece in pieces if piece.kind == KIND_NORMAL]
    unknown_score = min(normal) - np.float32(10)

    def model(in_bytes: bool) -> Model:
        scores = {}
        for i, piece in enumerate(pieces):
            length = len(piece.text.encode()) if in_bytes else len(piece.text)
            user_defined = piece.kind == KIND_USER_DEFINED
            scores[i] = user_defined_score(length) if user_defined else np.float32(piece.score)
        return Model(found, scores, unknown_id, unknown_score, byte_ids, 100000.0)

    lattice = lattice_tables(tables, [len(piece.text) for piece in pieces], kinds)
    return Case(tuple(pieces), tables, lattice, model(True), model(False))


#: Ways to score: with many exact ties, with ties in real numbers that rounding decides, and without.
SCORES = (
    lambda r: float(r.choice((-1, -2, -3, -4))),
    lambda r: -0.1 * r.randrange(1, 40),
    lambda r: -10 * r.random(),
    lambda r: -2.0 - 1e-5 * r.randrange(4),
    lambda r: r.choice((0.0, 1.5, -0.25)),
)


@lru_cache(maxsize=200)
def random_case(seed: int) -> Case:
    """A vocabulary of up to 30 pieces over ``ALPHABET``; some have byte fallback, all kinds of pieces occur."""
    r = random.Random(seed)
    score = SCORES[seed % len(SCORES)]
    texts = {"".join(r.choices(ALPHABET, k=r.choice((1, 1, 2, 2, 3, 4)))) for _ in range(r.choice((1, 4, 12, 30)))}
    if r.random() < 0.7:
        texts |= {SPACE, "a", "b"}
    byte_fallback = seed % 4 == 1
    pieces = [Piece("<unk>", 0.0, UNKNOWN), Piece("<s>", 0.0, CONTROL)]
    for text in sorted(texts):
        kind = r.choice((NORMAL,) * 8 + (USER_DEFINED, UNUSED))
        pieces.append(Piece(text, score(r), kind))
    pieces.append(Piece("zz", score(r), NORMAL))
    if byte_fallback:
        pieces += [Piece(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    return make_case(pieces, byte_fallback=byte_fallback)


def random_text(seed: int, most: int = 40) -> str:
    """A text over ``ALPHABET``; runs of one symbol now and then."""
    r = random.Random(seed)
    n = int(most * r.random() ** 2) + 1
    symbols = r.choices(ALPHABET, k=r.choice((1, 2, len(ALPHABET))))
    return "".join(r.choices(symbols, k=n))


def _varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def model_file(pieces: Sequence[Piece], *, byte_fallback: bool = False) -> bytes:
    """The pieces as a sentencepiece model (protobuf) that leaves text as it is."""
    kinds = {NORMAL: 1, UNKNOWN: 2, CONTROL: 3, USER_DEFINED: 4, UNUSED: 5, BYTE: 6}
    content = b""
    for piece in pieces:
        score = _varint(2 << 3 | 5) + np.float32(piece.score).tobytes()
        content += _field(1, _field(1, piece.text.encode()) + score + _varint(3 << 3) + _varint(kinds[piece.kind]))
    unigram, fallback = _varint(3 << 3) + _varint(1), _varint(35 << 3) + _varint(byte_fallback)
    content += _field(2, unigram + fallback)
    # name "identity"; no dummy prefix, white space is neither removed nor escaped
    switches = b"".join(_varint(number << 3) + b"\0" for number in (3, 4, 5))
    return content + _field(3, _field(1, b"identity") + switches)


def read_pieces(content: bytes) -> list[Piece]:
    """The pieces of a sentencepiece model."""
    kinds = {1: NORMAL, 2: UNKNOWN, 3: CONTROL, 4: USER_DEFINED, 5: UNUSED, 6: BYTE}
    pieces = []
    for number, value in _fields(content):
        if number == 1:
            parts = dict(_fields(value))
            score = float(np.frombuffer(parts[2], "<f4")[0]) if 2 in parts else 0.0
            pieces.append(Piece(parts[1].decode(), score, kinds[parts.get(3, 1)]))
    return pieces


def _fields(content: bytes):
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(content):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        n = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
        yield key >> 3, content[at : at + n]
        at += n
