"""Twin of ``kernels/generation/mass_cut.py``: sort all and add up."""

from __future__ import annotations

import numpy as np


def _in_order(order, n):
    return sorted(range(n), key=lambda place: (-order[place], place))


def find_mass_cut(order, weights, n, share, places, masses):
    """The last place before which less than a share of the weight has come."""
    ranked = _in_order(order, n)
    sums = np.cumsum(weights[ranked].astype(np.float64))
    before = np.concatenate([[0.0], sums[:-1]])
    is_kept = ((sums[-1] - before) / sums[-1]).astype(np.float32) > np.float32(1.0 - share)
    return ranked[max(int(is_kept.sum()) - 1, 0)]


def nth_best(order, n, number):
    """The place that is a number in order."""
    return _in_order(order, n)[min(number, n) - 1]
