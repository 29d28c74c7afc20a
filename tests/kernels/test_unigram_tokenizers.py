"""Unigram segmentation as tokenizers does it: ids and ends of the plain twin."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.unigram_memory import STATUS_NO_UNKNOWN, UnigramTables, new_scratch, new_tables
from numba_nlp.kernels.segment.unigram_tokenizers import segment
from numba_nlp.reference.segment import unigram_tokenizers as plain
from numba_nlp.reference.segment.unigram import Model
from tests.unigram_cases import ALPHABET, SCORES, random_text
from vocab_tools.compiler.double_array import build_double_array


class Case(NamedTuple):
    """A vocabulary as tokenizers takes it, and as the kernel and the twin do."""

    vocab: list[tuple[str, float]]
    unknown_id: int | None
    byte_fallback: bool
    tables: UnigramTables
    model: Model


def make_case(vocab: list[tuple[str, float]], unknown_id: int | None, byte_fallback: bool) -> Case:
    """Of equal entries the last one counts."""
    ids = {text.encode(): i for i, (text, _) in enumerate(vocab)}
    keys = sorted(key for key in ids if key)
    byte_ids = [ids.get(b"<0x%02X>" % byte, -1) for byte in range(256)] if byte_fallback else None
    number = -1 if unknown_id is None else unknown_id
    tables = new_tables(
        build_double_array(keys, [ids[key] for key in keys]),
        [len(text.encode()) for text, _ in vocab],
        [score for _, score in vocab],
        None,
        unknown_id=number,
        byte_ids=byte_ids,
        dtype=np.float64,
    )
    unknown_score = np.float64(min(score for _, score in vocab) - 10)
    scores = {i: np.float64(score) for i, (_, score) in enumerate(vocab)}
    model = Model({key: ids[key] for key in keys}, scores, number, unknown_score, byte_ids, float("inf"))
    return Case(vocab, unknown_id, byte_fallback, tables, model)


@lru_cache(maxsize=200)
def random_case(seed: int) -> Case:
    """Doubled entries, an unknown token that is a letter, missing bytes, scores above 0: all that a file may say."""
    r = random.Random(seed)
    score = SCORES[seed % len(SCORES)]
    vocab = []
    for _ in range(r.choice((1, 4, 12, 30))):
        text = "".join(r.choices(ALPHABET, k=r.choice((1, 1, 2, 2, 3, 4))))
        vocab.append((text, r.choice((5.0, 20.0, 100.0)) if r.random() < 0.05 else score(r)))
    unknown_id = None
    if r.random() < 0.9:
        unknown_id = r.randrange(len(vocab) + 1)
        vocab.insert(unknown_id, (r.choice(("<unk>", "a", "ab", "x")), r.choice((0.0, -3.0))))
    byte_fallback = r.random() < 0.4
    if byte_fallback:
        kept = r.choice((1.0, 0.98))
        vocab += [(f"<0x{byte:02X}>", r.choice((0.0, -4.0))) for byte in range(256) if r.random() < kept]
    return make_case(vocab, unknown_id, byte_fallback)


def tokens(case: Case, text: bytes) -> list[tuple[int, int]] | None:
    """Ids and ends by the kernel."""
    data = np.frombuffer(b"?" + text, np.uint8)
    ids, ends = np.full(len(text) + 1, -7, np.int32), np.full(len(text) + 1, -7, np.int64)
    n = int(segment(case.tables, data, 1, len(data), new_scratch(case.tables, len(text)), ids, ends, 0))
    if n == STATUS_NO_UNKNOWN:
        return None
    assert (ids[n:] == -7).all()
    return [(int(i), int(end) - 1) for i, end in zip(ids[:n], ends[:n], strict=True)]


@given(case=st.integers(0, 199).map(random_case), text=st.integers(0, 2**32).map(random_text) | st.text(max_size=10))
def test_tokens_are_those_of_the_twin(case, text):
    assert tokens(case, text.encode()) == plain.segment(case.model, text.encode())


def test_unknown_token_in_the_text_joins_unknown_characters():
    case = make_case([("<unk>", 0.0), ("a", -1.0)], 0, False)
    assert tokens(case, b"x<unk>y") == [(0, 7)]


def test_joined_unknown_characters_may_be_an_entry():
    # with scores this high two unknown characters beat the entry that they make
    case = make_case([("<unk>", 50.0), ("xy", 30.0)], 0, False)
    assert tokens(case, b"xy") == [(1, 2)]
    assert tokens(case, b"xyx") == [(0, 3)]


def test_bytes_only_when_all_of_them_are_there():
    some = [("<unk>", 0.0), ("a", -1.0), ("<0x78>", -1.0), ("<0xC3>", -1.0)]
    case = make_case(some, 0, True)
    assert tokens(case, b"axx") == [(1, 1), (2, 2), (2, 3)]
    assert tokens(case, "x\u00e9".encode()) == [(0, 3)]


def test_no_unknown_token():
    case = make_case([("a", -1.0), ("ax", -1.0)], None, False)
    # an entry reaches the place behind "x" with a better score than the unknown character would
    assert tokens(case, b"axa") == [(1, 2), (0, 3)]
    assert tokens(case, b"axx") is None
    # not on the best path, but the best one to its end
    assert tokens(make_case([("a", -1.0), ("axb", -1.0)], None, False), b"axb") is None
    assert tokens(case, b"") == []


def test_too_small_scratch():
    case = random_case(0)
    ids = np.empty(9, np.int32)
    scratch = new_scratch(case.tables, 8)
    assert segment(case.tables, np.zeros(9, np.uint8), 0, 9, scratch, ids, np.empty(0, np.int64), 0) == -9
