"""Text with its alignment: what normalizers read and write.

A normalizer works from buffer to buffer, so that normalizers can be put one behind the other. Every byte of a text
carries the half-open byte range of the original row that it came from (all bytes of a character the same); the rules
are those of the reference (tokenizers' ``NormalizedString``):

- a character that takes the place of another has the range of that other; where it takes the place of several
  (composition, a match that is replaced), the range of the first one, as far as normal forms and maps go;
- a character that is added (the further ones of a decomposition, the content of a replacement) has the range of the
  character before it, which is the last one of what was replaced; at the very start it has the range 0, 0;
- a character that is left out takes its range with it.

Twin: ``numba_nlp.reference.segment.normalize_text``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length

__all__ = ["UNCHANGED", "Aligned", "copy_aligned", "load_aligned", "new_aligned", "put_character"]

#: What a normalizer returns, having written nothing, when the text is as it would leave it.
UNCHANGED = -100


class Aligned(NamedTuple):
    """A buffer of text with its alignment.

    Attributes
    ----------
    text : uint8[room]
    starts, ends : int32[room] or int32[0]
        Range of each byte in the original row; empty when nobody asks for it.
    """

    text: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]


def new_aligned(room: int, aligned: bool) -> Aligned:
    """A buffer of ``room`` bytes; without ``aligned`` it keeps no ranges."""
    places = room if aligned else 0
    return Aligned(np.empty(room, np.uint8), np.empty(places, np.int32), np.empty(places, np.int32))


@kernel
def copy_aligned(source, start, stop, target, at):
    """Copy part of a text with its ranges.

    Parameters
    ----------
    source : Aligned
    start, stop : int64
        Bytes of ``source``.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written, or ``STATUS_OUTPUT_FULL``.
    """
    n = stop - start
    if at + n > target.text.size:
        return np.int64(STATUS_OUTPUT_FULL)
    for i in range(n):
        target.text[at + i] = source.text[start + i]
    if target.starts.size > 0:
        for i in range(n):
            target.starts[at + i] = source.starts[start + i]
            target.ends[at + i] = source.ends[start + i]
    return np.int64(at + n)


@kernel
def load_aligned(data, start, stop, target, at):
    """Copy a raw row: every character comes from itself.

    Parameters
    ----------
    data : uint8[n]
        Valid UTF-8.
    start, stop : int64
        The row.
    target : Aligned
        Written from ``at`` on; ranges count from ``start``.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written, or ``STATUS_OUTPUT_FULL``.
    """
    n = stop - start
    if at + n > target.text.size:
        return np.int64(STATUS_OUTPUT_FULL)
    for i in range(n):
        target.text[at + i] = data[start + i]
    if target.starts.size > 0:
        i = np.int64(0)
        while i < n:
            length = encoded_length(code_point_at(data, start + i))
            for k in range(i, i + length):
                target.starts[at + k] = i
                target.ends[at + k] = i + length
            i += length
    return np.int64(at + n)


@kernel
def put_character(code_point, from_start, from_end, target, at):
    """Write one character.

    Parameters
    ----------
    code_point : int64
    from_start, from_end : int64
        Its range, of which nothing is kept when ``target`` has no ranges.
    target : Aligned
        Written from ``at`` on; has room for four bytes there.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written.
    """
    text = target.text
    if code_point < 0x80:
        text[at] = code_point
        end = at + 1
    elif code_point < 0x800:
        text[at] = 0xC0 | code_point >> 6
        text[at + 1] = 0x80 | code_point & 0x3F
        end = at + 2
    elif code_point < 0x10000:
        text[at] = 0xE0 | code_point >> 12
        text[at + 1] = 0x80 | code_point >> 6 & 0x3F
        text[at + 2] = 0x80 | code_point & 0x3F
        end = at + 3
    else:
        text[at] = 0xF0 | code_point >> 18
        text[at + 1] = 0x80 | code_point >> 12 & 0x3F
        text[at + 2] = 0x80 | code_point >> 6 & 0x3F
        text[at + 3] = 0x80 | code_point & 0x3F
        end = at + 4
    if target.starts.size > 0:
        for k in range(at, end):
            target.starts[k] = from_start
            target.ends[k] = from_end
    return end
