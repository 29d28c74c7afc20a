"""The table of byte pairs that text must not be cut between; :mod:`numba_nlp.kernels.segment.bridge` has the proof."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["bridge_of"]

#: A byte that UTF-8 never has.
_BETWEEN = b"\xff"


def bridge_of(pieces: Iterable[str], escaped_space: str | None = None, together: ArrayLike = ()) -> NDArray[np.uint64]:
    """Byte pairs that lie next to each other in a piece, or in a character.

    Parameters
    ----------
    pieces : iterable of str
        All that merging can make, and all that is matched as a whole.
    escaped_space : str or None
        The character that stands for a space in pieces; the table then also holds for text with spaces.
    together : int[n]
        ASCII characters that must not be cut from each other.

    Returns
    -------
    uint64[1024]
        Bit ``left << 8 | right``: bit ``right & 63`` of word ``(left << 8 | right) >> 6``.
    """
    texts = list(pieces)
    if escaped_space is not None:
        texts += [text.replace(escaped_space, " ") for text in texts if escaped_space in text]
    data = np.frombuffer(_BETWEEN.join(text.encode() for text in texts), np.uint8).astype(np.int64)
    is_pair = np.zeros((256, 256), bool)
    if data.size > 1:
        is_pair[data[:-1], data[1:]] = True
    if escaped_space is not None:
        # a space beside the escaped one
        content = escaped_space.encode()
        is_pair[:, content[0]] |= is_pair[:, 0x20]
        is_pair[content[-1]] |= is_pair[0x20]
    is_pair[np.ix_(np.asarray(together, np.int64), np.asarray(together, np.int64))] = True
    is_pair[0xFF] = False
    is_pair[:, 0xFF] = False
    # the second byte is not the first of its character
    is_pair[:, 0x80:0xC0] = True
    bits = np.packbits(is_pair.reshape(-1), bitorder="little")
    return bits.view("<u8").astype(np.uint64)
