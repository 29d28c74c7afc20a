"""What the window scanners share: from a mask of token starts in a window of 64 bytes to spans."""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.kernels.words import leading_zeros, poke, popcount, trailing_zeros

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
#: The last byte of a window.
TOP = np.uint64(1 << 63)


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
        Written from ``n`` on; up to eight elements behind the last span are written as well.
    n : int64
        Spans there are.

    Returns
    -------
    n, position : int64, int64
        Spans there are now, and the start of the first token that was not taken.
    """
    starts[n] = position
    at = n
    rest = token
    while True:
        for k in range(8):
            bound = position + trailing_zeros(rest)
            poke(ends, at + k, bound)
            poke(starts, at + k + 1, bound)
            rest &= rest - ONE
        if rest == ZERO:
            break
        at += 8
    n += popcount(token)
    if whole:
        ends[n] = stop
        return n + 1, stop
    return n, position + 63 - leading_zeros(token)
