"""Plain twins of ``numba_nlp/kernels/words.py``: Python's integers, cut to 64 bits, and strings of binary digits."""

from __future__ import annotations

from collections.abc import Sequence

_MODULUS = 2**64


def _digits(a: int) -> str:
    return f"{a:064b}"


def multiply(a: int, b: int) -> int:
    """Product modulo 2^64."""
    return a * b % _MODULUS


def add(a: int, b: int) -> int:
    """Sum modulo 2^64."""
    return (a + b) % _MODULUS


def all_ones_if_nonzero(a: int) -> int:
    """2^64 - 1 for a number other than zero, else 0."""
    return 0 if a == 0 else _MODULUS - 1


def shift_left(a: int, n: int) -> int:
    """``a`` times 2^n modulo 2^64."""
    return a * 2**n % _MODULUS


def shift_right(a: int, n: int) -> int:
    """``a`` divided by 2^n, rounded down."""
    return a // 2**n


def trailing_zeros(a: int) -> int:
    """Zeros at the right end of 64 binary digits."""
    return 64 - len(_digits(a).rstrip("0"))


def leading_zeros(a: int) -> int:
    """Zeros at the left end of 64 binary digits."""
    return 64 - len(_digits(a).lstrip("0"))


def popcount(a: int) -> int:
    """Ones among the binary digits."""
    return _digits(a).count("1")


def load_word(data: Sequence[int], position: int, n: int) -> int:
    """Number whose lowest byte is ``data[position]``, of ``n`` bytes."""
    return sum(int(byte) * 256**i for i, byte in enumerate(data[position : position + n]))


def raw_load64(data: Sequence[int], position: int) -> int:
    """Number of eight bytes."""
    return load_word(data, position, 8)


def is_readable(data: Sequence[int], position: int, n: int) -> bool:
    """Whether ``n`` bytes lie in the array; the vector form may also say so of bytes behind it."""
    return position + n <= len(data)


def peek(array: Sequence[int], position: int) -> int:
    """One element."""
    return array[position]


def smallest_of_16(keys: Sequence[int], position: int) -> int:
    """Smallest of 16 elements."""
    return min(keys[position : position + 16])


def window_masks(data: Sequence[int], position: int, *classes: Sequence[tuple[int, int]]) -> list[int]:
    """For each class of byte ranges, one bit a byte of a window of 64."""
    return [
        sum(
            1 << i
            for i, byte in enumerate(data[position : position + 64])
            if any(low <= byte <= high for low, high in ranges)
        )
        for ranges in classes
    ]
