"""Small SentencePiece BPE vocabularies, made at random or by hand, for the kernels, their twins and sentencepiece."""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

import numpy as np

from numba_nlp.kernels.segment.sentencepiece_bpe import segment, segment_raw
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import SentencePieceBpeTables, new_scratch
from numba_nlp.reference.segment.sentencepiece_bpe import Piece
from vocab_tools.compiler.sentencepiece_bpe import build_scored_arrays, tables_of

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(6)
#: Characters of the made texts; not all of them are in any vocabulary.
CHARACTERS = "abc\u00e9\u65e5\u2581\U0001f600.\u00a0Z"


class Model(NamedTuple):
    """Pieces by id."""

    pieces: list[str]
    scores: list[float]
    kinds: list[int]
    byte_fallback: bool

    @property
    def unknown(self) -> int:
        return self.kinds.index(UNKNOWN)

    @property
    def byte_ids(self) -> list[int] | None:
        return [self.pieces.index(f"<0x{byte:02X}>") for byte in range(256)] if self.byte_fallback else None

    @property
    def texts(self) -> dict[str, Piece]:
        """What can stand in text, for the twin; scores as sentencepiece keeps them."""
        rows = zip(self.pieces, np.array(self.scores, np.float32).tolist(), self.kinds, strict=True)
        return {
            piece: Piece(number, score, kind)
            for number, (piece, score, kind) in enumerate(rows)
            if kind in (NORMAL, USER_DEFINED, UNUSED)
        }

    def tables(self, **options: bool) -> SentencePieceBpeTables:
        options = {"byte_fallback": self.byte_fallback, "escape_whitespaces": False, **options}
        arrays = build_scored_arrays(
            self.pieces, np.array(self.scores, np.float32), np.array(self.kinds, np.uint8), **options
        )
        return tables_of(arrays)


def model_of(pieces: list[tuple[str, float, int]], byte_fallback: bool = False) -> Model:
    """Vocabulary with the usual first three pieces, and byte pieces with byte fallback."""
    rows = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
    if byte_fallback:
        rows += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    rows += pieces
    return Model(*(list(column) for column in zip(*rows, strict=True)), byte_fallback)


@cache
def random_model(seed: int) -> Model:
    """Pieces joined from others, some at random; equal scores, unused, user-defined and control pieces."""
    rng = random.Random(seed)
    characters = rng.sample(CHARACTERS, rng.randint(1, len(CHARACTERS)))
    found = [c for c in characters if rng.random() < 0.85] or characters[:1]
    for _ in range(rng.choice((0, 3, 12, 60))):
        if rng.random() < 0.85:
            piece = rng.choice(found) + rng.choice(found)
        else:
            piece = "".join(rng.choices(characters, k=rng.randint(2, 4)))
        if len(piece) <= 12 and piece not in found:
            found.append(piece)
    order = list(range(len(found)))
    if seed % 3 == 1:
        rng.shuffle(order)
    special = (0.0, 0.1, 0.3)[seed % 3]
    rows = []
    for piece, place in zip(found, order, strict=True):
        score = -float(place)
        if seed % 4 == 2:
            score = -float(place // 3)
        elif seed % 4 == 3 and len(set(piece)) == 1:
            score = -1e9
        kind = rng.choice((USER_DEFINED, UNUSED, UNUSED, CONTROL)) if rng.random() < special else NORMAL
        rows.append((piece, score, kind))
    return model_of(rows, byte_fallback=seed % 5 == 0)


def tokens(tables: SentencePieceBpeTables, text: str, raw: bool = False, before: int = 3) -> list[tuple[int, int]]:
    """Ids and where they end, by the kernel, with other text around."""
    content = text.encode()
    data = np.frombuffer(b"a" * before + content + b"bc", np.uint8)
    ids = np.full(len(content) + 4, -7, np.int32)
    ends = np.full(len(content) + 4, -7, np.int64)
    place = segment_raw if raw else segment
    last = int(place(tables, data, before, before + len(content), new_scratch(), ids, ends, 1))
    assert ids[0] == ends[0] == -7
    assert (ids[last:] == -7).all()
    without_ends = np.full(len(content) + 4, -7, np.int32)
    none = np.zeros(0, np.int64)
    assert last == place(tables, data, before, before + len(content), new_scratch(), without_ends, none, 1)
    assert (without_ends == ids).all()
    return list(zip(ids[1:last].tolist(), (ends[1:last] - before).tolist(), strict=True))
