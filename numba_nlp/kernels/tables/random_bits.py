"""Random numbers by seed and place: the same on any machine and thread, whatever is drawn elsewhere.

A number depends on (seed, stream, counter) only. The mixing function is that of SplitMix64 (Steele, Lea, Flood, "Fast
splittable pseudorandom number generators", OOPSLA 2014); a stream is its sequence from a start that is mixed from seed
and stream.

Twin: ``numba_nlp.reference.tables.random_bits``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import add, multiply, shift_right

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@kernel
def mix_bits(bits):
    """Scatter 64 bits; one to one.

    Parameters
    ----------
    bits : uint64

    Returns
    -------
    uint64
    """
    bits = multiply(bits ^ shift_right(bits, 30), _FIRST)
    bits = multiply(bits ^ shift_right(bits, 27), _SECOND)
    return bits ^ shift_right(bits, 31)


@kernel
def random_bits(seed, stream, counter):
    """64 random bits.

    Parameters
    ----------
    seed, stream, counter : uint64
        For example the user's seed, the number of the row, and how often it was drawn for it.

    Returns
    -------
    uint64
    """
    start = mix_bits(add(mix_bits(add(seed, _STEP)), multiply(add(stream, np.uint64(1)), _STEP)))
    return mix_bits(add(start, multiply(add(counter, np.uint64(1)), _STEP)))


@kernel
def random_fraction(seed, stream, counter):
    """Random number in [0, 1), a multiple of 2^-53.

    Parameters
    ----------
    seed, stream, counter : uint64
        As of :func:`random_bits`.

    Returns
    -------
    float64
    """
    return np.float64(np.int64(shift_right(random_bits(seed, stream, counter), 11))) * 2.0**-53
