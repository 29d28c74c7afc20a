"""Tokenizers with general stages whose raw text is cut into words: the ids of ``tokenizers``, and of the stages."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

import numba_nlp as nlp
from numba_nlp import _fastcall
from tests.made_tokenizers import TEXTS, Pair
from tests.normalizer_cases import texts as tricky_texts
from tests.shared_data import shared
from tests.staged_tokenizers import SPACE, _bpe, _unigram, compiled
from tools.fuzz_texts import fuzz_texts

ALWAYS = pre_tokenizers.Metaspace(SPACE, prepend_scheme="always")
FIRST = pre_tokenizers.Metaspace(SPACE, prepend_scheme="first")
UNCUT = pre_tokenizers.Metaspace(SPACE, prepend_scheme="first", split=False)
LLAMA = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
QUOTES = normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents()])
RUNS = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
SPLIT = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), ALWAYS])
PUNCTUATED = pre_tokenizers.Sequence(
    [pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Digits(True)]
)
MERGED = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("merged_with_next"), ALWAYS])
SPACES = pre_tokenizers.CharDelimiterSplit(" ")

#: Model, normalizer, pre-tokenizer, and whether raw text is cut.
CASES: dict[str, tuple[models.Model, Any, Any, bool]] = {
    "llama": (_bpe(True, True, False), LLAMA, None, True),
    "llama fused": (_bpe(False, True, False), LLAMA, None, True),
    "mistral": (_bpe(True, True, False), None, UNCUT, True),
    "mistral cut whole": (_bpe(True, True, True), None, FIRST, True),
    "t5": (_unigram(False), RUNS, SPLIT, True),
    "t5 bytes": (_unigram(True), RUNS, ALWAYS, True),
    "albert": (_unigram(False), QUOTES, SPLIT, True),
    "nothing": (_unigram(False), None, ALWAYS, True),
    "punctuation": (_bpe(False, False, False), normalizers.Lowercase(), PUNCTUATED, True),
    "merged": (_bpe(False, True, True), normalizers.Nmt(), MERGED, True),
    "forms": (_unigram(False), normalizers.NFC(), SPACES, True),
    "split": (_unigram(False), None, pre_tokenizers.Split(" ", "merged_with_next"), True),
    "split before": (_unigram(False), None, pre_tokenizers.Split(" ", "merged_with_previous"), False),
    "split inverted": (_unigram(False), None, pre_tokenizers.Split(" ", "isolated", True), False),
    "strip": (_unigram(False), normalizers.Strip(), SPLIT, False),
    "whole row": (_unigram(False), None, None, False),
    "whole piece": (_bpe(True, True, True), LLAMA, None, False),
    "inner space": (_unigram(False), normalizers.Replace("a b", "c"), SPLIT, False),
    "space away": (_unigram(False), normalizers.Replace(" ", ""), SPLIT, False),
    "first behind": (_bpe(False, True, False), normalizers.NFC(), FIRST, False),
}
TRICKY = [
    "a\u00a0 b", "a\u0301 \u0301b", " \u0301 b", "a\u200b b", "a\t b", "a\u3000 b", "\u0600 a", "a \u0308 b",
    "x\u00ad y",
    "  lead", "trail  ", "   ", " ", "", "a  b   c", "\ufdfa \ufdfa", "\u2581 a", "a\u2581 b", "``a'' ``", "to </s> be",
    "</s>to be</s> to", "<mask> to", "to <mask>", "\ue000 b", "\U0001f600 \U0001f600", "\u65e5 \u672c", "!! ?? 00 12",
    "the. the , the", "a\r\n b", "\x00 a", "a\x85 b", "\ufeff a", "to\u2028 be", "\u1680 x", "a\u1680 x",
]  # fmt: skip


@cache
def pair(name: str) -> Pair:
    model, normalizer, cutter, _ = CASES[name]
    reference = Tokenizer(model)
    if normalizer is not None:
        reference.normalizer = normalizer
    if cutter is not None:
        reference.pre_tokenizer = cutter
    reference.add_special_tokens(["</s>", AddedToken("<mask>", lstrip=True, normalized=False)])
    return compiled(reference)


def assert_same(name: str, texts: list[str]) -> None:
    ours, reference = pair(name)
    expected = [encoding.ids for encoding in reference.encode_batch(texts, add_special_tokens=False)]
    for rows in (texts, np.array(texts, object), nlp.TextRows.from_strings(texts)):
        batch = ours.encode_batch(rows)
        assert [row.tolist() for row in batch] == expected
    assert [ours.encode(text).tolist() for text in texts[:8]] == expected[:8]


any_case = pytest.mark.parametrize("name", CASES)


@any_case
def test_texts(name: str) -> None:
    assert_same(name, [*TRICKY, *TEXTS, *fuzz_texts(300, seed=5)])


@given(
    name=st.sampled_from(list(CASES)),
    texts=st.lists(
        st.lists(st.sampled_from(TRICKY) | st.sampled_from([" ", "the", "to"]), max_size=6).map("".join) | tricky_texts,
        min_size=1,
        max_size=4,
    ),
)
def test_generated_texts(name: str, texts: list[str]) -> None:
    assert_same(name, texts)


@any_case
def test_which_are_cut(name: str) -> None:
    if not _fastcall.AVAILABLE:
        pytest.skip("words are encoded by address only, which this interpreter does not allow")
    assert (pair(name).ours.describe().get("cut into words") == "of raw text, before spaces") == CASES[name][3]


def test_every_code_point_before_a_space() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    texts = ["".join(f"a{c} b {c} " for c in characters[at : at + 50]) for at in range(0, len(characters), 50)]
    for name in ("albert", "t5"):
        ours, reference = pair(name)
        batch = ours.encode_batch(texts)
        for text, row, expected in zip(texts, batch, reference.encode_batch(texts), strict=True):
            assert row.tolist() == expected.ids, text


@pytest.mark.parametrize("name", ["llama", "t5", "mistral"])
def test_words_that_do_not_fit(name: str) -> None:
    assert_same(
        name, ["a" * 40_000, "to be " * 5000, "to be", "\ufdfa" * 300 + " to", " " * 70_000 + "a", "\u65e5" * 20_000]
    )


def test_threads_give_the_same() -> None:
    ours = pair("albert").ours
    texts = [*TEXTS, *TRICKY] * 500
    alone, together = (ours.encode_batch(texts, num_threads=n) for n in (1, 3))
    assert np.array_equal(alone.values, together.values)
    assert np.array_equal(alone.offsets, together.offsets)


@pytest.mark.parametrize(
    "name", ["mistral/mistral03.json", "t5/flan_t5_tokenizer.json", "xlnet/tokenizer.json", "barthez/tokenizer.json"]
)
def test_published_files(name: str) -> None:
    path = shared(f"vocab/{name}")
    ours = nlp.load_tokenizer(path, ignore=("truncation", "padding"))
    reference = Tokenizer.from_file(str(path))
    reference.no_truncation()
    reference.no_padding()
    texts = [*TRICKY, *fuzz_texts(1500, seed=9), *shared("text/hamlet.txt").read_text(encoding="utf-8").splitlines()]
    for text, row, expected in zip(
        texts, ours.encode_batch(texts), reference.encode_batch(texts, add_special_tokens=False), strict=True
    ):
        assert row.tolist() == expected.ids, text
