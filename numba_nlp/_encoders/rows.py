"""What encoders take and give: rows cut into segments, ids with spans, the number of threads.

A *segment* is a stretch of text that is encoded by itself, or one id that is given (a special token). Without special
tokens a row is one segment. Policies, input types and errors are the business of ``tokenizer.py``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import AlignmentError

if TYPE_CHECKING:
    from numba_nlp._second_search import SecondSearch

__all__ = [
    "NO_IDS",
    "NO_PLACES",
    "THREADS",
    "Encoded",
    "Segments",
    "frozen",
    "refuse_alignment",
    "resolve_threads",
    "whole_segments",
]


#: Environment variable that says how many threads to use.
THREADS = "NUMBA_NLP_NUM_THREADS"


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, read-only: kernels are compiled for one kind of array."""
    array.flags.writeable = False
    return array


NO_IDS = frozen(np.zeros(0, np.int32))
NO_PLACES = frozen(np.zeros(0, np.int64))


class Segments(NamedTuple):
    """Rows cut into segments (:func:`numba_nlp.kernels.segment.special.split_rows`).

    ``second`` is what has to be looked for in the normalized text of the segments, if there is anything.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fixed: NDArray[np.int32]
    first_of_row: NDArray[np.int64]
    second: SecondSearch | None = None

    def of_rows(self, first: int, last: int) -> Segments:
        """The segments of some of the rows."""
        start, stop = int(self.first_of_row[first]), int(self.first_of_row[last])
        part = slice(start, stop)
        first_of_row = frozen(self.first_of_row[first : last + 1] - start)
        return Segments(self.starts[part], self.ends[part], self.fixed[part], first_of_row, self.second)


class Encoded(NamedTuple):
    """Ids of rows; spans when they were asked for."""

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64] | None
    ends: NDArray[np.int64] | None


def refuse_alignment(what: str) -> NoReturn:
    """Say that the ids of a text are not those that its words or its normalised form have.

    Parameters
    ----------
    what : str
        What was to be found, such as ``"spans of row 3"``.

    Raises
    ------
    AlignmentError
    """
    raise AlignmentError(
        f"{what}: the text does not give these ids. Was it changed meanwhile, or is the vocabulary a damaged one that "
        "was loaded with verify=False? Else please report this with the text"
    )


def resolve_threads(num_threads: int | None) -> int:
    """Number of threads that an argument means.

    Parameters
    ----------
    num_threads : int or None
        None takes ``NUMBA_NLP_NUM_THREADS``, else the processors that this process may run on.

    Raises
    ------
    ValueError
        Not a whole number of at least 1.
    """
    name: str = "num_threads"
    value: Any = num_threads
    if value is None:
        given = os.environ.get(THREADS)
        if given is None:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        name, value = THREADS, int(given) if given.isdecimal() else given
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"`{name}` must be a whole number of at least 1, got {value!r}")
    return int(value)


def whole_segments(starts: NDArray[np.int64], ends: NDArray[np.int64], segments: Segments | None) -> Segments:
    """The segments, read-only; one text a row when rows are not cut."""
    if segments is None:
        segments = Segments(starts, ends, np.full(starts.size, -1, np.int32), np.arange(starts.size + 1))
    starts, ends, fixed, first_of_row = (frozen(array.view()) for array in segments[:4])
    return Segments(starts, ends, fixed, first_of_row, segments.second)
