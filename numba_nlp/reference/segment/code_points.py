"""Plain-Python twin of :mod:`numba_nlp.kernels.segment.code_points`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: The Unicode property White_Space, stable since Unicode 6.3.
WHITE_SPACE = frozenset(
    [
        *range(0x09, 0x0E),
        0x20,
        0x85,
        0xA0,
        0x1680,
        *range(0x2000, 0x200B),
        0x2028,
        0x2029,
        0x202F,
        0x205F,
        0x3000,
    ]
)


def code_point_at(data: NDArray[np.uint8], position: int) -> int:
    """Code point of the character that starts at ``position`` of valid UTF-8."""
    first = int(data[position])
    length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    return ord(data[position : position + length].tobytes().decode())


def code_point_before(data: NDArray[np.uint8], position: int) -> int:
    """Code point of the character that ends before ``position`` of valid UTF-8."""
    return ord(data[:position].tobytes()[-4:].decode(errors="ignore")[-1])


def encoded_length(code_point: int) -> int:
    """Bytes of a code point in UTF-8."""
    return len(chr(code_point).encode())


def is_white_space(code_point: int) -> bool:
    """Whether a code point has the Unicode property White_Space."""
    return code_point in WHITE_SPACE


def is_word(bits: NDArray[np.uint8], code_point: int) -> bool:
    """Whether a code point is a word character of the bit table."""
    return bool(np.unpackbits(bits[code_point >> 3 : (code_point >> 3) + 1], bitorder="little")[code_point & 7])
