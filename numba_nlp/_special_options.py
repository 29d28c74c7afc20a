"""Options of added tokens as transformers' tokenizer classes in Python have them.

The text is cut at the tokens first. Then, from left to right, a token takes the white space off the stretch behind it
(``rstrip``) or before it (``lstrip``); one that is to be a word by itself (``single_word``) joins the stretch before it
unless a space (U+0020) ends that, else the stretch behind it unless a space begins that. What it joins becomes text,
even if it was a token.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import Segments
from numba_nlp.kernels.segment.special_matcher import FLAG_LSTRIP, FLAG_RSTRIP, FLAG_SINGLE_WORD

__all__ = ["OPTIONS", "Matches", "in_template", "rows_with_options"]

OPTIONS = FLAG_LSTRIP | FLAG_RSTRIP | FLAG_SINGLE_WORD


class Matches(NamedTuple):
    """Special tokens found in rows."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    tokens: NDArray[np.int32]


class Part:
    """A stretch of a row: text, or a token by its index."""

    __slots__ = ("start", "stop", "token")

    def __init__(self, start: int, stop: int, token: int = -1) -> None:
        self.start = start
        self.stop = stop
        self.token = token

    def text(self, data: NDArray[np.uint8]) -> str:
        return data[self.start : self.stop].tobytes().decode()


def rows_with_options(
    found: Matches,
    flags: NDArray[np.uint8],
    ids: NDArray[np.int32],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> list[list[tuple[int, int, int]]]:
    """Rows cut at tokens with options.

    Parameters
    ----------
    found : Matches
        The tokens in the rows, in the order of the text.
    flags, ids : uint8[K], int32[K]
        Options and id of each token.
    data, starts, ends : uint8[n], int64[rows], int64[rows]

    Returns
    -------
    list of list of (int, int, int)
        Of each row: start, stop, and id, -1 for text.
    """
    rows = [
        [(start, stop, -1)] if start < stop else [] for start, stop in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    matches = zip(*(column.tolist() for column in found), strict=True)
    for row, tokens in groupby(matches, key=lambda match: match[0]):
        parts = _cut(int(starts[row]), int(ends[row]), tokens)
        _apply_options(parts, flags, data)
        rows[row] = [
            (part.start, part.stop, int(ids[part.token]) if part.token >= 0 else -1)
            for part in parts
            if part.start < part.stop
        ]
    return rows


def _cut(start: int, stop: int, tokens: Iterable[tuple[int, int, int, int]]) -> list[Part]:
    """Tokens and the stretches between them; none is empty."""
    parts = []
    for _, first, last, token in tokens:
        if start < first:
            parts.append(Part(start, first))
        parts.append(Part(first, last, token))
        start = last
    return [*parts, Part(start, stop)] if start < stop else parts


def _apply_options(parts: list[Part], flags: NDArray[np.uint8], data: NDArray[np.uint8]) -> None:
    nothing = Part(0, 0)
    for i, part in enumerate(parts):
        options = int(flags[part.token]) & OPTIONS if part.token >= 0 else 0
        if not options:
            continue
        left, right = parts[i - 1] if i else nothing, parts[i + 1] if i + 1 < len(parts) else nothing
        before, behind = left.text(data), right.text(data)
        if options & FLAG_RSTRIP:
            right.start = right.stop - len(behind.lstrip().encode())
        if options & FLAG_LSTRIP:
            left.stop = left.start + len(before.rstrip().encode())
        if options & FLAG_SINGLE_WORD:
            if before and before[-1] != " ":
                left.stop, left.token = part.stop, -1
                part.start = part.stop
            elif behind and behind[0] != " ":
                right.start, right.token = part.start, -1
                part.stop = part.start


def in_template(
    rows: list[list[tuple[int, int, int]]], template: NDArray[np.int32], valid: NDArray[np.bool_] | None
) -> Segments:
    """Segments of rows, each put into a template.

    Parameters
    ----------
    rows : list of list of (int, int, int)
        What :func:`rows_with_options` gave.
    template : int32[T]
        Ids, with -1 for the row's own text; empty for the text alone.
    valid : bool[rows], optional
        False for missing rows, which have no segments.
    """
    around: list[int] = template.tolist() or [-1]
    segments: list[tuple[int, int, int]] = []
    first_of_row = [0]
    for number, parts in enumerate(rows):
        if valid is None or valid[number]:
            for place in around:
                segments += parts if place < 0 else [(-1, -1, place)]
        first_of_row.append(len(segments))
    starts, stops, fixed = np.array(segments, np.int64).reshape(-1, 3).T
    made = starts.copy(), stops.copy(), fixed.astype(np.int32), np.array(first_of_row, np.int64)
    for array in made:
        array.flags.writeable = False
    return Segments(*made)
