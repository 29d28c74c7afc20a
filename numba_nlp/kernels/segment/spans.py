"""Where each id comes from: byte or character ranges of the ids of byte-level BPE, in their own row.

Ids of byte-level BPE tile the bytes of their text, so ranges in bytes are running sums of piece lengths. Ranges in
characters, and what becomes of added spaces and trimmed white space, follow tokenizers. Found by experiment
(0.23.3) and held by ``tests/reference_parity/test_special_spans_parity.py``:

characters
    A range starts at the character that holds the first byte and ends behind the character that holds the last one.
    Tokens that share a character overlap.
``add_prefix_space``
    The space is added to *every* stretch of text between special tokens (not only to the first) unless it starts
    with U+0020; other white space does not count. In characters the space belongs to the first character: a token
    that is the space alone gets that character's range, one that goes on behind it begins with it. In bytes, where
    ranges tile the text, the space is empty.
special tokens
    get the range of the match, with the white space that ``lstrip`` and ``rstrip`` took.
``trim_offsets``
    Leading U+0020 of a token move its start, trailing ones its end, both within the range; for a special token all
    White_Space and the letter U+0120 count (tokenizers takes it for a space in byte-level spelling). Other white
    space of text tokens is never trimmed. The added space counts as one, so ``"<s>hi"`` gives the token ``" h"`` of
    the second stretch an empty range: a fault of the reference that is kept. With the *post-processor's*
    ``add_prefix_space`` one leading space, but not two, stays when the token is the first of the row or starts at 0
    (``TRIM_KEEP_FIRST``); trailing ones are trimmed all the same.
template tokens
    -1, -1 (tokenizers writes 0, 0). They do not count when the first token is looked for.

In bytes white space of more than one byte is trimmed by its length in bytes.

Twin: ``numba_nlp.reference.segment.spans``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment.code_points import (
    code_point_at,
    code_point_before,
    encoded_length,
    is_white_space,
)
from numba_nlp.kernels.words import peek, poke, popcount, raw_load64, shift_left, shift_right, trailing_zeros, unlikely

__all__ = [
    "STATUS_NOT_TILING",
    "TRIM_ALL",
    "TRIM_KEEP_FIRST",
    "TRIM_NONE",
    "UNIT_BYTE",
    "UNIT_CHAR",
    "ascii_end",
    "count_chars",
    "count_to",
    "edge_spaces",
    "fill_spans",
    "piece_shapes",
    "trim_special",
]

UNIT_BYTE = 0
UNIT_CHAR = 1

#: ``trim_offsets=False``
TRIM_NONE = 0
#: ``trim_offsets=True``, the post-processor's ``add_prefix_space=False``
TRIM_ALL = 1
#: ``trim_offsets=True``, the post-processor's ``add_prefix_space=True``
TRIM_KEEP_FIRST = 2

#: Bytes that are looked through at a time for one above 127: rows are short.
ASCII_AHEAD = 4096
#: In the table of shapes: as long as this, or longer.
LONG = 127
_SPACE = 0x20
#: U+0120, a space in byte-level spelling.
_SPELLED_SPACE = 0x120
_HIGH_BITS = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_ONE = np.uint64(1)


@kernel
def fill_spans(
    shapes,
    piece_offsets,
    data,
    row_starts,
    row_ends,
    seg_starts,
    seg_ends,
    seg_fixed,
    row_first_segment,
    ids,
    id_offsets,
    unit,
    add_prefix_space,
    trim,
    starts,
    ends,
    where,
):
    """Write the span of every id of a batch.

    Parameters
    ----------
    shapes : uint16[V]
        Lengths of the pieces, made by :func:`piece_shapes`.
    piece_offsets : int64[V + 1]
        ``piece_offsets[id + 1] - piece_offsets[id]`` is the number of bytes of a piece.
    data : uint8[n]
        Valid UTF-8.
    row_starts, row_ends : int64[rows], int64[rows]
        Byte range of each row.
    seg_starts, seg_ends, seg_fixed, row_first_segment : int64[s], int64[s], int32[s], int64[rows + 1]
        Segments of :func:`numba_nlp.kernels.segment.special.split_rows`. When ``row_first_segment`` is empty every
        row is one text, and the other three are not read.
    ids, id_offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[id_offsets[r]:id_offsets[r + 1]]``: for each segment its one id, or the ids of its
        text.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR``.
    add_prefix_space : int64
        1 when the pre-tokeniser put a space before each text that does not start with one, else 0.
    trim : int64
        ``TRIM_NONE``, ``TRIM_ALL`` or ``TRIM_KEEP_FIRST``.
    starts, ends : int64[m], int64[m]
        Written: half-open range of each id, counted from the start of its row; -1, -1 for template tokens.
    where : int64[2]
        Written on failure: row, and index into ``ids``.

    Returns
    -------
    int64
        Number of spans written; ``STATUS_UNKNOWN_ID`` for an id outside the vocabulary; ``STATUS_NOT_TILING`` when
        the pieces do not tile the text.

    Notes
    -----
    Without rules spans are running sums of what the table of shapes says. With rules, and where characters and bytes
    differ, the lead bytes of a piece are counted from one 8-byte load.
    """
    # bytes below 128 only lie from `plain_from` to `plain_to`
    plain_from = np.int64(0)
    plain_to = np.int64(0)
    for row in range(row_starts.size):
        row_start = row_starts[row]
        token = id_offsets[row]
        last_token = id_offsets[row + 1]
        first_token = np.int64(-1)
        in_bytes = True
        if unit != UNIT_BYTE:
            if row_start < plain_from or row_ends[row] > plain_to:
                plain_from = row_start
                plain_to = ascii_end(data, row_start, min(max(row_ends[row], row_start + ASCII_AHEAD), data.size))
            in_bytes = row_ends[row] <= plain_to
        if row_first_segment.size == 0:
            segment = np.int64(0)
            last_segment = np.int64(1 if row_ends[row] > row_start else 0)
        else:
            segment = row_first_segment[row]
            last_segment = row_first_segment[row + 1]
        # Characters of the row before byte `counted`.
        counted = row_start
        n_chars = np.int64(0)
        while segment < last_segment:
            if row_first_segment.size == 0:
                start, stop, is_text = row_start, row_ends[row], True
            else:
                start, stop, is_text = seg_starts[segment], seg_ends[segment], seg_fixed[segment] < 0
            segment += 1
            if not is_text and token >= last_token:
                where[0] = row
                where[1] = token
                return STATUS_NOT_TILING
            if start < 0:
                starts[token] = -1
                ends[token] = -1
                token += 1
                continue
            if first_token < 0:
                first_token = token
            if in_bytes:
                n_chars = start - row_start
            elif start >= counted:
                n_chars += count_chars(data, counted, start)
            else:
                n_chars = count_chars(data, row_start, start)
            if is_text:
                prefix = 1 if add_prefix_space != 0 and data[start] != _SPACE else 0
                if trim != TRIM_NONE or prefix == 1:
                    token = _fill_with_rules(
                        piece_offsets, data, start, stop, ids, token, last_token, first_token, n_chars, in_bytes, unit,
                        prefix, trim, starts, ends,
                    )  # fmt: skip
                elif in_bytes:
                    token = _fill_bytes(
                        shapes, piece_offsets, ids, token, last_token, n_chars, stop - start, starts, ends
                    )
                else:
                    token = _fill_chars(
                        shapes, piece_offsets, data, start, stop, ids, token, last_token, n_chars, starts, ends
                    )
                if token < 0:
                    token = -1 - token
                    where[0] = row
                    where[1] = token
                    known = token < last_token and 0 <= ids[token] < piece_offsets.size - 1
                    return STATUS_NOT_TILING if known or token >= last_token else STATUS_UNKNOWN_ID
                if not in_bytes and segment < last_segment:
                    n_chars += count_chars(data, start, stop)
            else:
                width = stop - start if in_bytes else count_chars(data, start, stop)
                starts[token] = n_chars
                ends[token] = n_chars + width
                if trim != TRIM_NONE:
                    keep = trim == TRIM_KEEP_FIRST and (token == first_token or n_chars == 0)
                    trim_special(data, start, stop, unit, keep, token, starts, ends)
                token += 1
                n_chars += width
            counted = stop
        if token != last_token:
            where[0] = row
            where[1] = token
            return STATUS_NOT_TILING
    return id_offsets[row_starts.size] - id_offsets[0]


def piece_shapes(piece_bytes: NDArray[np.uint8], piece_offsets: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Length of each piece in bytes and characters, small enough to stay in the processor's cache.

    Parameters
    ----------
    piece_bytes, piece_offsets : uint8[n], int64[V + 1]
        Bytes that id ``i`` stands for: ``piece_bytes[piece_offsets[i]:piece_offsets[i + 1]]``.

    Returns
    -------
    uint16[V]
        Bits 0-6: bytes, ``LONG`` for that many and more. Bits 7-13: characters that start in the piece. Bit 14: the
        piece starts inside a character. Read-only.
    """
    starts = np.concatenate(([0], np.cumsum((piece_bytes & 0xC0) != 0x80)))
    n_bytes = np.diff(piece_offsets)
    n_chars = np.minimum(np.diff(starts[piece_offsets]), LONG)
    is_inside = np.zeros(n_bytes.size, np.int64)
    filled = np.flatnonzero(n_bytes)
    is_inside[filled] = (piece_bytes[piece_offsets[filled]] & 0xC0) == 0x80
    shapes = (np.minimum(n_bytes, LONG) | (n_chars << 7) | (is_inside << 14)).astype(np.uint16)
    shapes.flags.writeable = False
    return shapes


