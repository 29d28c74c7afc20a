"""``clean_up_tokenization_spaces`` of transformers: spaces that go from decoded text."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLEANED", "cleaned_rows"]

#: What ``clean_up_tokenization`` replaces, each in the whole text, in this order.
_REPLACED = (
    (b" .", b"."), (b" ?", b"?"), (b" !", b"!"), (b" ,", b","), (b" ' ", b"'"), (b" n't", b"n't"), (b" 'm", b"'m"),
    (b" 's", b"'s"), (b" 've", b"'ve"), (b" 're", b"'re"),
)  # fmt: skip
#: Characters of these: what follows may change an end of a text that has no others.
CLEANED = " .?!,'nmtsver"


def cleaned_rows(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Rows of text without the spaces before punctuation and English endings.

    Parameters
    ----------
    data, ends : uint8[n], int64[rows + 1]
        Row ``r`` is ``data[ends[r]:ends[r + 1]]``.

    Returns
    -------
    data, ends : uint8[m], int64[rows + 1]
    """
    rows = []
    for start, stop in pairwise(ends.tolist()):
        row = data[start:stop].tobytes()
        for written, wanted in _REPLACED:
            row = row.replace(written, wanted)
        rows.append(row)
    return np.frombuffer(b"".join(rows), np.uint8), np.cumsum([0, *map(len, rows)], dtype=np.int64)
