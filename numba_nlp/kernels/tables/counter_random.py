"""Random numbers from a counter: the k-th number of a stream is a function of seed, stream and k, and of nothing else.

So results do not depend on threads, on the order of rows, or on what was drawn before. The function is the finaliser
of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).

Twin: ``numba_nlp.reference.tables.counter_random``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import add, multiply, shift_right

GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)
#: Elements of the state of a stream: its key, and how many numbers were drawn.
KEY, DRAWN = 0, 1
#: 2^-53
UNIT = 1.0 / 9007199254740992.0


@kernel
def mix_bits(word):
    """Scramble a word; a bijection.

    Parameters
    ----------
    word : uint64

    Returns
    -------
    uint64
    """
    word = multiply(word ^ shift_right(word, 30), FIRST_MULTIPLIER)
    word = multiply(word ^ shift_right(word, 27), SECOND_MULTIPLIER)
    return word ^ shift_right(word, 31)


@kernel
def start_stream(seed, stream, state):
    """Begin a stream of random numbers.

    Parameters
    ----------
    seed : uint64
    stream : uint64
        Such as the number of a row.
    state : uint64[2]
        Written.
    """
    state[KEY] = mix_bits(add(mix_bits(add(np.uint64(seed), GAMMA)), np.uint64(stream)))
    state[DRAWN] = np.uint64(0)


@kernel
def draw_uniform(state):
    """The next number of a stream, uniform over multiples of 2^-53 in [0, 1).

    Parameters
    ----------
    state : uint64[2]
        Changed.

    Returns
    -------
    float64
    """
    state[DRAWN] = add(state[DRAWN], np.uint64(1))
    word = mix_bits(add(state[KEY], multiply(state[DRAWN], GAMMA)))
    return np.float64(np.int64(shift_right(word, 11))) * UNIT