@kernel
def ascii_end(data, start, stop):
    """Where the first byte above 127 of ``data[start:stop]`` lies; ``stop`` when there is none.

    Parameters
    ----------
    data, start, stop : uint8[n], int64, int64

    Returns
    -------
    int64
    """
    # many bytes at once, as far as that goes
    while start + 64 <= stop:
        several = raw_load64(data, start)
        for step in range(8, 64, 8):
            several |= raw_load64(data, start + step)
        if several & _HIGH_BITS != np.uint64(0):
            break
        start += 64
    while start + 8 <= stop:
        high = raw_load64(data, start) & _HIGH_BITS
        if high != np.uint64(0):
            return start + (trailing_zeros(high) >> 3)
        start += 8
    while start < stop:
        if data[start] >= 0x80:
            return start
        start += 1
    return stop


@kernel
def count_chars(data, start, stop):
    """Number of characters that start in ``data[start:stop]``.

    Parameters
    ----------
    data, start, stop : uint8[n], int64, int64

    Returns
    -------
    int64
    """
    n = np.int64(0)
    while start + 8 <= stop:
        n += 8 - popcount(_continuation_marks(raw_load64(data, start)))
        start += 8
    while start < stop:
        n += np.int64(data[start] & 0xC0 != 0x80)
        start += 1
    return n


