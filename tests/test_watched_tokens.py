"""Texts with special tokens are found whichever bytes those begin with: lists of ``str`` against rows of bytes."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import numba_nlp as nlp
from tests.made_tokenizers import Pair
from tests.staged_tokenizers import _bpe, compiled
from tests.test_raw_words import UNCUT

#: One byte, one that another begins with, pairs that texts hold without the token, characters beyond ASCII.
TOKENS = ["#", "<a>", "<a>b", "[control_1]", "[control_2]", "\u00e9\u00e8", "\u65e5"]


@cache
def pair() -> Pair:
    reference = Tokenizer(_bpe(True, True, False))
    reference.pre_tokenizer = UNCUT
    reference.add_special_tokens(TOKENS)
    return compiled(reference)


def check(texts: list[str]) -> None:
    ours, reference = pair()
    expected = [encoding.ids for encoding in reference.encode_batch(texts, add_special_tokens=False)]
    for rows in (texts, nlp.TextRows.from_strings(texts)):
        assert [row.tolist() for row in ours.encode_batch(rows)] == expected


@pytest.mark.parametrize("token", TOKENS)
def test_wherever_it_stands(token: str) -> None:
    for n in (0, 1, 15, 62, 63, 64, 65, 130):
        check(["x" * n + token, "x" * n + token + "y", "to [c <a be " * n + token[:-1], "to be"])


@given(st.lists(st.text(st.sampled_from("#<a>b[control_12] \u00e9\u00e8\u65e5"), max_size=80), max_size=3))
def test_generated_texts(texts: list[str]) -> None:
    check(texts)
