"""Spans of words of raw text are those that the alignment of whole rows gives, behind whatever stages."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp import _fastcall
from tests.made_tokenizers import TEXTS
from tests.normalizer_cases import texts as tricky_texts
from tests.shared_data import shared
from tests.test_raw_words import CASES, TRICKY, pair
from tools.fuzz_texts import fuzz_texts

pytestmark = pytest.mark.skipif(not _fastcall.AVAILABLE, reason="words are encoded by address only")

CUT = [name for name, case in CASES.items() if case[3]]
LONG = [
    "to be " * 3000,
    "",
    "a" * 700,
    "\u65e5" * 600 + " to",
    "\ufdfa" * 40 + " \ufdfa",
    " " * 600 + "a",
    "",
    "</s>" * 9,
]


def in_blocks(tokenizer: nlp.Tokenizer) -> nlp.Tokenizer:
    """The same tokenizer, its text not cut into words."""
    other = nlp.Tokenizer(tokenizer.vocabulary)
    other._encoder._words = None
    return other


@cache
def both(name: str) -> tuple[nlp.Tokenizer, nlp.Tokenizer]:
    ours = nlp.Tokenizer(pair(name).ours.vocabulary)
    assert ours._encoder._words.spanned is not None
    return ours, in_blocks(ours)


def same(found: nlp.Ragged, expected: nlp.Ragged) -> None:
    for name in ("values", "offsets", "starts", "ends"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


@pytest.mark.parametrize("name", CUT)
def test_texts(name: str) -> None:
    ours, blocks = both(name)
    rows = [*TRICKY, *TEXTS, *LONG, *fuzz_texts(200, seed=7)]
    for unit in ("char", "byte"):
        for special in ("match", "plain"):
            expected = blocks.encode_batch(rows, spans=True, unit=unit, special=special, num_threads=1)
            for threads in (1, 1, 3):
                found = ours.encode_batch(rows, spans=True, unit=unit, special=special, num_threads=threads)
                same(found, expected)
            np.testing.assert_array_equal(ours.encode_batch(rows, special=special).values, expected.values)


@given(
    name=st.sampled_from(CUT),
    unit=st.sampled_from(["char", "byte"]),
    texts=st.lists(
        st.lists(st.sampled_from(TRICKY) | st.sampled_from([" ", "the", "to"]), max_size=6).map("".join) | tricky_texts,
        min_size=1,
        max_size=4,
    ),
)
def test_generated_texts(name: str, unit: str, texts: list[str]) -> None:
    ours, blocks = both(name)
    same(ours.encode_batch(texts, spans=True, unit=unit), blocks.encode_batch(texts, spans=True, unit=unit))


@pytest.mark.parametrize("name", ["mistral", "t5", "punctuation"])
def test_one_text(name: str) -> None:
    ours, blocks = both(name)
    for text in (*TRICKY, *LONG):
        for found, expected in zip(ours.encode(text, spans=True), blocks.encode(text, spans=True), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_words_that_do_not_fit(name: str) -> None:
    ours, blocks = both(name)
    rows = ["to be", "a" * 40_000, "to be " * 500, "\ufdfa" * 3000, " " * 70_000 + "a", "\u65e5" * 20_000]
    same(ours.encode_batch(rows, spans=True), blocks.encode_batch(rows, spans=True))


@pytest.mark.parametrize(
    "name", ["mistral/mistral03.json", "t5/flan_t5_tokenizer.json", "xlnet/tokenizer.json", "barthez/tokenizer.json"]
)
def test_published_files(name: str) -> None:
    ours = nlp.load_tokenizer(shared(f"vocab/{name}"), ignore=("truncation", "padding"))
    blocks = in_blocks(ours)
    rows = [
        *TRICKY,
        *fuzz_texts(500, seed=9),
        *shared("text/hamlet.txt").read_text(encoding="utf-8").splitlines()[:2000],
    ]
    for unit in ("char", "byte"):
        expected = blocks.encode_batch(rows, spans=True, unit=unit)
        for _ in range(2):
            same(ours.encode_batch(rows, spans=True, unit=unit), expected)