@kernel
def count_to(data, byte, character, target):
    """Go on from a place that is known in bytes and characters to another one, which rarely lies before it.

    Parameters
    ----------
    data : uint8[n]
        Valid UTF-8.
    byte, character : int64
        The known place: the number of characters that start before ``data[byte]``, counted from anywhere.
    target : int64
        The other place in bytes, at most ``n``.

    Returns
    -------
    int64, int64
        ``target`` and its place in characters.
    """
    while byte < target:
        character += np.int64(data[byte] & 0xC0 != 0x80)
        byte += 1
    while byte > target:
        byte -= 1
        character -= np.int64(data[byte] & 0xC0 != 0x80)
    return byte, character


@kernel
def _continuation_marks(word):
    """Bit 0 of each byte of a word: set when the byte is a UTF-8 continuation (10xxxxxx)."""
    return shift_right(word, 7) & ~shift_right(word, 6) & _ONES


@kernel
def _fill_bytes(shapes, piece_offsets, ids, token, last_token, position, n_bytes, starts, ends):
    """Running sums from ``position`` over ``n_bytes``; returns the next token, or ``-1 - token`` of a failure."""
    n_pieces = shapes.size
    stop = position + n_bytes
    while position < stop:
        if token >= last_token:
            return -1 - token
        piece = np.int64(peek(ids, token))
        if piece < 0 or piece >= n_pieces:
            return -1 - token
        n = np.int64(peek(shapes, piece)) & LONG
        if unlikely(n == LONG):
            n = peek(piece_offsets, piece + 1) - peek(piece_offsets, piece)
        poke(starts, token, position)
        position += n
        poke(ends, token, position)
        token += 1
    return token if position == stop else -token


@kernel
def _fill_chars(shapes, piece_offsets, data, position, stop, ids, token, last_token, n_chars, starts, ends):
    """Character spans of one text, of which ``n_chars`` characters lie before it; returns as ``_fill_bytes``."""
    n_pieces = shapes.size
    while position < stop:
        if token >= last_token:
            return -1 - token
        piece = np.int64(peek(ids, token))
        if piece < 0 or piece >= n_pieces:
            return -1 - token
        shape = np.int64(peek(shapes, piece))
        n = shape & LONG
        width = (shape >> 7) & LONG
        if unlikely(n == LONG):
            n = peek(piece_offsets, piece + 1) - peek(piece_offsets, piece)
            width = count_chars(data, position, min(position + n, stop))
        # a piece that starts inside a character shares it with the token before
        poke(starts, token, n_chars - (shape >> 14))
        n_chars += width
        poke(ends, token, n_chars)
        position += n
        token += 1
    return token if position == stop else -token


