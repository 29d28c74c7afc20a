"""Normalizers against tokenizers: every code point, and texts, with the range of every character."""

from __future__ import annotations

import json
from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, normalizers

from numba_nlp._stages.normalizer import Normalizer
from numba_nlp.errors import UnsupportedFeatureError
from tests.normalizer_cases import (
    characters_of,
    compiled_normalizers,
    marked_texts,
    peer_normalized,
    rows_of,
    texts,
)
from tests.shared_data import shared
from vocab_tools.compiler.normalization import normalization_tables

PEERS = {
    "NFC": normalizers.NFC(),
    "NFD": normalizers.NFD(),
    "NFKC": normalizers.NFKC(),
    "NFKD": normalizers.NFKD(),
    "Lowercase": normalizers.Lowercase(),
    "StripAccents": normalizers.StripAccents(),
    "Nmt": normalizers.Nmt(),
    "Strip": normalizers.Strip(),
    "Strip left": normalizers.Strip(right=False),
    "Prepend": normalizers.Prepend("\u2581x"),
    "Replace": normalizers.Replace("``", '"'),
    "Replace by nothing": normalizers.Replace("e", ""),
    "Replace white space": normalizers.Replace(Regex(r"\s+"), " "),
    "Replace spaces": normalizers.Replace(Regex(" {2,}"), "\u2581"),
    "Replace a letter": normalizers.Replace(Regex("a"), "\u00e9"),
    "Replace an expression": normalizers.Replace(Regex(r"\p{P}+|[a-c]\p{M}*"), "<\u00e9>"),
    "ByteLevel": normalizers.ByteLevel(),
    "Sequence": normalizers.Sequence(
        [
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Strip(),
            normalizers.Prepend("\u2581"),
            normalizers.NFC(),
        ]
    ),
    "Sequence with expressions": normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[^\S ]|\p{P}+"), "e\u0301 "),
            normalizers.NFC(),
            normalizers.Replace(Regex(r"\p{L}\p{M}*\s"), "\ufb01"),
            normalizers.NFKD(),
            normalizers.Nmt(),
        ]
    ),
    "of CLIP": normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    ),
}


@pytest.fixture(scope="module", params=PEERS)
def pair(request):
    peer = PEERS[request.param]
    return peer, Normalizer(*compiled_normalizers(peer))


def normalized(ours, rows):
    result = ours.normalize(*rows_of(rows), True)
    return [characters_of(result.source, a, b) for a, b in zip(result.starts, result.ends, strict=True)]


@given(rows=st.lists(st.one_of(texts, marked_texts), min_size=1, max_size=4))
@example(["", "\u0301", "a\u0301\u0323 \u00e9\u0323", "\ufb01\u0301\u0323x", "  \u0130  ", "\u0344\u0323"])
def test_texts_with_ranges(pair, rows):
    peer, ours = pair
    assert normalized(ours, rows) == [peer_normalized(peer, row) for row in rows]


CODE_POINTS = [*range(0xD800), *range(0xE000, 0x110000)]


def every_code_point(form):
    """All code points, thousands a row; what stands between them joins nothing."""
    return [
        "|".join(form.format(chr(c)) for c in CODE_POINTS[first : first + 4096])
        for first in range(0, len(CODE_POINTS), 4096)
    ]


def assert_same_texts(peer, ours, rows):
    result = ours.normalize(*rows_of(rows), False)
    text = result.source.text.tobytes()
    for row, start, end in zip(rows, result.starts.tolist(), result.ends.tolist(), strict=True):
        assert text[start:end].decode() == peer.normalize_str(row)


@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "of CLIP"])
def test_every_code_point(name):
    ours = Normalizer(*compiled_normalizers(PEERS[name]))
    assert_same_texts(PEERS[name], ours, every_code_point("{}"))


@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "NFKD"])
# U+0334 has the lowest combining class, U+0345 the highest
@pytest.mark.parametrize("form", ["a\u0345{}\u0334", "\u1100{}\u0301\u11a8"])
def test_every_code_point_among_marks(name, form):
    ours = Normalizer(*compiled_normalizers(PEERS[name]))
    assert_same_texts(PEERS[name], ours, every_code_point(form))


def test_white_space_is_stripped():
    ours = Normalizer(*compiled_normalizers(PEERS["Strip"]))
    near_spaces = [*range(0x100), *range(0x1670, 0x1690), *range(0x1FF0, 0x2070), *range(0x2FF0, 0x3010), 0xFEFF]
    assert_same_texts(PEERS["Strip"], ours, [f"{chr(c)}a{chr(c)}" for c in near_spaces])


def test_the_tables_are_those_of_the_installed_library():
    recorded = normalization_tables().metadata["library_version"]
    if version("tokenizers") != recorded:
        pytest.skip(f"the tables were read out of tokenizers {recorded}; the other tests of this module compare")
    assert normalization_tables().metadata["unicode_version_forms"] == "9.0"


