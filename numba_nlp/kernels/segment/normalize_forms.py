"""The four Unicode normal forms, with alignment.

Text is left as it is up to the first character that may change, and again from the next one that can not: a character
is *settled* in a form when it is a starter, stays what it is, and composes with nothing before it. Between two settled
characters the text is decomposed, put into canonical order and, for the composed forms, composed again, together with
the settled character before it. So text in its normal form, and ASCII, is scanned but not touched.

Each decomposed character remembers whether it takes the place of one (0) or was added (1), and keeps that through
reordering; a composed character has the sum of its parts' numbers minus 1, so -2 says that it takes the places of
three. Ranges are then given out in the order of the *result*, which is what the reference does: after reordering, a
mark may have the range of the mark that it traded places with.

Twin: ``numba_nlp.reference.segment.normalize_forms``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import code_point_at, code_point_before, encoded_length
from numba_nlp.kernels.segment.normalize_text import UNCHANGED, copy_aligned, put_character

__all__ = ["NFC", "NFD", "NFKC", "NFKD", "FormScratch", "FormTables", "new_form_scratch", "normal_form"]

NFD = 0
NFKD = 1
NFC = 2
NFKC = 3

#: Most characters that one decomposes to (U+FDFA).
MAX_PARTS = 18
#: Runs of marks up to this long are sorted by insertion.
_SHORT_RUN = 16

_HANGUL = 0xAC00
_HANGUL_END = 0xD7A4
_LEADS = 0x1100
_VOWELS = 0x1161
_TAILS = 0x11A7  # one before the first: number 0 is no tail
_N_LEADS = 19
_N_VOWELS = 21
_N_TAILS = 28


class FormTables(NamedTuple):
    """What becomes of every character; Hangul syllables are computed.

    Attributes
    ----------
    pages, blocks : uint16[0x110000 >> 7], uint16[blocks * 128]
        Two-stage table: code point -> entry; 0 for characters that are settled in all forms.
    flags : uint8[entries]
        Bit ``1 << form``: not settled in that form.
    classes : uint8[entries]
        Canonical combining class.
    offsets : int32[2 * entries + 1]
        ``parts[offsets[e]:offsets[e + 1]]`` is the full canonical decomposition of the characters of entry ``e``, at
        ``e + entries`` stands the compatibility one; empty where there is none.
    parts : int32[m]
        Code points.
    pairs, composed : int64[p], int32[p]
        ``first << 21 | second`` of what composes, rising, and the result.
    """

    pages: NDArray[np.uint16]
    blocks: NDArray[np.uint16]
    flags: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    parts: NDArray[np.int32]
    pairs: NDArray[np.int64]
    composed: NDArray[np.int32]


class FormScratch(NamedTuple):
    """Memory for the longest stretch without a settled character.

    Attributes
    ----------
    code_points, classes, changes : int32[n], uint8[n], int32[n]
        The decomposed characters.
    sorted_code_points, sorted_changes : int32[n], int32[n]
    counts : int32[257]
    """

    code_points: NDArray[np.int32]
    classes: NDArray[np.uint8]
    changes: NDArray[np.int32]
    sorted_code_points: NDArray[np.int32]
    sorted_changes: NDArray[np.int32]
    counts: NDArray[np.int32]


def new_form_scratch(capacity: int) -> FormScratch:
    """Memory for stretches that decompose to at most ``capacity`` less ``MAX_PARTS`` characters."""
    n = max(capacity, MAX_PARTS + 1)
    return FormScratch(
        np.empty(n, np.int32), np.empty(n, np.uint8), np.empty(n, np.int32), np.empty(n, np.int32),
        np.empty(n, np.int32), np.zeros(257, np.int32),
    )  # fmt: skip


@kernel
def normal_form(tables, form, source, start, stop, scratch, target, at):
    """Bring a text into a normal form.

    Parameters
    ----------
    tables : FormTables
    form : int64
        ``NFD``, ``NFKD``, ``NFC`` or ``NFKC``.
    source : Aligned
    start, stop : int64
        The text in ``source``, valid UTF-8.
    scratch : FormScratch
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL`` when ``target`` or ``scratch`` has
        no room for the result.

    Notes
    -----
    O(stop - start): long runs of marks are sorted by counting.
    """
    text = source.text
    pages, blocks, flags = tables.pages, tables.blocks, tables.flags
    unsettled = _next_unsettled(pages, blocks, flags, form, text, start, stop)
    if unsettled == stop:
        return np.int64(UNCHANGED)
    copied = start
    while unsettled < stop:
        begin = unsettled
        if begin > copied:
            begin -= encoded_length(code_point_before(text, begin))
        at = copy_aligned(source, copied, begin, target, at)
        if at < 0:
            return at
        count = np.int64(0)
        end = begin
        while end < stop:
            code_point = code_point_at(text, end)
            if end > unsettled and not _is_unsettled(pages, blocks, flags, form, code_point):
                break
            if count + MAX_PARTS > scratch.code_points.size:
                return np.int64(STATUS_OUTPUT_FULL)
            count = _decompose(tables, form, code_point, scratch, count)
            end += encoded_length(code_point)
        _put_in_order(scratch, count)
        if form >= NFC:
            count = _compose(tables, scratch, count)
        if at + 4 * count > target.text.size:
            return np.int64(STATUS_OUTPUT_FULL)
        at = _write(source, start, begin, scratch.code_points, scratch.changes, count, target, at)
        copied = end
        unsettled = _next_unsettled(pages, blocks, flags, form, text, end, stop)
    return copy_aligned(source, copied, stop, target, at)


@kernel
def _entry(pages, blocks, code_point):
    return np.int64(blocks[np.int64(pages[code_point >> 7]) << 7 | code_point & 127])


@kernel
def _is_unsettled(pages, blocks, flags, form, code_point):
    return (np.int64(flags[_entry(pages, blocks, code_point)]) >> form) & 1 != 0


@kernel
def _next_unsettled(pages, blocks, flags, form, text, position, stop):
    """Place of the first character that is not settled, or ``stop``; ASCII is settled in all forms."""
    while position < stop:
        if text[position] < 0x80:
            position += 1
            continue
        code_point = code_point_at(text, position)
        if _is_unsettled(pages, blocks, flags, form, code_point):
            return position
        position += encoded_length(code_point)
    return stop


@kernel
def _decompose(tables, form, code_point, scratch, count):
    """Write the decomposition of a character from ``count`` on; returns the new count."""
    code_points, classes, changes = scratch.code_points, scratch.classes, scratch.changes
    pages, blocks = tables.pages, tables.blocks
    if _HANGUL <= code_point < _HANGUL_END:
        number = code_point - _HANGUL
        code_points[count] = _LEADS + number // (_N_VOWELS * _N_TAILS)
        code_points[count + 1] = _VOWELS + number // _N_TAILS % _N_VOWELS
        code_points[count + 2] = _TAILS + number % _N_TAILS
        for k in range(3):
            classes[count + k] = 0
            changes[count + k] = np.int64(k > 0)
        return count + (2 if number % _N_TAILS == 0 else 3)
    entry = _entry(pages, blocks, code_point)
    place = entry + (tables.flags.size if form & 1 else 0)  # NFKD and NFKC are odd
    first, last = np.int64(tables.offsets[place]), np.int64(tables.offsets[place + 1])
    if first == last:
        code_points[count] = code_point
        classes[count] = tables.classes[entry]
        changes[count] = 0
        return count + 1
    for k in range(last - first):
        part = np.int64(tables.parts[first + k])
        code_points[count + k] = part
        classes[count + k] = tables.classes[_entry(pages, blocks, part)]
        changes[count + k] = np.int64(k > 0)
    return count + last - first


@kernel
def _put_in_order(scratch, count):
    """Sort every run of characters with a combining class by it, stably."""
    classes = scratch.classes
    i = np.int64(0)
    while i < count:
        if classes[i] == 0:
            i += 1
            continue
        first = i
        while i < count and classes[i] != 0:
            i += 1
        if i - first <= _SHORT_RUN:
            _sort_by_insertion(scratch.code_points, classes, scratch.changes, first, i)
        else:
            _sort_by_counting(scratch, first, i)


@kernel
def _sort_by_insertion(code_points, classes, changes, first, last):
    for i in range(first + 1, last):
        code_point, own, change = code_points[i], classes[i], changes[i]
        k = i
        while k > first and classes[k - 1] > own:
            code_points[k] = code_points[k - 1]
            classes[k] = classes[k - 1]
            changes[k] = changes[k - 1]
            k -= 1
        code_points[k] = code_point
        classes[k] = own
        changes[k] = change


@kernel
def _sort_by_counting(scratch, first, last):
    code_points, classes, changes, counts = scratch.code_points, scratch.classes, scratch.changes, scratch.counts
    counts[:] = 0
    for i in range(first, last):
        counts[np.int64(classes[i]) + 1] += 1
    for k in range(256):
        counts[k + 1] += counts[k]
    for i in range(first, last):
        own = np.int64(classes[i])
        place = first + counts[own]
        counts[own] += 1
        scratch.sorted_code_points[place] = code_points[i]
        scratch.sorted_changes[place] = changes[i]
    for i in range(first, last):
        code_points[i] = scratch.sorted_code_points[i]
        changes[i] = scratch.sorted_changes[i]
    # counts[k] is now where the characters of class k end
    place = first
    for k in range(256):
        while place < first + counts[k]:
            classes[place] = k
            place += 1


@kernel
def _compose(tables, scratch, count):
    """Compose every character with the last starter before it, unless one between blocks it; returns the new count."""
    code_points, classes, changes = scratch.code_points, scratch.classes, scratch.changes
    starter = np.int64(-1)
    last_class = np.int64(-1)  # of what was kept behind the starter; -1 for nothing
    kept = np.int64(0)
    for i in range(count):
        code_point, own = np.int64(code_points[i]), np.int64(classes[i])
        if starter >= 0 and last_class < own:
            composed = _composed(tables.pairs, tables.composed, np.int64(code_points[starter]), code_point)
            if composed >= 0:
                code_points[starter] = composed
                changes[starter] += changes[i] - 1
                continue
        if own == 0:
            starter = kept
            last_class = np.int64(-1)
        else:
            last_class = own
        code_points[kept] = code_point
        classes[kept] = own
        changes[kept] = changes[i]
        kept += 1
    return kept


@kernel
def _composed(pairs, composed, first, second):
    """What two characters compose to, or -1."""
    if _LEADS <= first < _LEADS + _N_LEADS and _VOWELS <= second < _VOWELS + _N_VOWELS:
        return _HANGUL + ((first - _LEADS) * _N_VOWELS + second - _VOWELS) * _N_TAILS
    if _HANGUL <= first < _HANGUL_END and _TAILS < second < _TAILS + _N_TAILS and (first - _HANGUL) % _N_TAILS == 0:
        return first + second - _TAILS
    wanted = first << 21 | second
    low, high = np.int64(0), np.int64(pairs.size)
    while low < high:
        middle = (low + high) >> 1
        if pairs[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < pairs.size and pairs[low] == wanted:
        return np.int64(composed[low])
    return np.int64(-1)


@kernel
def _write(source, start, position, code_points, changes, count, target, at):
    """Write the characters of a stretch that began at ``position``; gives out ranges by their changes."""
    aligned = target.starts.size > 0
    from_start = np.int64(0)
    from_end = np.int64(0)
    for i in range(count):
        if aligned:
            change = np.int64(changes[i])
            if change <= 0:
                from_start, from_end = np.int64(source.starts[position]), np.int64(source.ends[position])
                for _ in range(1 - change):
                    position += encoded_length(code_point_at(source.text, position))
            elif position > start:
                from_start, from_end = np.int64(source.starts[position - 1]), np.int64(source.ends[position - 1])
            else:
                from_start, from_end = np.int64(0), np.int64(0)
        at = put_character(np.int64(code_points[i]), from_start, from_end, target, at)
    return at
