"""Encoded texts as rows of model inputs: cut, in windows, laid out by a template."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from numba_nlp._input_plan import NO_LIMIT, Padding, Truncation
from numba_nlp._input_settings import Template
from numba_nlp.kernels.segment.layout import lay_marks, lay_values
from numba_nlp.kernels.segment.truncate import ONLY_FIRST, count_windows, keep_lengths, list_windows

__all__ = ["NO_OFFSETS", "NO_TEXTS", "NO_VALUES", "Layout", "Texts", "Windows", "cut_texts", "read_only", "width_of"]

NO_OFFSETS = np.zeros(0, np.int64)
NO_VALUES = np.zeros(0, np.int32)
NO_OFFSETS.flags.writeable = NO_VALUES.flags.writeable = False


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Read-only view: kernels are compiled for one kind of array."""
    view = array.view()
    view.flags.writeable = False
    return view


class Texts(NamedTuple):
    """Encoded texts: ids, where rows end, spans, word numbers."""

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    words: NDArray[np.int32]


NO_TEXTS = Texts(NO_VALUES, NO_OFFSETS, NO_OFFSETS, NO_OFFSETS, NO_VALUES)


class Windows(NamedTuple):
    """The ids of texts that each input holds, and the row that it comes from."""

    rows: NDArray[np.int64]
    first_starts: NDArray[np.int64]
    first_ends: NDArray[np.int64]
    second_starts: NDArray[np.int64]
    second_ends: NDArray[np.int64]

    def lengths(self, template: Template) -> NDArray[np.int64]:
        """Ids of each input."""
        n_first, n_second = self.first_ends - self.first_starts, self.second_ends - self.second_starts
        return n_first + n_second + template.n_added


class Layout:
    """Lays out values and marks of the inputs of one call, as a matrix or one behind the other."""

    def __init__(
        self, template: Template, windows: Windows, offsets: NDArray[np.int64], left: bool, dtype: DTypeLike
    ) -> None:
        self._parts = read_only(template.parts)
        self._windows = Windows(*map(read_only, windows))
        self._offsets = read_only(offsets)
        self._left = left
        self._dtype = dtype

    def values(self, entries: NDArray[np.int64], first: NDArray[Any], second: NDArray[Any], pad: int) -> NDArray[Any]:
        """What each id of a text has of its own."""
        out = np.empty(self._offsets[-1], self._dtype)
        _, first_starts, first_ends, second_starts, second_ends = self._windows
        lay_values(
            self._parts, read_only(entries), read_only(first), read_only(second), first_starts, first_ends,
            second_starts, second_ends, pad, self._left, self._offsets, out,
        )  # fmt: skip
        return out

    def marks(self, entries: NDArray[np.int64], pad: int) -> NDArray[Any]:
        """What all ids of a text have in common."""
        out = np.empty(self._offsets[-1], self._dtype)
        _, first_starts, first_ends, second_starts, second_ends = self._windows
        lay_marks(
            self._parts, read_only(entries), first_starts, first_ends, second_starts, second_ends, pad, self._left,
            self._offsets, out,
        )  # fmt: skip
        return out


def cut_texts(first: Texts, second: Texts, template: Template, truncated: Truncation, all_windows: bool) -> Windows:
    """Cut the texts."""
    n = first.offsets.size - 1
    if truncated.room == NO_LIMIT:
        return _whole_texts(first, second)
    kept_first, kept_second = np.empty(n, np.int64), np.empty(n, np.int64)
    done = keep_lengths(
        first.offsets, second.offsets, truncated.room, truncated.strategy, kept_first, kept_second
    )  # fmt: skip
    if done < n:
        which = "first" if truncated.strategy == ONLY_FIRST else "second"
        if which == "second" and not second.offsets.size:
            raise ValueError(
                f"row {done} is longer than `max_length` {truncated.max_length}, and `truncation` 'only_second' has no "
                "second text to cut; pass `text_pair`, or truncation=True"
            )
        raise ValueError(
            f"row {done}: the {which} text is too short to be cut to `max_length` {truncated.max_length} and keep an "
            "id; truncation='longest_first' cuts both texts"
        )
    n_inputs = n
    if all_windows:
        counts = np.empty(n, np.int64)
        done = count_windows(first.offsets, second.offsets, kept_first, kept_second, truncated.stride, counts)
        if done < n:
            raise ValueError(
                f"row {done}: `max_length` {truncated.max_length} keeps no more ids of a text than `stride` "
                f"{truncated.stride}, so no number of windows covers it; raise `max_length`"
            )
        n_inputs = int(counts.sum())
    windows = Windows(*(np.empty(n_inputs, np.int64) for _ in Windows._fields))
    list_windows(
        first.offsets, second.offsets, kept_first, kept_second, truncated.stride, all_windows, truncated.from_end,
        template.second_leads, windows.rows, windows.first_starts, windows.first_ends, windows.second_starts,
        windows.second_ends,
    )  # fmt: skip
    return windows


def _whole_texts(first: Texts, second: Texts) -> Windows:
    """One input for each row, with all of its ids."""
    n = first.offsets.size - 1
    nothing = np.zeros(n, np.int64)
    rows = np.arange(n)
    if second is NO_TEXTS:
        return Windows(rows, first.offsets[:-1], first.offsets[1:], nothing, nothing)
    return Windows(rows, first.offsets[:-1], first.offsets[1:], second.offsets[:-1], second.offsets[1:])


def width_of(lengths: NDArray[np.int64], padded: Padding | None, as_matrix: bool) -> int | None:
    """Width of the matrix; None when rows keep their lengths."""
    longest = int(lengths.max(initial=0))
    if padded is None:
        if as_matrix and lengths.size and int(lengths.min()) != longest:
            raise ValueError(
                f"inputs have {int(lengths.min())} to {longest} ids, so they are no matrix; pass padding=True, or "
                "leave return_tensors out"
            )
        return longest if as_matrix else None
    width = padded.width(longest)
    if longest > width:
        row = int(np.argmax(lengths))
        raise ValueError(
            f"input {row} has {longest} ids, more than the width {width}; pass truncation=True or a larger `max_length`"
        )
    return width
