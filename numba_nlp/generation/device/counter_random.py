"""The random numbers of :mod:`numba_nlp.kernels.generation.counter_random`, the same bits, as tensors.

torch has no arithmetic of uint64: int64 wraps around alike, and shifts to the right are masked.
"""

from __future__ import annotations

from torch import Tensor

__all__ = ["philox", "uniform"]

_ROUNDS = 10
_LOW = 0xFFFFFFFF
_FIRST_FACTOR, _SECOND_FACTOR = 0xD2511F53, 0xCD9E8D57
_FIRST_STEP, _SECOND_STEP = 0x9E3779B9, 0xBB67AE85


def _high(word: Tensor) -> Tensor:
    return (word >> 32) & _LOW


def philox(counter_low: Tensor, counter_high: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """128 random bits of a counter of 128 bits.

    Parameters
    ----------
    counter_low, counter_high, key : Tensor
        int64 that stand for uint64; they broadcast.

    Returns
    -------
    low, high : Tensor
        Words 0 and 1, and words 2 and 3.
    """
    a, b = counter_low & _LOW, _high(counter_low)
    c, d = counter_high & _LOW, _high(counter_high)
    first, second = key & _LOW, _high(key)
    for _ in range(_ROUNDS):
        left, right = a * _FIRST_FACTOR, c * _SECOND_FACTOR
        a, b, c, d = _high(right) ^ b ^ first, right & _LOW, _high(left) ^ d ^ second, left & _LOW
        first, second = (first + _FIRST_STEP) & _LOW, (second + _SECOND_STEP) & _LOW
    return a | (b << 32), c | (d << 32)


def uniform(seed: Tensor, row_key: Tensor, step: Tensor, lane: Tensor) -> Tensor:
    """Random numbers in (0, 1), odd multiples of 2^-53.

    Parameters
    ----------
    seed, row_key : Tensor
        int64 that stand for uint64.
    step, lane : Tensor
        int64: which token of the row, and which number of the step.

    Returns
    -------
    Tensor
        float64, of the shape that all broadcast to.
    """
    bits, _ = philox(row_key, lane | (step << 32), seed)
    return (((bits >> 12) & (2**52 - 1)).double() + 0.5) * 2.0**-52
