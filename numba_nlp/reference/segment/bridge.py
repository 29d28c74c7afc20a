"""Plain twin of ``numba_nlp/kernels/segment/bridge.py``: where text may be cut, from the pieces themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection


def is_unknown(known: Collection[str], character: str) -> bool:
    """Whether a character is no piece."""
    return character not in known


def fill_spans_bridge(text: str, pieces: Collection[str], is_apart: Callable[[str, str], bool]) -> list[str]:
    """Cut a text wherever no piece holds the byte before and the byte after next to each other.

    Parameters
    ----------
    text : str
    pieces : collection of str
        All that merging can make, and all that is matched as a whole.
    is_apart : callable
        Whether these two neighbouring characters may stand in different chunks.

    Returns
    -------
    list of str
        The chunks.
    """
    pairs = {piece.encode()[i : i + 2] for piece in pieces for i in range(len(piece.encode()) - 1)}
    chunks = [text[:1]] if text else []
    for left, right in itertools.pairwise(text):
        pair = left.encode()[-1:] + right.encode()[:1]
        if pair in pairs or not is_apart(left, right):
            chunks[-1] += right
        else:
            chunks.append(right)
    return chunks
