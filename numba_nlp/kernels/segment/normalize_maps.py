"""Normalizers that work character by character, as tables, with alignment.

Lower case, no accents, NMT's cleaning, spaces around Chinese characters.

Every character of the result has the range of the character that it came from.

Twin: ``numba_nlp.reference.segment.normalize_maps``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.segment.normalize_text import UNCHANGED, copy_aligned

__all__ = ["BLOCKS", "MapTables", "map_characters", "surround_characters"]


#: Blocks of 128 characters in a map.
BLOCKS = 0x110000 >> 7


class MapTables(NamedTuple):
    """What becomes of every character, in each of several maps.

    Attributes
    ----------
    pages, blocks : uint16[maps * BLOCKS], uint16[blocks * 128]
        Two-stage tables, one behind the other: ``pages[map * BLOCKS + (code point >> 7)]`` is a block, which holds the
        entry of the character; 0 for characters that stay.
    offsets, text : int32[entries + 1], uint8[m]
        ``text[offsets[e]:offsets[e + 1]]`` takes the place of the characters of entry ``e``.
    """

    pages: NDArray[np.uint16]
    blocks: NDArray[np.uint16]
    offsets: NDArray[np.int32]
    text: NDArray[np.uint8]


@kernel
def map_characters(tables, number, source, start, stop, target, at):
    """Replace every character by what a map has for it.

    Parameters
    ----------
    tables : MapTables
    number : int64
        Of the map.
    source : Aligned
    start, stop : int64
        The text in ``source``, valid UTF-8.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL``.
    """
    pages, blocks = tables.pages, tables.blocks
    first_block = number * BLOCKS
    ascii_block = np.int64(pages[first_block]) << 7
    copied = start
    position = start
    changed = False
    while position < stop:
        code_point = np.int64(source.text[position])
        length = np.int64(1)
        if code_point < 0x80:
            entry = np.int64(blocks[ascii_block | code_point])
        else:
            code_point = code_point_at(source.text, position)
            length = encoded_length(code_point)
            entry = np.int64(blocks[np.int64(pages[first_block + (code_point >> 7)]) << 7 | code_point & 127])
        if entry != 0:
            changed = True
            at = copy_aligned(source, copied, position, target, at)
            if at < 0:
                return at
            first, last = np.int64(tables.offsets[entry]), np.int64(tables.offsets[entry + 1])
            if at + last - first > target.text.size:
                return np.int64(STATUS_OUTPUT_FULL)
            for k in range(first, last):
                target.text[at] = tables.text[k]
                if target.starts.size > 0:
                    target.starts[at] = source.starts[position]
                    target.ends[at] = source.ends[position]
                at += 1
            copied = position + length
        position += length
    if not changed:
        return np.int64(UNCHANGED)
    return copy_aligned(source, copied, stop, target, at)


@kernel
def surround_characters(tables, number, string, source, start, stop, target, at):
    """Put a string before and behind every character that a map has an entry for.

    Parameters
    ----------
    tables : MapTables
    number : int64
        Of the map.
    string : uint8[m]
        UTF-8.
    source : Aligned
    start, stop : int64
        The text in ``source``, valid UTF-8.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL``.
    """
    pages, blocks = tables.pages, tables.blocks
    first_block = number * BLOCKS
    copied = start
    position = start
    changed = False
    while position < stop:
        code_point = code_point_at(source.text, position)
        length = encoded_length(code_point)
        following = position + length
        if blocks[np.int64(pages[first_block + (code_point >> 7)]) << 7 | code_point & 127] != 0:
            changed = True
            at = copy_aligned(source, copied, position, target, at)
            if at < 0 or at + length + 2 * string.size > target.text.size:
                return np.int64(STATUS_OUTPUT_FULL)
            at = _put_string(string, source, position, target, at)
            at = copy_aligned(source, position, following, target, at)
            at = _put_string(string, source, position, target, at)
            copied = following
        position = following
    if not changed:
        return np.int64(UNCHANGED)
    return copy_aligned(source, copied, stop, target, at)


@kernel
def _put_string(string, source, origin, target, at):
    """Write a string, for which there is room, with the range of the character at ``origin``."""
    for k in range(string.size):
        target.text[at + k] = string[k]
        if target.starts.size > 0:
            target.starts[at + k] = source.starts[origin]
            target.ends[at + k] = source.ends[origin]
    return np.int64(at + string.size)
