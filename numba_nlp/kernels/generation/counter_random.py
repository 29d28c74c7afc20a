"""Random numbers by place: a number depends on seed, row, step and token, not on who draws it when.

Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the
seed is the key, the place is the counter. So tokens are the same on any number of threads and, with :func:`row_keys`,
in any order of the prompts.

Twin: ``numba_nlp.reference.generation.counter_random``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables.random_bits import mix_bits
from numba_nlp.kernels.words import add, multiply, shift_right

__all__ = ["philox", "row_keys", "uniform"]

_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_FIRST_STEP, _SECOND_STEP = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
#: Odd, for the hash of ids.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@kernel
def philox(counter_low, counter_high, key):
    """128 random bits of a counter of 128 bits.

    Parameters
    ----------
    counter_low, counter_high : uint64
        Words 0 and 1, and words 2 and 3, of the counter, the first one below.
    key : uint64

    Returns
    -------
    (uint64, uint64)
        Words 0 and 1, and words 2 and 3.
    """
    a, b = counter_low & _LOW, counter_low >> _HALF
    c, d = counter_high & _LOW, counter_high >> _HALF
    first, second = key & _LOW, key >> _HALF
    for _ in range(_ROUNDS):
        # products of two numbers below 2^32, held in 64 bits
        left, right = _FIRST_FACTOR * a, _SECOND_FACTOR * c
        a, b, c, d = (right >> _HALF) ^ b ^ first, right & _LOW, (left >> _HALF) ^ d ^ second, left & _LOW
        first, second = (first + _FIRST_STEP) & _LOW, (second + _SECOND_STEP) & _LOW
    return a | (b << _HALF), c | (d << _HALF)


@kernel
def uniform(seed, row_key, step, lane):
    """Random number in (0, 1), an odd multiple of 2^-53.

    Parameters
    ----------
    seed : uint64
        The user's.
    row_key : uint64
        Of :func:`row_keys`.
    step : int64
        Which token of the row, from 0 to 2^32 - 1.
    lane : int64
        Which number of the step, from 0 to 2^32 - 1: of a token for example.

    Returns
    -------
    float64
    """
    bits, _ = philox(row_key, np.uint64(lane) | (np.uint64(step) << _HALF), seed)
    return (np.float64(np.int64(shift_right(bits, 12))) + 0.5) * 2.0**-52


@kernel
def row_keys(ids, mask, copies, keys):
    """A number for each row that is sampled: by its prompt, so that the order of prompts does not matter.

    Prompts that are equal get different numbers, by how many were before, and so do the copies of a prompt.

    Parameters
    ----------
    ids : int32[P, L]
        Prompts, or the sources of an encoder.
    mask : uint8[P, L]
        0 for padding, which does not count.
    copies : int64
        Rows of each prompt.
    keys : uint64[P * copies]
        Written; the copies of a prompt side by side.
    """
    n_prompts = ids.shape[0]
    for prompt in range(n_prompts):
        state = np.uint64(0)
        for column in range(ids.shape[1]):
            if mask[prompt, column] != 0:
                token = np.uint64(np.int64(ids[prompt, column]) + 1)
                state = mix_bits(multiply(state ^ token, _FACTOR))
        keys[prompt * copies] = state
    # backwards: what earlier prompts left stays until it was compared
    for back in range(n_prompts):
        prompt = n_prompts - 1 - back
        state = keys[prompt * copies]
        same = np.uint64(0)
        for other in range(prompt):
            if keys[other * copies] == state:
                same += np.uint64(1)
        for copy in range(copies):
            keys[prompt * copies + copy] = mix_bits(add(mix_bits(add(state, same)), np.uint64(copy)))
