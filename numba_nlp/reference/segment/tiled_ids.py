"""Twin of ``kernels/segment/tiled_ids.py``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def tile(piece_lengths: Sequence[int], unknown: int, n: int, ids: Sequence[int]) -> list[int] | None:
    """Ends of the tokens of the text; None when the lengths do not say them."""
    for count in range(len(ids) + 1):
        taken = ids[:count]
        if any(number == unknown or not 0 <= number < len(piece_lengths) for number in taken):
            return None
        ends = list(accumulate(piece_lengths[number] for number in taken))
        if (ends[-1] if ends else 0) >= n:
            return ends if (ends[-1] if ends else 0) == n else None
    return None


def same_ids(found: Sequence[int], ids: Sequence[int], first: int) -> bool:
    """Whether ``found`` stands in ``ids`` from ``first`` on."""
    return list(ids[first : first + len(found)]) == list(found)
