"""Lengths that are kept, and windows: the kernels against their twins, and what windows must do."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from numba_nlp.kernels.segment import truncate as kernels
from numba_nlp.reference.segment import truncate as plain

STRATEGIES = (kernels.LONGEST_FIRST, kernels.ONLY_FIRST, kernels.ONLY_SECOND)


class Rows(NamedTuple):
    """Offsets of first texts, and of second texts or none."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @property
    def n(self) -> int:
        return self.first.size - 1


@st.composite
def some_rows(draw: st.DrawFn) -> Rows:
    n = draw(st.integers(0, 6))

    def offsets() -> NDArray[np.int64]:
        lengths = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
        made = np.cumsum([draw(st.integers(0, 2)), *lengths], dtype=np.int64)
        made.flags.writeable = False
        return made

    none = np.zeros(0, np.int64)
    none.flags.writeable = False
    return Rows(offsets(), offsets() if draw(st.booleans()) else none)


def kept_by(module: Any, rows: Rows, room: int, strategy: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    kept = np.full((2, rows.n), -9, np.int64)
    return int(module.keep_lengths(*rows, room, strategy, *kept)), kept[0], kept[1]


def windows_of(
    module: Any, rows: Rows, room: int, strategy: int, stride: int, every: bool, from_end: bool, second_leads: bool
) -> list[list[int]] | tuple[str, int]:
    done, *kept = kept_by(module, rows, room, strategy)
    if done < rows.n:
        return "too short", done
    n = rows.n
    if every:
        counts = np.full(rows.n, -9, np.int64)
        done = int(module.count_windows(*rows, *kept, stride, counts))
        if done < rows.n:
            return "not covered", done
        n = int(counts.sum())
    out = np.full((5, n), -9, np.int64)
    assert module.list_windows(*rows, *kept, stride, every, from_end, second_leads, *out) == n
    return out.T.tolist()  # type: ignore[no-any-return]


@given(some_rows(), st.integers(0, 20), st.sampled_from(STRATEGIES))
def test_keep_lengths_agrees_with_its_twin(rows: Rows, room: int, strategy: int) -> None:
    results = [kept_by(module, rows, room, strategy) for module in (kernels, plain)]
    done = results[0][0]
    assert results[1][0] == done
    assert [kept[:done].tolist() for kept in results[0][1:]] == [kept[:done].tolist() for kept in results[1][1:]]


@given(
    some_rows(), st.integers(0, 20), st.sampled_from(STRATEGIES), st.integers(0, 4), st.booleans(), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_windows_agree_with_their_twins(
    rows: Rows, room: int, strategy: int, stride: int, every: bool, from_end: bool, second_leads: bool
) -> None:
    options = rows, room, strategy, stride, every, from_end, second_leads
    assert windows_of(kernels, *options) == windows_of(plain, *options)


@given(some_rows(), st.integers(1, 20), st.integers(0, 4), st.booleans())
def test_windows_fit_and_cover_their_texts(rows: Rows, room: int, stride: int, from_end: bool) -> None:
    found = windows_of(kernels, rows, room, kernels.LONGEST_FIRST, stride, True, from_end, False)
    if isinstance(found, tuple):
        return
    covered: list[list[set[int]]] = [[set(), set()] for _ in range(rows.n)]
    for row, first_start, first_end, second_start, second_end in found:
        assert first_end - first_start + second_end - second_start <= room
        covered[row][0].update(range(first_start, first_end))
        covered[row][1].update(range(second_start, second_end))
    for row in range(rows.n):
        assert covered[row][0] == set(range(rows.first[row], rows.first[row + 1]))
        if rows.second.size:
            assert covered[row][1] == set(range(rows.second[row], rows.second[row + 1]))


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [(0, 9, (0, 7)), (2, 9, (2, 5)), (4, 9, (3, 4)), (9, 2, (5, 2)), (9, 4, (4, 3)), (9, 9, (3, 4)), (2, 4, (2, 4))],
)
def test_longest_first_by_hand(first: int, second: int, kept: tuple[int, int]) -> None:
    rows = Rows(np.array([0, first]), np.array([0, second]))
    _, kept_first, kept_second = kept_by(kernels, rows, 7, kernels.LONGEST_FIRST)
    assert (int(kept_first[0]), int(kept_second[0])) == kept


def test_truncation_does_not_depend_on_how_much_is_cut() -> None:
    """Taking ids off one by one takes time with the square of the length where they are at the front of a list."""
    rows = Rows(np.array([0, 10**12]), np.array([0, 10**12]))
    kept_by(kernels, rows, 10, kernels.LONGEST_FIRST)
    started = time.perf_counter()
    assert [int(kept[0]) for kept in kept_by(kernels, rows, 11, kernels.LONGEST_FIRST)[1:]] == [5, 6]
    assert time.perf_counter() - started < 1
