"""Tokens drawn by their probability, with random numbers by place.

One token: the inverse of the cumulative distribution at one random number. Several without replacement, for beams: the
largest of values with noise of a Gumbel distribution, each value with its own random number (Kool, van Hoof, Welling,
"Stochastic beams and where to find them", ICML 2019). Both have the distribution of softmax and ``multinomial``.

Twin: ``numba_nlp.reference.generation.sampling``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.float_lanes import BLOCK, exponential, exponentials_of_block
from numba_nlp.kernels.generation.counter_random import uniform
from numba_nlp.kernels.generation.row_selection import offer_best
from numba_nlp.kernels.generation.row_values import holds_numbers, largest, weigh_values
from numba_nlp.kernels.generation.warpers import is_warped, scale_values, warp_row

__all__ = ["draw", "draw_listed", "draw_without_replacement", "sample_row"]

_NOTHING = np.float32(-np.inf)


@kernel
def draw(row, number, sums):
    """One token of a row by its probability.

    Parameters
    ----------
    row : float32[V]
        Logits, or anything that differs from log-probabilities by a constant; without NaN.
    number : float64
        Random, in (0, 1).
    sums : float32[V // 64]
        Scratch.

    Returns
    -------
    (int64, float64)
        The token and its log-probability; -1 and NaN where no value is above minus infinity.
    """
    top = row[largest(row)]
    if top == _NOTHING:
        return np.int64(-1), np.nan
    whole = row.size // BLOCK
    total = 0.0
    for block in range(whole):
        sums[block] = exponentials_of_block(row, block * BLOCK, top)
        total += np.float64(sums[block])
    for i in range(whole * BLOCK, row.size):
        total += exponential(row[i], top)
    goal = number * total
    reached = 0.0
    # the block in which the goal is, or what follows the last one
    block = np.int64(0)
    while block < whole and reached + np.float64(sums[block]) <= goal:
        reached += np.float64(sums[block])
        block += 1
    token = np.int64(-1)
    for i in range(block * BLOCK, row.size):
        if row[i] == _NOTHING:
            continue
        token = i
        reached += exponential(row[i], top)
        if reached > goal:
            break
    if token < 0:
        # rounding left the goal behind the last value
        token = row.size - 1
        while row[token] == _NOTHING:
            token -= 1
    return token, np.float64(row[token]) - np.float64(top) - math.log(total)


@kernel
def draw_listed(row, ids, n, number, values, weights):
    """As :func:`draw`, from a list of ids.

    Parameters
    ----------
    row : float32[V]
        Logits, above minus infinity at the listed ids.
    ids : int32[n]
    n : int64
        How many are listed.
    number : float64
        Random, in (0, 1).
    values, weights : float32[n]
        Scratch.

    Returns
    -------
    (int64, float64)
        The token and its log-probability among the listed ones; -1 and NaN when none is listed.
    """
    if n == 0:
        return np.int64(-1), np.nan
    top = _NOTHING
    for i in range(n):
        values[i] = row[ids[i]]
        if values[i] > top:
            top = values[i]
    total = weigh_values(values, n, top, weights)
    goal = number * total
    reached = 0.0
    chosen = np.int64(0)
    for i in range(n):
        if weights[i] > 0:
            chosen = i
            reached += np.float64(weights[i])
            if reached > goal:
                break
    return np.int64(ids[chosen]), np.float64(values[chosen]) - np.float64(top) - math.log(total)


@kernel
def draw_without_replacement(values, lanes, n, k, seed, row_key, step, picks, noisy):
    """Different entries, one after the other by the probability that each has among those that are left.

    Parameters
    ----------
    values : float32[n]
        Logarithms of probability, up to a constant; entries of minus infinity are never drawn.
    lanes : int64[n]
        Number of each entry's random number, so that it does not depend on the other entries.
    n, k : int64
        Entries, and how many are drawn.
    seed, row_key, step : uint64, uint64, int64
        As of :func:`~numba_nlp.kernels.generation.counter_random.uniform`.
    picks : int32[k]
        Written: entries drawn, the largest value first, of equal ones the lower entry.
    noisy : float64[k]
        Scratch.

    Returns
    -------
    int64
        How many were drawn: fewer than ``k`` when fewer have a value.
    """
    drawn = np.int64(0)
    if k <= 0:
        return drawn
    for i in range(n):
        if values[i] > _NOTHING:
            noise = -math.log(-math.log(uniform(seed, row_key, step, lanes[i])))
            drawn = offer_best(np.float64(values[i]) + noise, i, k, noisy, picks, drawn)
    # few, so one by one to its place by value
    for end in range(1, drawn):
        pick = picks[end]
        place = end
        while place > 0:
            other = picks[place - 1]
            if values[other] > values[pick] or (values[other] == values[pick] and other < pick):
                break
            picks[place] = other
            place -= 1
        picks[place] = pick
    return drawn


@kernel
def sample_row(row, rules, seed, row_key, step, scratch):
    """Temperature, what a row keeps, and one token drawn from that.

    Parameters
    ----------
    row : float32[V]
        Written.
    rules : RowRules
    seed, row_key, step : uint64, uint64, int64
        As of :func:`~numba_nlp.kernels.generation.counter_random.uniform`.
    scratch : RowScratch

    Returns
    -------
    (int64, float64)
        The token and its log-probability among what was kept; -1 and NaN where no value is above minus infinity, or
        one is NaN or infinity.
    """
    number = uniform(seed, row_key, step, 0)
    if is_warped(rules):
        # what is kept is compared with others, which a NaN passes unseen
        if not holds_numbers(row):
            return np.int64(-1), np.nan
        n = warp_row(row, rules, scratch)
        return draw_listed(row, scratch.ids, n, number, scratch.order, scratch.weights)
    if rules.temperature != 1.0:
        scale_values(row, rules.temperature)
    token, value = draw(row, number, scratch.maxima)
    return np.int64(-1) if math.isnan(value) else token, value
