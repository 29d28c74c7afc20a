"""Rows of SentencePiece models through chunks, the cache and marks, against the twin, which takes whole rows."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.sentencepiece_unigram import encode_rows_spaced, encode_rows_whole
from numba_nlp.kernels.segment.unigram_settling import MARK
from numba_nlp.kernels.tables.word_cache import MISSES
from numba_nlp.reference.segment import normalize_charsmap
from numba_nlp.reference.segment import sentencepiece_unigram as twin
from numba_nlp.reference.segment.unigram import Model, user_defined_score
from tests.random_sentencepiece import model_content, random_model, random_texts
from tests.sentencepiece_cases import run_normalize
from vocab_tools.compiler.charsmap import normalizer_tables
from vocab_tools.formats.sentencepiece_model import SentencePieceModel, parse


@lru_cache(maxsize=100)
def parsed(seed: int, kind: str, usual: bool, scale: float) -> SentencePieceModel:
    return parse(model_content(seed, kind, usual=usual, scale=scale), name="made")


def in_text(model: SentencePieceModel) -> dict[bytes, int]:
    return {model.pieces[i]: i for i in np.flatnonzero(np.isin(model.kinds, (0, 3))).tolist()}


def byte_ids(model: SentencePieceModel) -> dict[int, int]:
    return {int(model.pieces[i][3:5], 16): i for i in np.flatnonzero(model.kinds == 5).tolist()}


def twin_ids(model: SentencePieceModel, text: str) -> list[int]:
    symbols = model.user_defined()
    tables = normalizer_tables(model.normalizer, symbols)
    normalized, _, _ = run_normalize(normalize_charsmap, tables, text.encode())
    found, in_bytes = in_text(model), byte_ids(model)
    if model.model_type != "unigram":
        spelled = [symbol.decode() for symbol in symbols]
        parts = twin.words if model.model_type == "word" else lambda row: twin.characters(row, spelled)
        return twin.looked_up_ids(parts, found, model.unk_id, in_bytes, normalized)
    scores = {
        i: user_defined_score(len(model.pieces[i])) if model.kinds[i] == 3 else model.scores[i] for i in found.values()
    }
    unknown = model.scores[model.kinds == 0].min() - np.float32(10)
    fallback = [in_bytes[byte] for byte in range(256)] if in_bytes else None
    return twin.unigram_ids(Model(found, scores, model.unk_id, unknown, fallback, 100000.0), normalized)


kinds = st.sampled_from(["unigram", "unigram", "word", "char"])


@given(st.integers(0, 49), kinds, st.booleans(), st.sampled_from([1.0, 900.0]), st.integers(0, 2**20))
def test_rows_give_what_the_twin_gives(seed, kind, usual, scale, number):
    model = parsed(seed, kind, usual, scale)
    ours = random_model(seed, kind, usual=usual, scale=scale).ours
    rows = [text.encode() for text in random_texts(number, 5) + random_texts(number, 1, 300)]
    tables, cache, scratch = ours.kernel_memory()
    encode_rows = encode_rows_spaced if ours.describe()["pattern"] == "spaced" else encode_rows_whole
    data = np.frombuffer(b"".join(rows), np.uint8)
    bounds = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    bounds.flags.writeable = False
    no_ids = np.zeros(0, np.int32)
    no_ids.flags.writeable = False
    ids = np.full(data.size * ours.vocabulary.metadata["ids_per_byte"] + 8, -7, np.int32)
    offsets = np.zeros(len(rows) + 1, np.int64)
    expected = [twin_ids(model, row.decode()) for row in rows]
    for _ in range(2):
        n = encode_rows(tables, cache, data, bounds[:-1], bounds[1:], no_ids, 0, len(rows), scratch, ids, offsets, 0)
        assert [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())] == expected
        assert n == offsets[-1]


def test_chunks_are_solved_once_unless_their_ids_depend_on_the_running_score():
    """A tie in real numbers that rounding decides: "aa" + "a" and "a" + "aa"; anything else comes from the cache."""
    ours = random_model(2, usual=True).ours
    texts = random_texts(9, 400)
    ours.encode_batch(texts, num_threads=1)
    cache = ours._encoder._contexts[0].cache
    before = int(cache.fill[MISSES])
    ours.encode_batch(texts, num_threads=1)
    # chunks that are too long, or have too many ids, are solved each time
    assert cache.fill[MISSES] - before < before / 4


def test_marks_never_leave_the_kernels():
    for seed in range(12):
        ours = random_model(seed, usual=True, scale=300.0).ours
        assert (ours.encode_batch(random_texts(seed, 100, 200), num_threads=1).values < MARK).all()
