"""Normalizers that strip, prepend, replace, or spell bytes, with alignment.

Twin: ``numba_nlp.reference.segment.normalize_edits``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import (
    code_point_at,
    code_point_before,
    encoded_length,
    is_white_space,
)
from numba_nlp.kernels.segment.normalize_text import UNCHANGED, copy_aligned, put_character

__all__ = [
    "ANY_WHITE_SPACE",
    "prepend",
    "put_content",
    "replace_matches",
    "replace_runs",
    "replace_string",
    "spell_bytes",
    "spelled",
    "strip",
]

#: Stands for every character with the property White_Space in :func:`replace_runs`.
ANY_WHITE_SPACE = -1


@kernel
def strip(left, right, source, start, stop, target, at):
    """Take white space off the ends.

    Parameters
    ----------
    left, right : int64
        Which ends, 0 or 1 each.
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
    first, last = start, stop
    while left != 0 and first < last:
        code_point = code_point_at(source.text, first)
        if not is_white_space(code_point):
            break
        first += encoded_length(code_point)
    while right != 0 and last > first:
        code_point = code_point_before(source.text, last)
        if not is_white_space(code_point):
            break
        last -= encoded_length(code_point)
    if first == start and last == stop:
        return np.int64(UNCHANGED)
    return copy_aligned(source, first, last, target, at)


@kernel
def prepend(content, source, start, stop, target, at):
    """Put something before a text that is not empty; it has the range of the text's first character.

    Parameters
    ----------
    content : uint8[k]
        Valid UTF-8.
    source : Aligned
    start, stop : int64
        The text in ``source``.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL``.
    """
    if start == stop or content.size == 0:
        return np.int64(UNCHANGED)
    at = put_content(content, source, start, start + 1, target, at)
    return at if at < 0 else copy_aligned(source, start, stop, target, at)


@kernel
def put_content(content, source, start, behind, target, at):
    """Write bytes with the range of the byte before ``behind``, or with 0, 0 where there is none.

    Parameters
    ----------
    content : uint8[k]
    source : Aligned
    start, behind : int64
        Beginning of the text in ``source``, and a place in it.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written, or ``STATUS_OUTPUT_FULL``.
    """
    n = content.size
    if at + n > target.text.size:
        return np.int64(STATUS_OUTPUT_FULL)
    for k in range(n):
        target.text[at + k] = content[k]
    if target.starts.size > 0:
        from_start = source.starts[behind - 1] if behind > start else np.int32(0)
        from_end = source.ends[behind - 1] if behind > start else np.int32(0)
        for k in range(n):
            target.starts[at + k] = from_start
            target.ends[at + k] = from_end
    return np.int64(at + n)


@kernel
def replace_string(pattern, content, source, start, stop, target, at):
    """Replace every occurrence of a string, from the left, none overlapping another.

    Parameters
    ----------
    pattern, content : uint8[m], uint8[k]
        Valid UTF-8; ``pattern`` is not empty.
    source : Aligned
    start, stop : int64
        The text in ``source``.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL``.
    """
    text, n = source.text, pattern.size
    copied = start
    position = start
    changed = False
    while position + n <= stop:
        if text[position] != pattern[0]:
            position += 1
            continue
        k = 1
        while k < n and text[position + k] == pattern[k]:
            k += 1
        if k < n:
            position += 1
            continue
        changed = True
        at = copy_aligned(source, copied, position, target, at)
        if at < 0:
            return at
        position += n
        at = put_content(content, source, start, position, target, at)
        if at < 0:
            return at
        copied = position
    if not changed:
        return np.int64(UNCHANGED)
    return copy_aligned(source, copied, stop, target, at)


@kernel
def replace_runs(member, least, content, source, start, stop, target, at):
    """Replace every run of one character, or of white space.

    Parameters
    ----------
    member : int64
        A code point, or ``ANY_WHITE_SPACE``.
    least : int64
        Shorter runs stay.
    content : uint8[k]
        Valid UTF-8.
    source : Aligned
    start, stop : int64
        The text in ``source``.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL``.
    """
    text = source.text
    copied = start
    position = start
    changed = False
    while position < stop:
        first = position
        count = np.int64(0)
        while position < stop:
            code_point = code_point_at(text, position)
            if code_point != member and not (member == ANY_WHITE_SPACE and is_white_space(code_point)):
                break
            count += 1
            position += encoded_length(code_point)
        if count == 0:
            position += encoded_length(code_point_at(text, position))
        elif count >= least:
            changed = True
            at = copy_aligned(source, copied, first, target, at)
            if at < 0:
                return at
            at = put_content(content, source, start, position, target, at)
            if at < 0:
                return at
            copied = position
    if not changed:
        return np.int64(UNCHANGED)
    return copy_aligned(source, copied, stop, target, at)


@kernel
def replace_matches(match_starts, match_ends, content, source, start, stop, target, at):
    """Replace stretches that somebody else found (a regular expression).

    Parameters
    ----------
    match_starts, match_ends : int64[m], int64[m]
        Byte ranges, counted from ``start``, none empty, rising, apart.
    content : uint8[k]
        Valid UTF-8.
    source : Aligned
    start, stop : int64
        The text in ``source``.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL``.
    """
    if match_starts.size == 0:
        return np.int64(UNCHANGED)
    copied = start
    for k in range(match_starts.size):
        at = copy_aligned(source, copied, start + match_starts[k], target, at)
        if at < 0:
            return at
        copied = start + match_ends[k]
        at = put_content(content, source, start, copied, target, at)
        if at < 0:
            return at
    return copy_aligned(source, copied, stop, target, at)


@kernel
def spell_bytes(source, start, stop, target, at):
    """Write every byte as the character that stands for it in GPT-2's byte alphabet.

    Parameters
    ----------
    source : Aligned
    start, stop : int64
        The text in ``source``.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED`` for an empty text; or ``STATUS_OUTPUT_FULL``.
    """
    if start == stop:
        return np.int64(UNCHANGED)
    aligned = target.starts.size > 0
    for position in range(start, stop):
        if at + 4 > target.text.size:
            return np.int64(STATUS_OUTPUT_FULL)
        from_start = source.starts[position] if aligned else np.int32(0)
        from_end = source.ends[position] if aligned else np.int32(0)
        at = put_character(spelled(np.int64(source.text[position])), from_start, from_end, target, at)
    return np.int64(at)


@kernel
def spelled(byte):
    """Code point that stands for a byte: itself where it is printable Latin-1, else the next free one from U+0100 on.

    Parameters
    ----------
    byte : int64

    Returns
    -------
    int64
    """
    if byte <= 0x20:
        return 0x100 + byte
    if 0x7F <= byte <= 0xA0:
        return 0x121 + byte - 0x7F
    return 0x143 if byte == 0xAD else byte
