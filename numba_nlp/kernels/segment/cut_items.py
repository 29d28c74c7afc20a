"""Pre-tokenizers of tokenizers: what matches in a piece of text, and what is done with the matches.

A piece is first tiled by *items*: stretches that match (``flag`` 1) and gaps between them (0). Then one of the five
behaviors makes pieces of the items.

Twin: ``numba_nlp.reference.segment.cut_items``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length

__all__ = [
    "BEHAVIORS",
    "CONTIGUOUS",
    "ISOLATED",
    "MERGED_WITH_NEXT",
    "MERGED_WITH_PREVIOUS",
    "NUMERIC",
    "PUNCTUATION",
    "REMOVED",
    "SPACE",
    "WORD",
    "CutClasses",
    "behave",
    "items_of_class",
    "items_of_string",
    "items_of_words",
]

REMOVED = 0
ISOLATED = 1
MERGED_WITH_PREVIOUS = 2
MERGED_WITH_NEXT = 3
CONTIGUOUS = 4
#: Names of the behaviors, as files write them, by number.
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")

# Bits of a character.
WORD = 1
SPACE = 2
NUMERIC = 4
PUNCTUATION = 8


class CutClasses(NamedTuple):
    """Which characters pre-tokenizers cut at.

    Attributes
    ----------
    pages, blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Two-stage table: code point -> bits ``WORD`` (what regular expressions call a word character), ``SPACE``,
        ``NUMERIC`` (numbers of all kinds), ``PUNCTUATION`` (with all of ASCII that is no letter, digit or control).
    """

    pages: NDArray[np.uint16]
    blocks: NDArray[np.uint8]


@kernel
def _bits(classes, code_point):
    return np.int64(classes.blocks[np.int64(classes.pages[code_point >> 7]) << 7 | code_point & 127])


@kernel
def items_of_class(classes, mask, invert, text, start, stop, item_ends, item_flags):
    """Every character of a class matches by itself.

    Parameters
    ----------
    classes : CutClasses
    mask : int64
        Characters that have one of these bits.
    invert : int64
        1 when gaps count as matches and matches as gaps.
    text : uint8[n]
        Valid UTF-8.
    start, stop : int64
        The piece.
    item_ends, item_flags : int64[m], uint8[m]
        Written; ``m`` is at least ``stop - start``.

    Returns
    -------
    int64
        Number of items.
    """
    n = np.int64(0)
    gap = start
    position = start
    while position < stop:
        code_point = code_point_at(text, position)
        length = encoded_length(code_point)
        if _bits(classes, code_point) & mask != 0:
            n = _add(gap, position, invert, item_ends, item_flags, n)
            n = _add(position, position + length, 1 - invert, item_ends, item_flags, n)
            gap = position + length
        position += length
    return _add(gap, stop, invert, item_ends, item_flags, n)


@kernel
def items_of_words(classes, text, start, stop, item_ends, item_flags):
    r"""Runs of word characters, and runs of others that are no white space, are gaps; white space matches.

    That is the expression ``\w+|[^\w\s]+`` inverted; with ``REMOVED`` it is the pre-tokenizer ``Whitespace``.

    Parameters
    ----------
    classes : CutClasses
    text : uint8[n]
        Valid UTF-8.
    start, stop : int64
        The piece.
    item_ends, item_flags : int64[m], uint8[m]
        Written; ``m`` is at least ``stop - start``.

    Returns
    -------
    int64
        Number of items.
    """
    n = np.int64(0)
    first = start
    position = start
    kind = np.int64(0)
    while position < stop:
        code_point = code_point_at(text, position)
        own = _bits(classes, code_point) & (WORD | SPACE)
        if own != kind:
            n = _add(first, position, np.int64(kind == SPACE), item_ends, item_flags, n)
            first = position
            kind = own
        position += encoded_length(code_point)
    return _add(first, stop, np.int64(kind == SPACE), item_ends, item_flags, n)


@kernel
def items_of_string(pattern, invert, text, start, stop, item_ends, item_flags):
    """Every occurrence of a string matches, from the left, none overlapping another.

    Parameters
    ----------
    pattern : uint8[k]
        Valid UTF-8, not empty.
    invert : int64
        1 when gaps count as matches and matches as gaps.
    text : uint8[n]
        Valid UTF-8.
    start, stop : int64
        The piece.
    item_ends, item_flags : int64[m], uint8[m]
        Written; ``m`` is at least ``stop - start``.

    Returns
    -------
    int64
        Number of items.
    """
    n = np.int64(0)
    gap = start
    position = start
    while position + pattern.size <= stop:
        k = 0
        while k < pattern.size and text[position + k] == pattern[k]:
            k += 1
        if k < pattern.size:
            position += 1
            continue
        n = _add(gap, position, invert, item_ends, item_flags, n)
        position += pattern.size
        n = _add(position - pattern.size, position, 1 - invert, item_ends, item_flags, n)
        gap = position
    return _add(gap, stop, invert, item_ends, item_flags, n)


@kernel
def _add(start, end, flag, item_ends, item_flags, n):
    """Add an item unless it is empty."""
    if start == end:
        return n
    item_ends[n] = end
    item_flags[n] = flag
    return n + 1


@kernel
def behave(behavior, start, item_ends, item_flags, n_items, piece_starts, piece_ends, out):
    """Make pieces of items.

    Parameters
    ----------
    behavior : int64
        ``REMOVED``: matches are left out. ``ISOLATED``: every item is a piece. ``MERGED_WITH_PREVIOUS``: a match behind
        a gap belongs to it. ``MERGED_WITH_NEXT``: a match before a gap belongs to it. ``CONTIGUOUS``: matches behind
        each other, and gaps, are one piece.
    start : int64
        Where the first item begins.
    item_ends, item_flags : int64[m], uint8[m]
    n_items : int64
    piece_starts, piece_ends : int64[k], int64[k]
        Written from ``out`` on.
    out : int64

    Returns
    -------
    int64
        Place after the last piece written, or ``STATUS_OUTPUT_FULL`` when there may not be room for one an item.
    """
    if out + n_items > piece_starts.size:
        return np.int64(STATUS_OUTPUT_FULL)
    before = np.int64(-1)  # flag of the item before
    first_out = out
    for i in range(n_items):
        flag = np.int64(item_flags[i])
        end = item_ends[i]
        grows = False
        if behavior == CONTIGUOUS:
            grows = flag == before
        elif behavior == MERGED_WITH_PREVIOUS:
            grows = flag == 1 and before == 0
        elif behavior == MERGED_WITH_NEXT:
            grows = flag == 0 and before == 1
        if grows and out > first_out:
            piece_ends[out - 1] = end
        elif behavior != REMOVED or flag == 0:
            piece_starts[out] = start
            piece_ends[out] = end
            out += 1
        before = flag
        start = end
    return np.int64(out)
