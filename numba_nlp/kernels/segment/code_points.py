"""Characters of valid UTF-8: read one forwards or backwards, and the two classes that added tokens ask for.

Twin: ``numba_nlp.reference.segment.code_points``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["code_point_at", "code_point_before", "encoded_length", "is_white_space", "is_word"]


@kernel
def code_point_at(data, position):
    """Code point of the character that starts at ``position`` of valid UTF-8.

    Parameters
    ----------
    data, position : uint8[n], int64

    Returns
    -------
    int64
    """
    byte = np.int64(data[position])
    if byte < 0x80:
        return byte
    if byte < 0xE0:
        return (byte & 0x1F) << 6 | (np.int64(data[position + 1]) & 0x3F)
    if byte < 0xF0:
        return (byte & 0x0F) << 12 | (np.int64(data[position + 1]) & 0x3F) << 6 | (np.int64(data[position + 2]) & 0x3F)
    return (
        (byte & 0x07) << 18
        | (np.int64(data[position + 1]) & 0x3F) << 12
        | (np.int64(data[position + 2]) & 0x3F) << 6
        | (np.int64(data[position + 3]) & 0x3F)
    )


@kernel
def code_point_before(data, position):
    """Code point of the character that ends before ``position`` of valid UTF-8.

    Parameters
    ----------
    data, position : uint8[n], int64

    Returns
    -------
    int64
    """
    position -= 1
    while data[position] & 0xC0 == 0x80:
        position -= 1
    return code_point_at(data, position)


@kernel
def encoded_length(code_point):
    """Bytes of a code point in UTF-8.

    Parameters
    ----------
    code_point : int64

    Returns
    -------
    int64
    """
    if code_point < 0x80:
        return 1
    if code_point < 0x800:
        return 2
    return 3 if code_point < 0x10000 else 4


@kernel
def is_white_space(code_point):
    """Whether a code point has the Unicode property White_Space.

    Parameters
    ----------
    code_point : int64

    Returns
    -------
    bool
    """
    if code_point <= 0x20:
        return code_point == 0x20 or 0x09 <= code_point <= 0x0D
    if code_point < 0x1680:
        return code_point in (0x85, 0xA0)
    return 0x2000 <= code_point <= 0x200A or code_point in (0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)


@kernel
def is_word(bits, code_point):
    """Whether a code point is a word character.

    Parameters
    ----------
    bits : uint8[0x110000 >> 3]
        Bit table made by :func:`numba_nlp.kernels.segment.word_characters.word_bits`.
    code_point : int64

    Returns
    -------
    bool
    """
    return (bits[code_point >> 3] >> (code_point & 7)) & 1 != 0
