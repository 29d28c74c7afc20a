"""The trie of pieces: it holds what was put in, and finds the longest beginning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.tables.piece_trie import BLOCK, RESERVED, longest_piece
from numba_nlp.reference.tables import piece_trie as plain
from vocab_tools.compiler import wordpiece
from vocab_tools.compiler.wordpiece import build_trie

KEYS = st.binary(min_size=1, max_size=6) | st.text("abc", min_size=1, max_size=6).map(str.encode)
PIECES = st.dictionaries(KEYS, st.sampled_from([0, 1, 7, 2**31 - 2]), max_size=40)
TEXTS = st.binary(max_size=12) | st.text("abcd", max_size=12).map(str.encode)


@given(PIECES, PIECES, st.lists(TEXTS, max_size=8))
def test_longest_piece_agrees_with_the_twin(first, further, texts):
    trie, *roots = build_trie(first, further, "made up")
    assert trie.size % BLOCK == 0
    assert not trie[:RESERVED].any()
    for pieces, root in zip((first, further), roots, strict=True):
        assert plain.pieces_below(trie, root) == pieces
        for text in [*texts, *pieces, *(piece + b"a" for piece in pieces)]:
            data = np.frombuffer(b"c" + text + b"b", np.uint8)
            value, end = longest_piece(trie, root, data, 1, 1 + len(text))
            assert (value, end) == plain.longest_piece(pieces, data.tobytes(), 1, 1 + len(text))


def test_many_pieces():
    """Enough for the array to grow, with nodes of one child and of all of them."""
    random = np.random.default_rng(5)
    first = {random.bytes(int(n)): number for number, n in enumerate(random.integers(1, 9, 3000))}
    further = {bytes([a, b]): 256 * a + b for a in range(0, 256, 3) for b in range(0, 256, 2)}
    trie, *roots = build_trie(first, further, "made up")
    assert plain.pieces_below(trie, roots[0]) == first
    assert plain.pieces_below(trie, roots[1]) == further
    # the places from the first to the last one used are not mostly empty
    assert np.count_nonzero(trie) > 0.5 * (trie.size - RESERVED)


def test_no_pieces():
    trie, first_root, further_root = build_trie({}, {}, "made up")
    data = np.frombuffer(b"abc", np.uint8)
    assert longest_piece(trie, first_root, data, 0, 3) == (-1, 0)
    assert longest_piece(trie, further_root, data, 1, 3) == (-1, 1)


def test_too_many_pieces_are_refused(monkeypatch):
    monkeypatch.setattr(wordpiece, "MAX_PLACES", 512)
    pieces = {bytes([a, b]): a for a in range(64) for b in range(64)}
    with pytest.raises(UnsupportedFeatureError, match=r"made up: the pieces need more than the 512 places"):
        build_trie(pieces, {}, "made up")