FILES = {
    "barthez": "vocab/barthez/tokenizer.json",
    "clip": "vocab/clip/tokenizer.json",
    "flan_t5": "vocab/t5/flan_t5_tokenizer.json",
    "xlnet": "vocab/xlnet/tokenizer.json",
}


@pytest.fixture(scope="module", params=FILES)
def of_a_file(request):
    peer = Tokenizer.from_file(str(shared(FILES[request.param]))).normalizer
    return peer, Normalizer(*compiled_normalizers(peer))


@given(rows=st.lists(texts, min_size=1, max_size=4))
@example(["\u00c5\u0301", "a\r\nb\r\n", "\u00bc\u200d\u00a9", "\u0915\u094d\u0301 \u0915", "\ufb01\x07"])
def test_files(of_a_file, rows):
    peer, ours = of_a_file
    found = normalized(ours, rows)
    assert ["".join(c.text for c in row) for row in found] == [peer.normalize_str(row) for row in rows]
    # where a rule gives nothing, ranges of tokenizers are not always right (below)
    kept = ["".join(c for c in row if peer.normalize_str(c)) for row in rows]
    assert normalized(ours, kept) == [peer_normalized(peer, row) for row in kept]


@pytest.mark.parametrize("name", ["barthez", "xlnet"])
def test_every_code_point_of_a_charsmap(name):
    peer = Tokenizer.from_file(str(shared(FILES[name]))).normalizer
    ours = Normalizer(*compiled_normalizers(peer))
    assert_same_texts(peer, ours, every_code_point("a{}\u0301"))


def test_a_charsmap_keeps_count_where_tokenizers_does_not():
    """Characters that are left out shift ranges of tokenizers at the start, and the one of an expansion before them."""
    peer = Tokenizer.from_file(str(shared(FILES["barthez"]))).normalizer
    ours = Normalizer(*compiled_normalizers(peer))
    assert normalized(ours, ["a\x07bc"]) == [peer_normalized(peer, "a\x07bc")]
    assert normalized(ours, ["\x07abc"]) == [[("a", 1, 2), ("b", 2, 3), ("c", 3, 4)]]
    assert peer_normalized(peer, "\x07abc") == [("a", 0, 1), ("b", 1, 2), ("c", 2, 3)]
    assert normalized(ours, ["\ufb01\x07"]) == [[("f", 0, 3), ("i", 0, 3)]]
    assert peer_normalized(peer, "\ufb01\x07") == [("f", 0, 3), ("i", 3, 4)]


def test_an_expression_that_matches_nothing_names_the_row():
    ours = Normalizer(*compiled_normalizers(normalizers.Replace(Regex("(?=b)"), "-")))
    with pytest.raises(UnsupportedFeatureError, match=r"row 1: the pattern '.*' matches the empty string"):
        ours.normalize(*rows_of(["x", "axb"]), False)


def test_ascii_that_stays_is_known():
    data, starts, ends = rows_of(["plain", "", "text"])
    beyond = rows_of(["plain", "t\u00e9xt"])
    for name, stays in (("NFC", True), ("Lowercase", False), ("StripAccents", True), ("Strip", False)):
        ours = Normalizer(*compiled_normalizers(PEERS[name]))
        assert ours.stays(data, starts, ends) == stays
        assert not ours.stays(*beyond)
    assert Normalizer(*compiled_normalizers(normalizers.Sequence([]))).stays(*beyond)


@pytest.mark.parametrize("name", ["NFKD", "Sequence with expressions", "ByteLevel"])
def test_long_rows_make_room(name):
    peer = PEERS[name]
    ours = Normalizer(*compiled_normalizers(peer))
    rows = ["\ufdfa" * 300, "a", "\u0301\u0323" * 500, "", "\u3316 " * 100]
    assert normalized(ours, rows) == [peer_normalized(peer, row) for row in rows]


def test_texts_of_the_world():
    rows = shared("text/udhr_all_languages.txt").read_text(encoding="utf-8").splitlines()[::97]
    rows += json.loads(shared("text/blns.json").read_text(encoding="utf-8"))
    for name in ("NFC", "NFKD", "of CLIP"):
        peer = PEERS[name]
        ours = Normalizer(*compiled_normalizers(peer))
        assert normalized(ours, rows) == [peer_normalized(peer, row) for row in rows]


def test_rows_far_into_a_text():
    ours = Normalizer(*compiled_normalizers(PEERS["NFC"]))
    data = np.frombuffer(b"##e\xcc\x81#x", np.uint8)
    starts, ends = np.array([2, 6]), np.array([5, 7])
    starts.flags.writeable = ends.flags.writeable = False
    result = ours.normalize(data, starts, ends, True)
    assert [characters_of(result.source, a, b) for a, b in zip(result.starts, result.ends, strict=True)] == [
        [("\u00e9", 0, 1)],
        [("x", 0, 1)],
    ]
