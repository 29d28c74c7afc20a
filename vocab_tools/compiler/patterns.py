r"""Which scanner does a pre-tokenisation pattern, given by name or as regular expressions.

A regular expression is recognised by its text only, against the variants known to have been published; two different
texts are never judged equal by reasoning about them here. That the variants of one scanner do cut alike, in the regex
engine of each reference they are listed for, is what ``tests/reference_parity/test_scan_parity.py`` checks.

The engine matters: ``\p{N}{1,3}+`` is possessive in tiktoken's engine, but a repeated group in that of tokenizers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from numba_nlp.errors import UnsupportedFeatureError

__all__ = ["BYTE_LEVEL_REGEX", "PatternChoice", "choose_pattern", "known_variants", "pattern_names", "recognise_splits"]


class PatternChoice(NamedTuple):
    """A pattern and the scanner that does it.

    Attributes
    ----------
    name : str
        Name of the scanner (``numba_nlp.kernels.segment.patterns.PATTERN_NAMES``), or "regex" when there is none.
    regex : str
        The pattern as a regular expression; several that are applied one after the other are separated by line feeds.
    """

    name: str
    regex: str


class _Variant(NamedTuple):
    """Regular expressions applied one after the other, and the references in whose engine they mean the scanner."""

    regexes: tuple[str, ...]
    references: tuple[str, ...] = ("tiktoken", "tokenizers")


#: What ``ByteLevel`` of tokenizers cuts with (the pattern of the GPT-2 release).
BYTE_LEVEL_REGEX = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_LINES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)

#: Scanner -> variants of its pattern; the first of a reference is the text given for the scanner's name.
_VARIANTS: Mapping[str, tuple[_Variant, ...]] = MappingProxyType(
    {
        "gpt2": (
            _Variant(
                (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",), ("tiktoken",)
            ),
            _Variant((BYTE_LEVEL_REGEX,)),
            _Variant((r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",)),
            _Variant((r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",)),
        ),
        "cl100k": (
            _Variant(
                (
                    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
                    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
                ),
                ("tiktoken",),
            ),
            # the same in the engine of tokenizers, where `$` is the end of a line and `{1,3}+` repeats a group
            _Variant(
                (
                    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s",
                ),
                ("tokenizers",),
            ),
        ),
        "o200k": (
            _Variant(
                (
                    rf"{_CASED[0]}{_CONTRACTIONS}?|{_CASED[1]}{_CONTRACTIONS}?"
                    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_LINES}",
                )
            ),
        ),
        "llama3": (
            _Variant((rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES}",)),
            # cl100k in tiktoken 0.4 to 0.7
            _Variant(
                (
                    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
                    r"|\s*[\r\n]|\s+(?!\S)|\s+",
                )
            ),
        ),
        "qwen2": (_Variant((rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES}",)),),
        "tekken": (_Variant((rf"{_CASED[0]}|{_CASED[1]}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_LINES}",)),),
        "deepseek_v3": (
            _Variant(
                (
                    r"\p{N}{1,3}",
                    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
                    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
                    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES}",
                ),
                ("tokenizers",),
            ),
        ),
    }
)
#: Other names of the same patterns.
_ALIASES = {
    "r50k": "gpt2",
    "r50k_base": "gpt2",
    "p50k": "gpt2",
    "p50k_base": "gpt2",
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
}


def pattern_names() -> tuple[str, ...]:
    """Names that :func:`choose_pattern` takes."""
    return (*_VARIANTS, *_ALIASES)


def known_variants(reference: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Scanner and regular expressions of every variant that is recognised for a reference.

    Parameters
    ----------
    reference : {"tiktoken", "tokenizers"}
    """
    return tuple(
        (name, variant.regexes)
        for name, variants in _VARIANTS.items()
        for variant in variants
        if reference in variant.references
    )


def recognise_splits(regexes: Sequence[str], reference: str) -> PatternChoice | None:
    """Find the pattern that does a sequence of splits, each of which isolates its matches.

    Parameters
    ----------
    regexes : Sequence of str
        In the order in which they are applied.
    reference : {"tiktoken", "tokenizers"}
        Whose regex engine gives them their meaning.

    Returns
    -------
    PatternChoice or None
        The scanner; "regex" for one unknown regular expression; None for several that are not known together.
    """
    text = "\n".join(regexes)
    for name, known in known_variants(reference):
        if known == tuple(regexes):
            return PatternChoice(name, text)
    return PatternChoice("regex", text) if len(regexes) == 1 else None


def choose_pattern(pattern: str, reference: str) -> PatternChoice:
    """Find the pattern that a user names or writes.

    Parameters
    ----------
    pattern : str
        One of :func:`pattern_names`, or a regular expression.
    reference : {"tiktoken", "tokenizers"}
        Whose regex engine gives a regular expression its meaning.

    Returns
    -------
    PatternChoice

    Raises
    ------
    UnsupportedFeatureError
        The named pattern cannot be written for this reference.
    """
    name = _ALIASES.get(pattern, pattern)
    if name in _VARIANTS:
        for known, regexes in known_variants(reference):
            if known == name:
                return PatternChoice(name, "\n".join(regexes))
        raise UnsupportedFeatureError(
            f"pattern {pattern!r} is not one that {reference} can run; choose another, or give a regular expression"
        )
    choice = recognise_splits([pattern], reference)
    assert choice is not None, "one regular expression always gives a choice"
    return choice
