r"""What the window scanners share: algebra on masks of 64 bytes, and from a mask of token starts to spans.

Bit ``i`` of a mask stands for byte ``position + i`` of the window; a character beyond ASCII has all its bytes in the
mask of its class. ``X << 1`` reads "the byte before is X". Runs are found by carries: ``run + first`` has a bit right
after each run of ``run`` that begins with a bit of ``first``.

Twin: ``numba_nlp.reference.segment.window_spans``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.kernels.bit_places import put_bounds
from numba_nlp.kernels.words import (
    ALL_ONES,
    add,
    leading_zeros,
    popcount,
    shift_left,
)

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
#: The last byte of a window.
TOP = np.uint64(1 << 63)
#: Starts of tokens at bits below do not depend on bytes past the window, save for blanks after a line end, see
#: :func:`white_starts`. A start that the window cannot see yet, with none above it, does no harm: the next window
#: begins below it. One that is seen wrongly does, such as that of a letter whose apostrophe is in the window and whose
#: contraction is not.
TRUSTED = 63


@inlined
def lowest_cleared(mask):
    """``mask`` without its lowest bit; zero stays zero.

    Parameters
    ----------
    mask : uint64

    Returns
    -------
    uint64
    """
    return mask & add(mask, ALL_ONES)


@inlined
def fill_runs(seeds, runs):
    """Bits of ``runs`` from each bit of ``seeds`` up to the end of its run.

    Parameters
    ----------
    seeds, runs : uint64
        ``seeds`` lies in ``runs``.

    Returns
    -------
    uint64
    """
    return (add(runs, seeds) ^ runs | seeds) & runs


@inlined
def number_starts(number, further, most):
    r"""Starts of the tokens of ``\p{N}{1,3}`` or ``\p{N}``.

    Parameters
    ----------
    number, further : uint64
        Numbers, of one byte each where ``most`` is 3; further bytes of characters beyond ASCII.
    most : int64
        3 or 1.

    Returns
    -------
    uint64
    """
    if most == 1:
        return number & ~further
    starts = number & ~(number << ONE)
    inside = number & (number << ONE) & (number << TWO)
    third = (starts << THREE) & inside
    while third != ZERO:
        starts |= third
        third = (third << THREE) & inside
    return starts


@inlined
def white_starts(blank, newline, taken, visible, leads, further, end_bit):
    r"""Starts of the tokens of ``\s*[\r\n]+|\s+(?!\S)|\s+``.

    A run of white space (after what a token before has taken of it) starts a token at its first character, after its
    last line end, and at its last blank when something follows.

    Parameters
    ----------
    blank, newline : uint64
        White space other than CR and LF; CR and LF.
    taken : uint64
        Bytes, line ends among them, that belong to the token before them; what stands after them starts a token.
    visible : uint64
        Bytes of the text that are no white space.
    leads, further : uint64
        First and further bytes of characters beyond ASCII.
    end_bit : uint64
        The bit after the text when blanks there do not start a token after a line end (``\s+$``), else 0.

    Returns
    -------
    starts, trusted : uint64, int64
        Bits from ``trusted`` on are not known: blanks after a line end reach the end of the window.
    """
    white = blank | newline
    after_taken = blank & (taken << ONE)
    starts = (white & ~(white << ONE) & ~taken) | after_taken
    # the last character of a run; bits of further bytes move to the first
    last = blank & (visible >> ONE)
    moved = last & further
    starts |= (last & ~further) | ((moved >> ONE | moved >> TWO) & leads)
    # blanks after a line end start a token unless a line end follows them
    gaps = blank & (newline << ONE) & ~after_taken
    filled = add(blank, gaps)
    closed = filled & ~blank & (newline | end_bit)
    cut_off = blank & ~filled & TOP
    trusted = np.int64(64)
    if (closed | cut_off) != ZERO:
        if cut_off != ZERO:
            trusted = 63 - leading_zeros(gaps)
        while closed != ZERO:
            after = lowest_cleared(closed)
            before = gaps & add(closed ^ after, ALL_ONES)
            gaps ^= shift_left(ONE, 63 - leading_zeros(before))
            closed = after
    return starts | gaps, trusted


@inlined
def append_spans(token, whole, position, stop, starts, ends, n):
    """Append the tokens of a window; one begins at ``position``.

    Parameters
    ----------
    token : uint64
        Bit ``i`` says that a token starts at ``position + i``, bit 0 left out.
    whole : bool
        Whether the text ends in the window, so that its last token can be taken too; ``token`` may not be zero
        otherwise.
    position, stop : int64
        Start of the window, end of the text.
    starts, ends : int64[n + 73]
        Written from ``n`` on; elements behind the last span are written as well.
    n : int64
        Spans there are.

    Returns
    -------
    n, position : int64, int64
        Spans there are now, and the start of the first token that was not taken.
    """
    starts[n] = position
    put_bounds(starts, ends, n, position, token)
    n += popcount(token)
    if whole:
        ends[n] = stop
        return n + 1, stop
    return n, position + 63 - leading_zeros(token)
