"""Ids of a text by the lengths of their pieces: kernels against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import tiled_ids
from numba_nlp.reference.segment import tiled_ids as reference

_ids = st.lists(st.integers(-1, 7), max_size=8)


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=7), unknown=st.integers(-1, 3), n=st.integers(0, 9),
       before=_ids, ids=_ids)  # fmt: skip
def test_tile(lengths: list[int], unknown: int, n: int, before: list[int], ids: list[int]) -> None:
    expected = reference.tile(lengths, unknown, n, ids)
    ends = np.full(16, -7, np.int64)
    given_ids = np.array([*before, *ids], np.int32)
    count = tiled_ids.tile(np.array(lengths, np.int32), unknown, n, given_ids, len(before), ends)
    if expected is None:
        assert count == -1
    else:
        assert ends[:count].tolist() == expected


@given(pieces=st.lists(st.integers(1, 6), min_size=1, max_size=6), data=st.data())
def test_tile_of_its_own_text(pieces: list[int], data: st.DataObject) -> None:
    """Ids that follow are of other texts."""
    ids = data.draw(st.lists(st.integers(0, len(pieces) - 1), max_size=6))
    others = data.draw(st.lists(st.integers(-1, 9), max_size=3))
    ends = np.cumsum([pieces[number] for number in ids], dtype=np.int64)
    n = int(ends[-1]) if ids else 0
    found = np.zeros(8, np.int64)
    count = tiled_ids.tile(np.array(pieces, np.int32), -1, n, np.array([*ids, *others], np.int32), 0, found)
    assert found[:count].tolist() == ends.tolist()


def test_tile_within_its_memory() -> None:
    """Pieces of no length, which only a damaged vocabulary has, end where the memory does."""
    lengths, ids = np.array([0, 1], np.int32), np.zeros(9, np.int32)
    assert tiled_ids.tile(lengths, -1, 1, ids, 0, np.zeros(4, np.int64)) == -1


@given(found=_ids, ids=_ids, first=st.integers(0, 8))
def test_same_ids(found: list[int], ids: list[int], first: int) -> None:
    for given_ids in (ids, [*ids[:first], *found]):
        array = np.array(given_ids, np.int32)
        place = min(first, len(given_ids))
        same = tiled_ids.same_ids(np.array([*found, 3], np.int32), len(found), array, place)
        assert bool(same) == reference.same_ids(found, given_ids, place)
