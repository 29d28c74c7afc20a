"""A short run of the fuzzer (``tools/fuzz_parity.py`` runs a million), and that the fuzzer finds what is wrong."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tools.fuzz_parity import Parity, fuzz, shrink
from tools.fuzz_texts import SHAPES, fuzz_texts
from tools.references import WORDPIECE

COUNT = int(os.environ.get("NUMBA_NLP_FUZZ_COUNT", "3000"))


def parity(vocabulary: str, reference: str, tokenizer: Any = None) -> Parity:
    if vocabulary in WORDPIECE or reference == "transformers":
        pytest.importorskip("transformers")
    try:
        return Parity(vocabulary, reference, tokenizer)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("vocabulary", "reference"),
    [
        ("gpt2", "tiktoken"),
        ("gpt2", "tokenizers"),
        ("roberta", "tokenizers"),
        ("cl100k", "tiktoken"),
        ("o200k", "tiktoken"),
        ("p50k", "tiktoken"),
        ("t5", "sentencepiece"),
        ("albert", "sentencepiece"),
        ("marian", "sentencepiece"),
        ("bert_uncased", "tokenizers"),
        ("bert_cased", "tokenizers"),
        ("bert_chinese", "tokenizers"),
        ("flan_t5", "tokenizers"),
        ("xlnet_json", "tokenizers"),
        ("mistral03", "tokenizers"),
        ("barthez_json", "tokenizers"),
        ("gpt", "transformers"),
        ("ctrl", "transformers"),
        ("clip", "transformers"),
        ("subword_nmt", "subword-nmt"),
    ],
)
def test_generated_strings_give_what_the_reference_gives(vocabulary: str, reference: str) -> None:
    summary = fuzz(parity(vocabulary, reference), COUNT, seed=20)
    assert not summary.failures, "\n".join(map(str, summary.failures))
    assert summary.count == COUNT


@pytest.mark.parametrize(
    ("vocabulary", "reference"),
    [("gpt2", "sentencepiece"), ("t5", "tokenizers"), ("gpt", "subword-nmt"), ("gpt2", "transformers")],
)
def test_references_that_say_nothing_of_a_vocabulary(vocabulary: str, reference: str) -> None:
    with pytest.raises(ValueError, match=f"'{reference}' is no reference for '{vocabulary}'"):
        Parity(vocabulary, reference)


class _Wrong:
    """Wrong on every text with a ``q``: the ids of another text."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def encode_batch(self, texts: list[str], **options: Any) -> Any:
        return self._inner.encode_batch([text.replace("q", "k") for text in texts], **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_the_fuzzer_finds_and_shrinks_a_wrong_id() -> None:
    right = parity("gpt2", "tiktoken")
    summary = fuzz(parity("gpt2", "tiktoken", _Wrong(right.tokenizer)), 3000, seed=3)
    assert summary.failures
    assert {failure["text"] for failure in summary.failures if failure["what"] == "'ids'"} == {"'q'"}


def test_shrinking_leaves_what_fails() -> None:
    assert shrink("a very long text (with one x in it)", lambda text: "x" in text) == "x"
    assert shrink("ab" * 50 + "xy" + "ba" * 31, lambda text: "x" in text and "y" in text) == "xy"


def test_strings_depend_on_the_seed_alone_and_are_valid_text() -> None:
    first = list(fuzz_texts(800, seed=5))
    assert first == list(fuzz_texts(800, seed=5))
    assert first != list(fuzz_texts(800, seed=6))
    assert "" in first
    for text in first:
        text.encode()  # no lone surrogates
    assert len(SHAPES) > 10
