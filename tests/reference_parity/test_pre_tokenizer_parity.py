"""Pre-tokenizers against tokenizers: pieces and the ranges that they come from."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, pre_tokenizers

from numba_nlp._stages.cutter import Cutter
from numba_nlp._stages.normalizer import aligned_rows
from numba_nlp.errors import UnsupportedFeatureError
from tests.normalizer_cases import compiled_pre_tokenizers, peer_pieces, rows_of, texts
from tests.shared_data import shared

BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
EXPRESSION = r"[a-c]+|\p{N}|\s\u0301"
PEERS = {
    "Whitespace": pre_tokenizers.Whitespace(),
    "WhitespaceSplit": pre_tokenizers.WhitespaceSplit(),
    "Digits": pre_tokenizers.Digits(),
    "Digits one by one": pre_tokenizers.Digits(individual_digits=True),
    "CharDelimiterSplit": pre_tokenizers.CharDelimiterSplit("a"),
    "Metaspace": pre_tokenizers.Metaspace(),
    "Metaspace first": pre_tokenizers.Metaspace(prepend_scheme="first"),
    "Metaspace never": pre_tokenizers.Metaspace(prepend_scheme="never"),
    "Metaspace whole": pre_tokenizers.Metaspace(split=False),
    "Metaspace in ASCII": pre_tokenizers.Metaspace(replacement="_"),
    "of XLNet": pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
    "Sequence": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(),
            pre_tokenizers.Metaspace(prepend_scheme="first"),
            pre_tokenizers.Punctuation("merged_with_previous"),
            pre_tokenizers.Metaspace(replacement="x"),
        ]
    ),
    "Sequence with an expression": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
            pre_tokenizers.Split(Regex(EXPRESSION), "removed", invert=True),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    ),
    **{f"Punctuation {name}": pre_tokenizers.Punctuation(name) for name in BEHAVIORS},
    **{
        f"Split {kind}, {name}, {invert}": pre_tokenizers.Split(pattern, name, invert=invert)
        for kind, pattern in (("string", ", "), ("expression", Regex(EXPRESSION)))
        for name in BEHAVIORS
        for invert in (False, True)
    },
}


@pytest.fixture(scope="module", params=PEERS)
def pair(request):
    peer = PEERS[request.param]
    return peer, Cutter(*compiled_pre_tokenizers(peer))


def pieces(ours, rows):
    cut = ours.cut(aligned_rows(*rows_of(rows), True))
    text = cut.source.text.tobytes()
    found = [
        (text[a:b].decode(), (int(cut.source.starts[a]), int(cut.source.ends[b - 1])))
        for a, b in zip(cut.starts.tolist(), cut.ends.tolist(), strict=True)
    ]
    bounds = cut.first_of_row.tolist()
    return [found[bounds[row] : bounds[row + 1]] for row in range(len(rows))]


@given(rows=st.lists(texts, min_size=1, max_size=4))
@example(["", " a, b,, c ", "\u2581a \u2581", "  ", "a1\u0663 ,\u00bf,", ", , ,"])
def test_pieces(pair, rows):
    peer, ours = pair
    assert pieces(ours, rows) == [peer_pieces(peer, row) for row in rows]


@pytest.mark.parametrize("name", ["Whitespace", "WhitespaceSplit", "Digits", "Punctuation contiguous"])
def test_every_code_point(name):
    ours = Cutter(*compiled_pre_tokenizers(PEERS[name]))
    rows = []
    for first in range(0, 0x110000, 256):
        points = [c for c in range(first, first + 256) if not 0xD800 <= c < 0xE000]
        rows.append("a".join(map(chr, points)))
    assert pieces(ours, rows) == [peer_pieces(PEERS[name], row) for row in rows]


@pytest.mark.parametrize(
    "file",
    ["vocab/barthez/tokenizer.json", "vocab/mistral/mistral03.json", "vocab/t5/flan_t5_tokenizer.json",
     "vocab/xlnet/tokenizer.json"],
)  # fmt: skip
def test_files(file):
    peer = Tokenizer.from_file(str(shared(file))).pre_tokenizer
    rows = shared("text/udhr_all_languages.txt").read_text(encoding="utf-8").splitlines()[::97]
    ours = Cutter(*compiled_pre_tokenizers(peer))
    assert pieces(ours, rows) == [peer_pieces(peer, row) for row in rows]


def test_the_byte_level_cut_is_that_of_gpt2():
    peer = pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    ours = Cutter(*compiled_pre_tokenizers(peer))
    rows = ["It's 12 o'clock,  isn't it?\n", "\u00e9t\u00e9 2"]
    assert [[span for _, span in row] for row in pieces(ours, rows)] == [
        [span for _, span in peer_pieces(peer, row)] for row in rows
    ]


def test_long_rows_make_room():
    peer = PEERS["Sequence"]
    ours = Cutter(*compiled_pre_tokenizers(peer))
    rows = [" " * 500, "a1" * 300, "", ", " * 400]
    assert pieces(ours, rows) == [peer_pieces(peer, row) for row in rows]


def test_an_expression_that_matches_nothing_names_the_row():
    ours = Cutter(*compiled_pre_tokenizers(pre_tokenizers.Split(Regex("(?=b)"), "isolated")))
    with pytest.raises(UnsupportedFeatureError, match=r"row 1: the pattern '.*' matches the empty string"):
        ours.cut(aligned_rows(*rows_of(["x", "axb"]), False))


def test_who_needs_ranges_says_so():
    assert Cutter(*compiled_pre_tokenizers(PEERS["Metaspace first"])).needs_alignment
    assert not Cutter(*compiled_pre_tokenizers(PEERS["Metaspace"])).needs_alignment
    ours = Cutter(*compiled_pre_tokenizers(PEERS["Metaspace"]))
    cut = ours.cut(aligned_rows(*rows_of(["a b"]), False))
    assert cut.source.text[: cut.ends[-1]].tobytes().decode() == "\u2581a\u2581b"
