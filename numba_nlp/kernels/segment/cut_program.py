r"""Pre-tokenizers one behind the other, as an array program: normalized rows in, pieces out.

A program is ``int32[CUT_STEP * n]``, four numbers a step, as of
:mod:`numba_nlp.kernels.segment.normalize_program`. Every step cuts each piece that the one before left; pieces need not
tile the text, for some of it may be left out. ``CUT_METASPACE`` also writes the text anew.

=================  ===========================  ==============================================================
operation          arguments                    meaning
=================  ===========================  ==============================================================
``CUT_CLASS``      mask, behavior, invert       at characters of a class
``CUT_WORDS``      -                            ``\w+|[^\w\s]+``
``CUT_STRING``     string, behavior, invert     at a string
``CUT_GPT2``       -                            by the pattern of GPT-2 (``ByteLevel``)
``CUT_METASPACE``  string, scheme, split        spaces as a character, put before, cut before it
=================  ===========================  ==============================================================

Twin: ``numba_nlp.reference.segment.cut_program``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.cut_items import (
    ISOLATED,
    MERGED_WITH_NEXT,
    REMOVED,
    CutClasses,
    behave,
    items_of_class,
    items_of_string,
    items_of_words,
)
from numba_nlp.kernels.segment.normalize_edits import put_content
from numba_nlp.kernels.segment.normalize_text import Aligned, copy_aligned, new_aligned
from numba_nlp.kernels.segment.scan import next_end_gpt2

__all__ = [
    "ALWAYS",
    "CUT_CLASS",
    "CUT_GPT2",
    "CUT_METASPACE",
    "CUT_OPERATIONS",
    "CUT_STEP",
    "CUT_STRING",
    "CUT_WORDS",
    "FIRST",
    "ITEM_KERNELS",
    "NEVER",
    "CutScratch",
    "CutTables",
    "cut",
    "cut_rows",
    "find_items",
    "new_cut_scratch",
]

CUT_CLASS = 0
CUT_WORDS = 1
CUT_STRING = 2
CUT_GPT2 = 3
CUT_METASPACE = 4
#: Number of operations.
CUT_OPERATIONS = 5
#: Numbers of one step.
CUT_STEP = 4

# When CUT_METASPACE puts its character before a piece that does not begin with it.
NEVER = 0
ALWAYS = 1
#: Before the piece that begins where the row begins.
FIRST = 2

_SPACE = 0x20


class CutTables(NamedTuple):
    """A program and what its steps look up.

    Attributes
    ----------
    program : int32[CUT_STEP * n]
    strings, string_offsets : uint8[m], int64[k + 1]
        String ``i`` is ``strings[string_offsets[i]:string_offsets[i + 1]]``.
    classes : CutClasses
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Character classes of :mod:`numba_nlp.kernels.segment.scan`.
    """

    program: NDArray[np.int32]
    strings: NDArray[np.uint8]
    string_offsets: NDArray[np.int64]
    classes: CutClasses
    class_index: NDArray[np.uint16]
    class_blocks: NDArray[np.uint8]


class CutScratch(NamedTuple):
    """Two buffers and two lists of pieces that steps go between, and the items of one piece.

    Attributes
    ----------
    here, there : Aligned
    starts, ends, other_starts, other_ends : int64[n], int64[n], int64[n], int64[n]
    item_ends, item_flags : int64[n], uint8[n]
    calls : int64[CUT_OPERATIONS + 1]
        Room for whoever finds items by address.
    """

    here: Aligned
    there: Aligned
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    other_starts: NDArray[np.int64]
    other_ends: NDArray[np.int64]
    item_ends: NDArray[np.int64]
    item_flags: NDArray[np.uint8]
    calls: NDArray[np.int64]


def new_cut_scratch(capacity: int, aligned: bool) -> CutScratch:
    """Memory for rows that have at most ``capacity`` bytes before, between and after all steps."""
    return CutScratch(
        new_aligned(capacity, aligned),
        new_aligned(capacity, aligned),
        *(np.empty(capacity, np.int64) for _ in range(5)),
        np.empty(capacity, np.uint8),
        np.zeros(CUT_OPERATIONS + 1, np.int64),
    )


@kernel
def _class_items(tables, first, third, text, begin, end, scratch):
    return items_of_class(tables.classes, first, third, text, begin, end, scratch.item_ends, scratch.item_flags)


@kernel
def _words_items(tables, first, third, text, begin, end, scratch):
    return items_of_words(tables.classes, text, begin, end, scratch.item_ends, scratch.item_flags)


@kernel
def _string_items(tables, first, third, text, begin, end, scratch):
    string = tables.strings[tables.string_offsets[first] : tables.string_offsets[first + 1]]
    return items_of_string(string, third, text, begin, end, scratch.item_ends, scratch.item_flags)


@kernel
def _gpt2_items(tables, first, third, text, begin, end, scratch):
    items = np.int64(0)
    position = begin
    while position < end:
        position = next_end_gpt2(tables.class_index, tables.class_blocks, text, position, end)
        scratch.item_ends[items] = position
        scratch.item_flags[items] = 1
        items += 1
    return items


#: What finds the items of each operation that cuts, by its number: ``(tables, first and third argument, text, begin,
#: end, scratch)``.
ITEM_KERNELS = (_class_items, _words_items, _string_items, _gpt2_items)


@kernel
def find_items(tables, operation, first, third, text, begin, end, scratch):
    """Items of one piece (:mod:`numba_nlp.kernels.segment.cut_items`).

    Parameters
    ----------
    tables : CutTables
    operation, first, third : int64
        The step, which is not ``CUT_METASPACE``.
    text : uint8[n]
    begin, end : int64
        The piece.
    scratch : CutScratch
        ``item_ends`` and ``item_flags`` are written.

    Returns
    -------
    int64
        Number of items.
    """
    if operation == CUT_CLASS:
        return _class_items(tables, first, third, text, begin, end, scratch)
    if operation == CUT_STRING:
        return _string_items(tables, first, third, text, begin, end, scratch)
    if operation == CUT_WORDS:
        return _words_items(tables, first, third, text, begin, end, scratch)
    return _gpt2_items(tables, first, third, text, begin, end, scratch)


@kernel
def cut(tables, source, start, stop, base, scratch, target, at, piece_starts, piece_ends, out):
    """Cut one normalized row into pieces.

    Parameters
    ----------
    tables : CutTables
    source : Aligned
        With ranges if ``target`` has them, or if a step is ``CUT_METASPACE`` with ``FIRST``.
    start, stop : int64
        The row in ``source``.
    base : int64
        What is added to ranges to count them from the start of the original row; other than 0 for a stretch of text
        behind a special token.
    scratch : CutScratch
    target : Aligned
        Written from ``at`` on when the program has ``CUT_METASPACE``: the pieces, one behind the other.
    at : int64
    piece_starts, piece_ends : int64[k], int64[k]
        Written from ``out`` on: the pieces in ``target`` when the program has ``CUT_METASPACE``, else in ``source``.
    out : int64

    Returns
    -------
    int64
        Place after the last piece written, or ``STATUS_OUTPUT_FULL`` when ``target``, the pieces or ``scratch`` have no
        room.
    """
    if stop - start > scratch.starts.size:
        return np.int64(STATUS_OUTPUT_FULL)
    here, there = source, scratch.there
    starts, ends, next_starts, next_ends = scratch.starts, scratch.ends, scratch.other_starts, scratch.other_ends
    n = np.int64(start < stop)
    if n == 1:
        starts[0] = start
        ends[0] = stop
    rewritten = False
    for step in range(0, tables.program.size, CUT_STEP):
        operation = tables.program[step]
        first, second, third = tables.program[step + 1], tables.program[step + 2], tables.program[step + 3]
        if operation == CUT_METASPACE:
            string = tables.strings[tables.string_offsets[first] : tables.string_offsets[first + 1]]
            written = _write_metaspace(string, second, here, starts, ends, n, base, there)
            if written < 0:
                return np.int64(STATUS_OUTPUT_FULL)
            if rewritten:
                here, there = there, here
            else:
                here, there = there, scratch.here
            rewritten = True
            if third == 0:
                continue
            operation, second, third = np.int32(CUT_STRING), np.int32(MERGED_WITH_NEXT), np.int32(0)
        count = np.int64(0)
        for piece in range(n):
            begin, end = starts[piece], ends[piece]
            if end - begin > scratch.item_ends.size:
                return np.int64(STATUS_OUTPUT_FULL)
            behavior = np.int64(second)
            if operation == CUT_WORDS:
                behavior = np.int64(REMOVED)
            elif operation == CUT_GPT2:
                behavior = np.int64(ISOLATED)
            items = find_items(
                tables, np.int64(operation), np.int64(first), np.int64(third), here.text, begin, end, scratch
            )
            count = behave(
                behavior, begin, scratch.item_ends, scratch.item_flags, items, next_starts, next_ends, count
            )  # fmt: skip
            if count < 0:
                return np.int64(STATUS_OUTPUT_FULL)
        n = count
        starts, ends, next_starts, next_ends = next_starts, next_ends, starts, ends
    if out + n > piece_starts.size:
        return np.int64(STATUS_OUTPUT_FULL)
    for piece in range(n):
        begin, end = starts[piece], ends[piece]
        if rewritten:
            end = copy_aligned(here, begin, end, target, at)
            if end < 0:
                return np.int64(STATUS_OUTPUT_FULL)
            begin = np.int64(at)
            at = end
        piece_starts[out + piece] = begin
        piece_ends[out + piece] = end
    return np.int64(out + n)


@kernel
def _write_metaspace(string, scheme, source, starts, ends, n, base, target):
    """Write pieces with ``string`` for every space, and before them; gives their new places in place of the old."""
    at = np.int64(0)
    for piece in range(n):
        begin, end = starts[piece], ends[piece]
        starts[piece] = at
        wanted = scheme == ALWAYS or (scheme == FIRST and source.starts[begin] + base == 0)
        if wanted and _lacks_prefix(string, source.text, begin, end):
            at = put_content(string, source, begin, begin + 1, target, at)
        if at < 0:
            return at
        copied = begin
        for position in range(begin, end):
            if source.text[position] == _SPACE:
                at = copy_aligned(source, copied, position, target, at)
                if at < 0:
                    return at
                at = put_content(string, source, begin, position + 1, target, at)
                if at < 0:
                    return at
                copied = position + 1
        at = copy_aligned(source, copied, end, target, at)
        if at < 0:
            return at
        ends[piece] = at
    return at


@kernel
def _lacks_prefix(string, text, begin, end):
    """Whether a piece begins neither with ``string`` nor with a space, which becomes one."""
    if text[begin] == _SPACE:
        return False
    k = 0
    while k < string.size and begin + k < end and text[begin + k] == string[k]:
        k += 1
    return k < string.size


@kernel
def cut_rows(
    tables, source, starts, ends, bases, first, scratch, target, at, piece_starts, piece_ends, out, first_pieces
):  # fmt: skip
    """Cut normalized rows, as long as there is room.

    Parameters
    ----------
    tables : CutTables
    source : Aligned
    starts, ends : int64[rows], int64[rows]
        The rows in ``source``.
    bases : int64[rows] or int64[0]
        ``base`` of each row as of :func:`numba_nlp.kernels.segment.cut_program.cut`; empty for zeros.
    first : int64
        Row to begin with.
    scratch, target, at, piece_starts, piece_ends, out
        As of :func:`numba_nlp.kernels.segment.cut_program.cut`.
    first_pieces : int64[rows + 1]
        Written from ``first`` on: where the pieces of each row begin.

    Returns
    -------
    int64
        Number of rows, or of the first row for which there is no room: give more, and go on from that row at
        ``out = first_pieces[row]``, ``at = piece_ends[out - 1]``.
    """
    for row in range(first, starts.size):
        first_pieces[row] = out
        base = bases[row] if bases.size > 0 else np.int64(0)
        end = cut(
            tables, source, starts[row], ends[row], base, scratch, target, at, piece_starts, piece_ends, np.int64(out)
        )
        if end < 0:
            return np.int64(row)
        if end > out and target.text.size > 0:
            at = piece_ends[end - 1]
        out = end
    first_pieces[starts.size] = out
    return np.int64(starts.size)