@kernel
def _fill_with_rules(
    piece_offsets, data, position, stop, ids, token, last_token, first_token, n_chars, in_bytes, unit, prefix, trim,
    starts, ends,
):  # fmt: skip
    """Spans of one text with an added space (``prefix`` 1) or trimming; returns as ``_fill_bytes``."""
    n_pieces = piece_offsets.size - 1
    slack = data.size - 8
    while position < stop:
        if token >= last_token:
            return -1 - token
        piece = np.int64(peek(ids, token))
        if piece < 0 or piece >= n_pieces:
            return -1 - token
        n = piece_offsets[piece + 1] - piece_offsets[piece] - prefix
        if n < 0 or position + n > stop:
            return -1 - token
        if in_bytes:
            first = n_chars
            n_chars += n
        elif 0 < n <= 8 and position <= slack:
            marks = _continuation_marks(raw_load64(data, position))
            first = n_chars - np.int64(marks & _ONE)
            n_chars += n - popcount(shift_left(marks, 64 - 8 * n))
        else:
            first = n_chars
            if n > 0 and data[position] & 0xC0 == 0x80:
                first -= 1
            n_chars += count_chars(data, position, position + n)
        last = first + 1 if n == 0 and prefix == 1 and unit == UNIT_CHAR else n_chars
        if trim != TRIM_NONE:
            leading, trailing = edge_spaces(data, position, n)
            if trailing == n:
                trailing += prefix
            keep = (trim == TRIM_KEEP_FIRST) & ((token == first_token) | (first == 0))
            leading += prefix
            first = min(first + leading * np.int64(not (keep & (leading == 1))), last)
            if last >= trailing:
                last = max(last - trailing, first)
        starts[token] = first
        ends[token] = last
        position += n
        prefix = 0
        token += 1
    return token


@kernel
def edge_spaces(data, position, n):
    """Number of U+0020 that a token starts with, and that it ends with.

    Parameters
    ----------
    data, position, n : uint8[m], int64, int64
        The token is ``data[position:position + n]``.

    Returns
    -------
    leading, trailing : int64, int64
    """
    if n == 0:
        return np.int64(0), np.int64(0)
    leading = np.int64(data[position] == _SPACE)
    trailing = np.int64(data[position + n - 1] == _SPACE)
    # Two spaces are rare, so these branches are guessed right; whether there is one space is a coin. Conditions are
    # summed because LLVM makes a branch of the first one of a conjunction (18 ns a token instead of 8).
    inner = np.int64(n > 1)
    if leading + inner + np.int64(data[position + inner] == _SPACE) == 3:
        while leading < n and data[position + leading] == _SPACE:
            leading += 1
    if trailing + inner + np.int64(data[position + n - 1 - inner] == _SPACE) == 3:
        while trailing < n and data[position + n - 1 - trailing] == _SPACE:
            trailing += 1
    return leading, trailing


@kernel
def trim_special(data, start, stop, unit, keep_one, token, starts, ends):
    """Trim white space, and U+0120, off the span of a special token.

    Parameters
    ----------
    data, start, stop : uint8[n], int64, int64
        The match.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR``.
    keep_one : bool
        Whether white space in front stays when it is one character.
    token : int64
        Index of the span.
    starts, ends : int64[m], int64[m]
        Changed at ``token``.
    """
    leading = np.int64(0)
    n_leading = 0
    position = start
    while position < stop:
        code_point = code_point_at(data, position)
        if code_point != _SPELLED_SPACE and not is_white_space(code_point):
            break
        n = encoded_length(code_point)
        position += n
        n_leading += 1
        leading += n if unit == UNIT_BYTE else 1
    trailing = np.int64(0)
    position = stop
    while position > start:
        code_point = code_point_before(data, position)
        if code_point != _SPELLED_SPACE and not is_white_space(code_point):
            break
        n = encoded_length(code_point)
        position -= n
        trailing += n if unit == UNIT_BYTE else 1
    first = starts[token]
    last = ends[token]
    if n_leading != 1 or not keep_one:
        first = min(first + leading, last)
    if last >= trailing:
        last = max(last - trailing, first)
    starts[token] = first
    ends[token] = last
