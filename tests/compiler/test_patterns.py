"""Recognition of patterns by name and by text."""

from __future__ import annotations

import pytest

from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment.patterns import PATTERN_CODES, PATTERN_NAMES
from vocab_tools.compiler.patterns import (
    BYTE_LEVEL_REGEX,
    PatternChoice,
    choose_pattern,
    known_variants,
    pattern_names,
    recognise_splits,
)

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def test_codes_and_names_agree():
    assert [PATTERN_CODES[name] for name in PATTERN_NAMES] == list(range(7))


@pytest.mark.parametrize("reference", ["tiktoken", "tokenizers"])
def test_every_variant_is_recognised_as_its_scanner(reference):
    variants = known_variants(reference)
    assert len({regexes for _, regexes in variants}) == len(variants)
    for name, regexes in variants:
        assert name in PATTERN_NAMES
        assert recognise_splits(regexes, reference) == PatternChoice(name, "\n".join(regexes))


def test_every_scanner_is_reached():
    reached = {name for reference in ("tiktoken", "tokenizers") for name, _ in known_variants(reference)}
    assert reached == set(PATTERN_NAMES)


def test_texts_of_the_installed_tiktoken_are_recognised(monkeypatch):
    from tiktoken_ext import openai_public

    # the constructors read rank files from the network, which the patterns do not need
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: {})
    expected = {"gpt2": "gpt2", "r50k_base": "gpt2", "p50k_base": "gpt2", "p50k_edit": "gpt2"}
    expected |= {"cl100k_base": "cl100k", "o200k_base": "o200k", "o200k_harmony": "o200k"}
    for encoding, name in expected.items():
        regex = openai_public.ENCODING_CONSTRUCTORS[encoding]()["pat_str"]
        assert choose_pattern(regex, "tiktoken") == PatternChoice(name, regex)
        assert choose_pattern(name, "tiktoken") == PatternChoice(name, regex)


def test_unknown_expressions_stay_expressions():
    assert choose_pattern(r"\S+|\s+", "tiktoken") == PatternChoice("regex", r"\S+|\s+")
    assert recognise_splits([LLAMA3 + " "], "tokenizers") == PatternChoice("regex", LLAMA3 + " ")
    assert recognise_splits([r"\p{N}", LLAMA3], "tokenizers") is None


def test_names_of_either_reference():
    assert choose_pattern("p50k", "tokenizers") == PatternChoice("gpt2", BYTE_LEVEL_REGEX)
    assert choose_pattern("llama3", "tiktoken") == PatternChoice("llama3", LLAMA3)
    assert choose_pattern("cl100k_base", "tiktoken") == choose_pattern("cl100k", "tiktoken")
    named = {"gpt2", "r50k", "p50k", "cl100k", "o200k", "llama3", "qwen2", "tekken", "deepseek_v3"}
    assert named | {"r50k_base", "p50k_base", "cl100k_base", "o200k_base"} == set(pattern_names())


def test_repeated_bounds_are_possessive_in_tiktoken_only():
    regex = choose_pattern("cl100k", "tiktoken").regex
    assert r"\p{N}{1,3}+" in regex
    assert recognise_splits([regex], "tokenizers") == PatternChoice("regex", regex)


@pytest.mark.parametrize(("name", "reference"), [("deepseek_v3", "tiktoken")])
def test_names_that_a_reference_cannot_run(name, reference):
    with pytest.raises(UnsupportedFeatureError, match=f"'{name}' is not one that {reference} can run"):
        choose_pattern(name, reference)
