"""Pieces of the regex splitter against the engines of tiktoken and tokenizers, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.regex_split import RegexSplitter
from tests.reference_parity.boundaries import check_tiktoken
from tests.scan_texts import fuzzed, texts
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.patterns import known_variants

#: Patterns without a scanner; every construct that is translated occurs.
PATTERNS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"\p{Ll}+|\P{Ll}",
    r"[\p{Lu}\p{Lt}][\P{L}]?|.|\n",
    r"(?:(?i:[k-t]+)|(?i:kel)|[^a-z\x{1F600}]){1,4}?|[\x41-\x5A]++|\S",
    r"(?<=a)\s|(?<!')s+|(?>\s+)\n|(?=-)[-!]*|[\s\S]",
    r"^\s+|\S+$|\A-|[^$^]\z|[\s\S]",
    r"[\]\[\-\\^]|(a|b)*?c|\t\.\*|\u00e9|[\s\S]",
)
TOKENIZERS_ONLY = (r"\p{N}+", r"x\Z|\s", "[\u4e00-\u9fa5\u3040-\u309f]+")
TIKTOKEN_ONLY = (r"\p{N}{1,3}+|\pL+|\u{41}|[\s\S]", r"(?i:ss|st|fi)|[\s\S]", r"\xe9|[\s\S]")


def splitter(regex: str, reference: str) -> RegexSplitter:
    return RegexSplitter(regex, *class_tables(reference)[:2], reference)


def pieces(regex: str, reference: str):
    cut = splitter(regex, reference)

    def pieces_of(text: str) -> list[str]:
        content, ends = text.encode(), cut.piece_ends(text)
        assert ends.dtype == np.int64
        starts = [0, *ends[:-1].tolist()]
        return [content[start:end].decode() for start, end in zip(starts, ends.tolist(), strict=False)]

    return pieces_of


tokenizers_regexes = [
    *PATTERNS,
    *TOKENIZERS_ONLY,
    *(regexes[0] for _, regexes in known_variants("tokenizers") if len(regexes) == 1),
]
tiktoken_regexes = [*PATTERNS, *TIKTOKEN_ONLY, *(regexes[0] for _, regexes in known_variants("tiktoken"))]


@pytest.mark.parametrize("regex", tokenizers_regexes)
def test_cuts_as_tokenizers(regex):
    split, cut = Split(Regex(regex), "isolated"), pieces(regex, "tokenizers")
    for text in fuzzed(2500, seed=11):
        assert cut(text) == [text[start:end] for _, (start, end) in split.pre_tokenize_str(text)], repr(text)


@pytest.mark.parametrize("regex", tiktoken_regexes)
def test_cuts_as_tiktoken(regex):
    check_tiktoken(regex, pieces(regex, "tiktoken"), fuzzed(2500, seed=12))


@given(text=texts, regex=st.sampled_from(tokenizers_regexes))
def test_pieces_cover_the_text(text, regex):
    assert "".join(pieces(regex, "tokenizers")(text)) == text


@pytest.mark.parametrize(
    ("regex", "reference", "construct"),
    [
        (r"\p{Han}+", "tokenizers", r"\\p\{Han\}"),
        (r"\p{Lu}", "tiktoken", r"\\p\{Lu\}"),
        (r"[\p{Lu}\P{Lt}]", "tiktoken", r"\\p\{Lu\}"),
        (r"\w+", "tiktoken", r"\\w"),
        (r"a\d", "tiktoken", r"\\d.*character 2"),
        (r"\bx", "tokenizers", r"\\b"),
        (r"(a)\1", "tokenizers", r"\\1"),
        (r"\Z", "tiktoken", r"\\Z"),
        (r"(?P<n>a)", "tiktoken", r"\(\?P"),
        (r"(?i)a", "tiktoken", r"\(\?i"),
        (r"(?<n>a)", "tokenizers", r"\(\?<"),
        (r"(*FAIL)", "tokenizers", r"\(\*F"),
        (r"\p{N}{1,3}+", "tokenizers", r"\{1,3\}\+"),
        (r"a{,3}", "tiktoken", r"\{"),
        (r"a{x", "tiktoken", r"\{"),
        (r"a+*", "tiktoken", r"'\*' after the quantifier"),
        (r"(?i:é)", "tiktoken", "é"),
        (r"(?i:[à-ü])", "tiktoken", "beyond ASCII"),
        (r"(?i:\p{L})", "tiktoken", "where case is ignored"),
        (r"(?i:mass)", "tokenizers", "mass"),
        (r"(?i:s+)", "tokenizers", "ss"),
        (r"(?i:s)(?i:t)", "tokenizers", "st"),
        (r"[a[b]]", "tiktoken", "in a set"),
        (r"[a&&b]", "tokenizers", "&&"),
        (r"[+--]", "tiktoken", "--"),
        (r"[\s-x]", "tiktoken", "'-' after a set"),
        (r"[z-a]", "tiktoken", "range"),
        (r"[]", "tiktoken", "empty set"),
        (r"[a", "tiktoken", "not closed"),
        (r"a)", "tiktoken", "without a group"),
        (r"(a", "tiktoken", "inside a group"),
        ("a\\", "tiktoken", "at the end"),
        ("[a\\", "tiktoken", "at the end"),
        (r"\<", "tiktoken", r"\\<"),
        (r"\xe9", "tokenizers", r"\\xe9"),
        (r"\xg0", "tiktoken", r"\\xg0"),
        (r"\u{e9}", "tokenizers", r"\\u"),
        (r"\pL", "tokenizers", "without braces"),
        (r"\p{", "tiktoken", "without a name"),
        (r"*a", "tiktoken", "not a regular expression"),
    ],
)
def test_what_cannot_be_exact_is_refused_by_name(regex, reference, construct):
    with pytest.raises(UnsupportedFeatureError, match=construct):
        splitter(regex, reference)


def test_unknown_reference_is_refused():
    with pytest.raises(UnsupportedFeatureError, match="sentencepiece"):
        RegexSplitter("a", *class_tables("tiktoken")[:2], "sentencepiece")


def test_unmatched_text_is_kept_for_tokenizers_and_refused_for_tiktoken():
    assert splitter("b", "tokenizers").piece_ends("aabaé").tolist() == [2, 3, 6]
    with pytest.raises(UnsupportedFeatureError, match=r"U\+0061 at character 0"):
        splitter("b", "tiktoken").piece_ends("ab")
    with pytest.raises(UnsupportedFeatureError, match=r"U\+00E9 at character 1"):
        splitter("b", "tiktoken").piece_ends("bé")


def test_empty_matches_are_refused():
    with pytest.raises(UnsupportedFeatureError, match="empty string"):
        splitter("b*", "tokenizers").piece_ends("ab")


def test_empty_text_has_no_pieces():
    assert splitter("a", "tiktoken").piece_ends("").tolist() == []


def test_pickles_and_shows_itself():
    cut = splitter(r"\p{L}+|\P{L}", "tiktoken")
    copy = pickle.loads(pickle.dumps(cut))
    assert copy.piece_ends("ab c").tolist() == [2, 3, 4]
    assert repr(copy) == r"RegexSplitter('\\p{L}+|\\P{L}', reference='tiktoken')"
