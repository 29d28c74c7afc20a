"""Where an order of tokens, the best first, has reached a share of the probability.

Sorting a whole vocabulary for that takes most of the time of nucleus sampling. Here probability is added up in buckets
of equal width, and only the bucket in which the share is reached is sorted.

Twin: ``numba_nlp.reference.generation.mass_cut``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.float_lanes import BLOCK, largest_of_block, smallest_of_block

__all__ = ["BUCKETS", "find_mass_cut", "nth_best"]

#: Buckets, and the range of values that they divide; what lies further behind the best one shares the last bucket. 32
#: below the best logit is a probability of 1e-14.
BUCKETS = 1024
_RANGE = 32.0
#: Values that differ by less share one bucket, since their scale might be no float32.
_SMALLEST_WIDTH = 1e-30


@kernel
def _is_behind(order, place, other):
    """Whether one place stands behind another one: a smaller value, or the same further to the right."""
    return order[place] < order[other] or (order[place] == order[other] and place > other)


@kernel
def _sink_place(order, places, n, at):
    """Restore a heap of places with the one that stands behind all others at the root."""
    place = places[at]
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and _is_behind(order, places[child + 1], places[child]):
            child += 1
        if not _is_behind(order, places[child], place):
            break
        places[at] = places[child]
        at = child
    places[at] = place


@kernel
def _sort_places(order, places, n):
    """The best place first."""
    for at in range(n // 2 - 1, -1, -1):
        _sink_place(order, places, n, at)
    for end in range(n - 1, 0, -1):
        places[0], places[end] = places[end], places[0]
        _sink_place(order, places, end, 0)


@kernel
def _extremes(order, n):
    """Largest and smallest value of the first ``n``."""
    best = worst = order[0]
    whole = n // BLOCK * BLOCK
    for first in range(0, whole, BLOCK):
        best = max(best, largest_of_block(order, first))
        worst = min(worst, smallest_of_block(order, first))
    for place in range(whole, n):
        best = max(best, order[place])
        worst = min(worst, order[place])
    return best, worst


@kernel
def find_mass_cut(order, weights, n, share, places, masses):
    """The last place, in order, before which less than ``share`` of all weight has come.

    Parameters
    ----------
    order : float32[n]
        Places come by their values, the largest first, of equal ones the lower place. Above minus infinity.
    weights : float32[n]
        Not negative, not all of them zero.
    n : int64
        Places that count, at least 1.
    share : float64
        From 0 to 1. What is left is compared with ``1 - share`` in float32, as transformers compares it.
    places : int32[n]
        Scratch.
    masses : float64[BUCKETS]
        Scratch.

    Returns
    -------
    int64
        A place; the first one in order when ``share`` is 0.
    """
    best, worst = _extremes(order, n)
    width = min(np.float64(best) - np.float64(worst), _RANGE)
    scale = np.float32((BUCKETS - 1) / width) if width > _SMALLEST_WIDTH else np.float32(0)
    last = np.float32(BUCKETS - 1)
    # never a lower bucket for a smaller value: each of these operations keeps the order
    for place in range(n):
        number = (best - order[place]) * scale
        # what is no number, after an infinite logit, is in the last bucket too
        places[place] = np.int32(number if number < last else last)
    for bucket in range(BUCKETS):
        masses[bucket] = 0.0
    for place in range(n):
        masses[places[place]] += np.float64(weights[place])
    total = 0.0
    for bucket in range(BUCKETS):
        total += masses[bucket]
    left = np.float32(1.0 - share)
    # the bucket of the cut is the last one that begins before the share is reached, and holds a place
    before = reached = 0.0
    chosen = np.int64(0)
    for bucket in range(BUCKETS):
        if bucket > 0 and np.float32((total - before) / total) <= left:
            break
        if masses[bucket] > 0:
            chosen, reached = bucket, before
        before += masses[bucket]
    found = np.int64(0)
    for place in range(n):
        is_there = places[place] == chosen
        places[found] = place if is_there else places[found]
        found += is_there
    if found == 0:
        # a bucket with weight has places, unless weights are no numbers
        return np.int64(0)
    _sort_places(order, places, found)
    cut = np.int64(places[0])
    for at in range(1, found):
        reached += np.float64(weights[places[at - 1]])
        if np.float32((total - reached) / total) <= left:
            break
        cut = np.int64(places[at])
    return cut


@kernel
def nth_best(order, n, number):
    """The place that is ``number`` in order; meant for small numbers.

    Parameters
    ----------
    order : float32[n]
        As of :func:`find_mass_cut`.
    n : int64
        At least 1.
    number : int64
        From 1 on; beyond ``n`` the last place is meant.

    Returns
    -------
    int64
    """
    chosen = np.int64(-1)
    for _ in range(min(number, n)):
        following = np.int64(-1)
        for place in range(n):
            if (chosen < 0 or _is_behind(order, place, chosen)) and (
                following < 0 or _is_behind(order, following, place)
            ):
                following = place
        chosen = following
    return chosen
