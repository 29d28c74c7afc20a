"""Where text may be cut: never inside of a piece, by all texts that the pieces make up."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.unigram_chunks import (
    SPLIT_BEFORE_EACH,
    SPLIT_BEFORE_RUNS,
    SPLIT_BEHIND_EACH,
    SPLIT_BEHIND_RUNS,
    SPLIT_NONE,
    chunk_end,
)
from vocab_tools.compiler.unigram_pieces import pieces_split_at_spaces

SPACE = "\u2581"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], SPLIT_NONE),
        (["a"], SPLIT_NONE),
        ([f"{SPACE}a"], SPLIT_NONE),
        ([SPACE, "a", f"{SPACE}ab"], SPLIT_BEFORE_EACH),
        ([SPACE, "a", f"{SPACE}{SPACE}", f"{SPACE}{SPACE}a"], SPLIT_BEFORE_RUNS),
        ([SPACE, f"a{SPACE}"], SPLIT_BEHIND_EACH),
        ([SPACE, f"a{SPACE}{SPACE}", "ab"], SPLIT_BEHIND_RUNS),
        ([SPACE, f"{SPACE}{SPACE}"], SPLIT_BEFORE_RUNS),
        ([SPACE, f"a{SPACE}", f"{SPACE}a"], SPLIT_NONE),
        ([SPACE, f"a{SPACE}b"], SPLIT_NONE),
    ],
)
def test_examples(pieces, expected):
    assert pieces_split_at_spaces([piece.encode() for piece in pieces]) == expected


@given(st.sets(st.text(f"a{SPACE}", min_size=1, max_size=4), max_size=5))
def test_no_piece_reaches_across_a_cut(pieces):
    pieces = {SPACE, *pieces}
    split = pieces_split_at_spaces([piece.encode() for piece in pieces])
    for before, piece, after in product(("", "a", SPACE), pieces, ("", "a", SPACE)):
        text = np.frombuffer((before + piece + after).encode(), np.uint8)
        inside = range(len(before.encode()) + 1, len((before + piece).encode()))
        at = 0
        while at < text.size:
            at = int(chunk_end(text, at, text.size, split))
            assert at not in inside
