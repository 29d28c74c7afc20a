"""Normalisation as SentencePiece does it: a precompiled charsmap, and its handling of white space.

The text is gone through from left to right. At each place the longest user-defined symbol stands as it is; else the
longest key of the charsmap is replaced; else one character is copied. Then, depending on the model's flags, spaces at
the ends and repeated ones are left out, one is put before or behind the text, and each is written as U+2581.

Nearly all text is ASCII on which no rule acts by itself, although most letters begin rules (``e`` and U+0301 compose).
So each run of ASCII bytes goes through a loop of table look-ups without a branch, except its last byte where another
byte follows. Where a rule begins with two ASCII bytes, its first byte is left to the general case.

The algorithm is that of ``sentencepiece::normalizer::Normalizer`` (sentencepiece 0.2.3), for valid UTF-8.

Twin: ``numba_nlp.reference.segment.normalize_charsmap``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.normalizer_tables import (
    ADD_DUMMY_PREFIX,
    ESCAPE_WHITESPACES,
    GENERAL,
    MARK,
    REMOVE_EXTRA_WHITESPACES,
    SPACE,
    WHITESPACE_AS_SUFFIX,
)
from numba_nlp.kernels.tables.darts import longest_match
from numba_nlp.kernels.words import raw_load64

__all__ = ["ROW_ENDS", "ROW_STARTS", "WHOLE_ROW", "normalize", "normalize_rows", "normalized_room"]

# Which ends of a row a stretch of text has.
ROW_STARTS = 1
ROW_ENDS = 2
WHOLE_ROW = ROW_STARTS | ROW_ENDS

#: As in the reference: how many matching keys are looked at, of the charsmap and of the symbols.
MOST_KEYS = 32
MOST_SYMBOLS = 64

#: Bytes that :func:`normalize` may write beyond its result.
_SLACK = 8
_HIGH_BITS = np.uint64(0x8080808080808080)


@kernel
def normalized_room(tables, n):
    """Room in bytes that :func:`normalize` needs at most.

    Parameters
    ----------
    tables : NormalizerTables
    n : int64
        Bytes of text.

    Returns
    -------
    int64
        A bound that holds for every text of ``n`` bytes. Rules as those of NFKC reach it with rare characters only
        (U+FDFA: 13 bytes for one), so ``3 * n + 16`` does for nearly all text, and :func:`normalize` says when not.
    """
    return n * tables.settings[1] + 3 + _SLACK


@inlined
def _next_part(tables, data, position, stop):
    """What stands at a place: a symbol or a character of ``data``, or a replacement in ``tables.strings``.

    Returns whether it is a replacement, where it begins and ends in its array, and how many bytes of ``data`` it takes.
    """
    byte = np.int64(data[position])
    if tables.symbol_units.size:
        length, value = longest_match(tables.symbol_units, data, position, stop, MOST_SYMBOLS)
        if length:
            return False, position, position + length, length
    if tables.units.size:
        length, value = longest_match(tables.units, data, position, stop, MOST_KEYS)
        if length:
            end = value
            while tables.strings[end] != 0:
                end += 1
            return True, value, end, length
    if byte < 0x80:
        length = np.int64(1)
    elif byte < 0xE0:
        length = np.int64(2)
    elif byte < 0xF0:
        length = np.int64(3)
    else:
        length = np.int64(4)
    return False, position, position + length, length


@inlined
def _put(source, begin, end, origin, origin_end, escape, n, text, from_starts, from_ends):
    """Copy ``source[begin:end]`` to ``text[n:]``, spaces as U+2581 when ``escape``; the new end, or a status."""
    if n + 3 * (end - begin) > text.size:
        room = text.size - n - (end - begin)
        if escape:
            for i in range(begin, end):
                if source[i] == SPACE:
                    room -= 2
        if room < 0:
            return np.int64(STATUS_OUTPUT_FULL)
    first = n
    for i in range(begin, end):
        if escape and source[i] == SPACE:
            text[n] = MARK[0]
            text[n + 1] = MARK[1]
            text[n + 2] = MARK[2]
            n += 3
        else:
            text[n] = source[i]
            n += 1
    if from_starts.size:
        for i in range(first, n):
            from_starts[i] = origin
            from_ends[i] = origin_end
    return np.int64(n)


@inlined
def _put_space(origin, escape, n, text, from_starts, from_ends):
    """Write a space that stands for no text; the new end, or a status."""
    width = 3 if escape else 1
    if n + width > text.size:
        return np.int64(STATUS_OUTPUT_FULL)
    for i in range(width):
        text[n + i] = MARK[i] if escape else SPACE
    if from_starts.size:
        for i in range(width):
            from_starts[n + i] = origin
            from_ends[n + i] = origin
    return np.int64(n + width)


@inlined
def _ascii_stop(data, position, stop):
    """End of the run of ASCII bytes that begins at ``position``."""
    while position + 8 <= stop and raw_load64(data, position) & _HIGH_BITS == np.uint64(0):
        position += 8
    while position < stop and data[position] < 0x80:
        position += 1
    return position


@kernel
def normalize(tables, data, start, stop, edges, text, from_starts, from_ends):
    """Normalise ``data[start:stop]``, a row or a stretch of one.

    Parameters
    ----------
    tables : NormalizerTables
    data : uint8[n]
        Valid UTF-8, cut between characters.
    start, stop : int64
        ``0 <= start <= stop <= n``.
    edges : int64
        ``ROW_STARTS | ROW_ENDS``: which ends of the row the stretch has. Only there are spaces left out and is one
        added. A row may be cut into stretches before a space when the byte before is solid
        (``vocab_tools.compiler.charsmap.summarize``).
    text : uint8[room]
        Written, ``room >= normalized_room(tables, stop - start)`` is always enough. Bytes behind the result may be
        overwritten.
    from_starts, from_ends : int32[room]
        Written: for each byte of the result the range of bytes, relative to ``start``, of the character or rule that
        it came from. A space that was added has an empty range: at the first character that stayed, or behind the
        last one. Spaces that were left out are in no range. Of length 0: not wanted.

    Returns
    -------
    int64
        Bytes of the result, or ``STATUS_OUTPUT_FULL``.

    Notes
    -----
    O(stop - start) apart from the length of the longest key. sentencepiece's own alignment of a byte is
    ``from_starts`` of it; the last element of its list is the end of the text or of what stayed of it.
    """
    flags = tables.settings[0]
    escape = flags & ESCAPE_WHITESPACES != 0
    remove = flags & REMOVE_EXTRA_WHITESPACES != 0
    position = np.int64(start)
    if remove and edges & ROW_STARTS != 0:
        while position < stop:
            is_rule, begin, end, length = _next_part(tables, data, position, stop)
            if end - begin != 1 or (tables.strings[begin] if is_rule else data[begin]) != SPACE:
                break
            position += length
    if position == stop:
        return np.int64(0)

    n = np.int64(0)
    adds = flags & ADD_DUMMY_PREFIX != 0
    if adds and flags & WHITESPACE_AS_SUFFIX == 0 and edges & ROW_STARTS != 0:
        n = _put_space(position - start, escape, n, text, from_starts, from_ends)
        if n < 0:
            return n
    # 256 when a space precedes that takes in the following ones, else 0.
    after = np.int64(256 if remove and edges & ROW_STARTS != 0 else 0)
    ascii_stop = position
    while position < stop:
        if position >= ascii_stop and data[position] < 0x80:
            ascii_stop = _ascii_stop(data, position, stop)
        # The last ASCII byte may begin a rule together with what follows.
        fast_stop = min(ascii_stop if ascii_stop == stop else ascii_stop - 1, position + (text.size - n) // 4)
        if from_starts.size:
            position, n, after = _run_aligned(
                tables, data, position, fast_stop, start, n, after, text, from_starts, from_ends
            )
        else:
            position, n, after = _run(tables, data, position, fast_stop, n, after, text)
        if position == stop:
            break
        is_rule, begin, end, length = _next_part(tables, data, position, stop)
        origin = position - start
        if is_rule:
            while after != 0 and begin < end and tables.strings[begin] == SPACE:
                begin += 1
            if begin < end:
                after = np.int64(256 if remove and tables.strings[end - 1] == SPACE else 0)
                n = _put(tables.strings, begin, end, origin, origin + length, escape, n, text, from_starts, from_ends)
        else:
            while after != 0 and begin < end and data[begin] == SPACE:
                begin += 1
            if begin < end:
                after = np.int64(256 if remove and data[end - 1] == SPACE else 0)
                n = _put(data, begin, end, origin, origin + length, escape, n, text, from_starts, from_ends)
        if n < 0:
            return n
        position += length

    behind = position - start
    if remove and edges & ROW_ENDS != 0:
        kept = _without_trailing(text, n, escape)
        if kept != n and from_starts.size:
            behind = np.int64(from_starts[kept])
        n = kept
    if adds and flags & WHITESPACE_AS_SUFFIX != 0 and edges & ROW_ENDS != 0:
        n = _put_space(behind, escape, n, text, from_starts, from_ends)
    return n


@inlined
def _run(tables, data, position, stop, n, after, text):
    """Go through ASCII bytes up to one for the general case; no branch depends on the text but the one that ends it.

    Each byte writes four bytes and moves on by those that count.
    """
    place = np.uint64(n)
    while position < stop:
        byte = np.int64(data[position])
        step = tables.steps[after | byte]
        if step == GENERAL:
            break
        word = tables.words[byte]
        text[place] = word & np.uint32(0xFF)
        text[place + np.uint64(1)] = (word >> np.uint32(8)) & np.uint32(0xFF)
        text[place + np.uint64(2)] = (word >> np.uint32(16)) & np.uint32(0xFF)
        text[place + np.uint64(3)] = word >> np.uint32(24)
        place += np.uint64(step)
        after = tables.after[byte]
        position += 1
    return position, np.int64(place), after


@inlined
def _run_aligned(tables, data, position, stop, start, n, after, text, from_starts, from_ends):
    """As :func:`_run`, with the alignment."""
    while position < stop:
        byte = np.int64(data[position])
        step = np.int64(tables.steps[after | byte])
        if step == GENERAL:
            break
        word = tables.words[byte]
        for i in range(3):
            text[n + i] = (word >> np.uint32(8 * i)) & np.uint32(0xFF)
            from_starts[n + i] = position - start
            from_ends[n + i] = position - start + 1
        n += step
        after = tables.after[byte]
        position += 1
    return position, n, after


@inlined
def _without_trailing(text, n, escape):
    """Length without the spaces at the end."""
    if escape:
        while n >= 3 and text[n - 3] == MARK[0] and text[n - 2] == MARK[1] and text[n - 1] == MARK[2]:
            n -= 3
    else:
        while n >= 1 and text[n - 1] == SPACE:
            n -= 1
    return n


@kernel
def normalize_rows(tables, data, starts, ends, text, offsets):
    """Normalise whole rows, one behind the other.

    Parameters
    ----------
    tables : NormalizerTables
    data : uint8[n]
        Valid UTF-8.
    starts, ends : int64[rows]
        Row ``r`` is ``data[starts[r]:ends[r]]``.
    text : uint8[room]
        Written; the sum of :func:`normalized_room` of the rows is always enough.
    offsets : int64[rows + 1]
        Written, from 0: normalised row ``r`` is ``text[offsets[r]:offsets[r + 1]]``.

    Returns
    -------
    int64
        Number of written bytes, or ``STATUS_OUTPUT_FULL``.
    """
    position = np.int64(0)
    offsets[0] = 0
    no_alignment = offsets[:0].view(np.int32)
    for row in range(starts.size):
        n = normalize(tables, data, starts[row], ends[row], WHOLE_ROW, text[position:], no_alignment, no_alignment)
        if n < 0:
            return n
        position += n
        offsets[row + 1] = position
    return position
