"""What a row keeps before a token is drawn from it: temperature, top-k, top-p, min-p, typical-p, as transformers does.

Each of them works on a list of the ids that are left, so after top-k nothing takes time by the size of the vocabulary.
Ids that are removed get minus infinity in the row. Where transformers lets the order of equal logits be decided by
torch's sort, the lower id is kept first; top-k keeps all that equal its last one.

Twin: ``numba_nlp.reference.generation.warpers``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.mass_cut import find_mass_cut, nth_best
from numba_nlp.kernels.generation.row_selection import gather_best
from numba_nlp.kernels.generation.row_values import BLOCK, block_maxima, weigh_values

__all__ = [
    "is_warped",
    "keep_min_p",
    "keep_min_p_of_row",
    "keep_top_k",
    "keep_top_p",
    "keep_typical",
    "list_values",
    "scale_values",
    "warp_row",
]

_NOTHING = np.float32(-np.inf)


@kernel
def scale_values(row, temperature):
    """Divide all values by a temperature.

    Parameters
    ----------
    row : float32[V]
        Written. Its shift is to be divided too.
    temperature : float64
        Positive.
    """
    divisor = np.float32(temperature)
    for i in range(row.size):
        row[i] = row[i] / divisor


@kernel
def list_values(row, ids):
    """Ids with a value above minus infinity.

    Parameters
    ----------
    row : float32[V]
    ids : int32[V]
        Written, rising.

    Returns
    -------
    int64
        How many there are.
    """
    n = np.int64(0)
    for i in range(row.size):
        # without a branch, which would be foretold wrongly as often as not
        ids[n] = i
        n += row[i] > _NOTHING
    return n


@kernel
def keep_top_k(row, k, maxima, values, ids):
    """Remove what is smaller than the ``k``-th largest value, so that more are left when several equal it.

    Parameters
    ----------
    row : float32[V]
        Written; without NaN.
    k : int64
        At least 1.
    maxima : float32[(V + 63) // 64]
        Scratch.
    values : float32[V]
        Scratch.
    ids : int32[V]
        Written: what is left, rising.

    Returns
    -------
    int64
        How many are left.
    """
    block_maxima(row, maxima)
    gather_best(row, k, maxima, values, ids)
    floor = values[0]
    for i in range(row.size):
        row[i] = _NOTHING if row[i] < floor else row[i]
    n = np.int64(0)
    for block in range((row.size + BLOCK - 1) // BLOCK):
        if maxima[block] >= floor:
            for i in range(block * BLOCK, min(block * BLOCK + BLOCK, row.size)):
                ids[n] = i
                n += row[i] > _NOTHING
    return n


@kernel
def _gather(row, ids, n, values):
    """Values of the listed ids; gives the largest one."""
    top = _NOTHING
    for i in range(n):
        value = row[ids[i]]
        values[i] = value
        if value > top:
            top = value
    return top


@kernel
def _remove_behind(row, ids, n, order, value, place, least):
    """Keep what is not behind a place of some value in order, and the first ``least``; give how many are left."""
    kept = np.int64(0)
    for i in range(n):
        kept += (order[i] > value) | ((order[i] == value) & (i <= place))
    if kept < least:
        place = nth_best(order, n, least)
        value = np.float64(order[place])
    left = np.int64(0)
    for i in range(n):
        is_kept = (order[i] > value) | ((order[i] == value) & (i <= place))
        token = ids[i]
        ids[left] = token
        left += is_kept
        row[token] = row[token] if is_kept else _NOTHING
    return left


@kernel
def keep_top_p(row, ids, n, share, least, order, weights, places, masses):
    """Keep the largest values until they have a share of the probability (nucleus sampling).

    Holtzman and others, "The curious case of neural text degeneration", ICLR 2020.

    Parameters
    ----------
    row : float32[V]
        Written.
    ids : int32[n]
        What is left, rising; changed.
    n : int64
        How many, at least 1.
    share : float64
        ``top_p``, from 0 to 1; a token is kept when those before it have less.
    least : int64
        So many are kept at least.
    order, weights, places : float32[n], float32[n], int32[n]
        Scratch.
    masses : float64[BUCKETS]
        Scratch.

    Returns
    -------
    int64
        How many are left.
    """
    top = _gather(row, ids, n, order)
    weigh_values(order, n, top, weights)
    cut = find_mass_cut(order, weights, n, share, places, masses)
    return _remove_behind(row, ids, n, order, np.float64(order[cut]), cut, least)


@kernel
def keep_min_p(row, ids, n, ratio, least, order):
    """Remove what is less probable than the most probable token by more than a ratio.

    Nguyen and others, "Turning up the heat: min-p sampling for creative and coherent LLM outputs", ICLR 2025.

    Parameters
    ----------
    row, ids, n : as for :func:`keep_top_p`
    ratio : float64
        ``min_p``, from 0 to 1.
    least : int64
        So many are kept at least.
    order : float32[n]
        Scratch.

    Returns
    -------
    int64
        How many are left.
    """
    top = _gather(row, ids, n, order)
    lowest = np.float64(top) + math.log(ratio) if ratio > 0 else -np.inf
    return _remove_behind(row, ids, n, order, lowest, n, least)


@kernel
def keep_min_p_of_row(row, ratio, least, maxima, ids):
    """The same of a whole row, of which most blocks are below what is kept: these are not listed.

    Parameters
    ----------
    row : float32[V]
        Written; without NaN.
    ratio : float64
        ``min_p``, above 0, up to 1.
    least : int64
        So many are to be kept at least.
    maxima : float32[(V + 63) // 64]
        Scratch.
    ids : int32[V]
        Written: what is left, rising.

    Returns
    -------
    int64
        How many are left; -1 where fewer than ``least`` would be, and the row is as it was.
    """
    lowest = np.float64(block_maxima(row, maxima)) + math.log(ratio)
    n = np.int64(0)
    for block in range((row.size + BLOCK - 1) // BLOCK):
        if maxima[block] >= lowest:
            for i in range(block * BLOCK, min(block * BLOCK + BLOCK, row.size)):
                ids[n] = i
                n += (row[i] >= lowest) & (row[i] > _NOTHING)
    if n < least:
        return np.int64(-1)
    for i in range(row.size):
        row[i] = _NOTHING if row[i] < lowest else row[i]
    return n


@kernel
def keep_typical(row, ids, n, share, least, order, weights, places, masses):
    """Keep the tokens whose information is nearest to the entropy, until they have a share of the probability.

    Meister and others, "Locally typical sampling", TACL 2023.

    Parameters
    ----------
    row, ids, n : as for :func:`keep_top_p`
    share : float64
        ``typical_p``; tokens as near as the last one are kept too.
    least, order, weights, places, masses : as for :func:`keep_top_p`

    Returns
    -------
    int64
        How many are left.
    """
    top = _gather(row, ids, n, order)
    total = weigh_values(order, n, top, weights)
    mean = 0.0
    for i in range(n):
        mean += np.float64(weights[i]) * (np.float64(order[i]) - np.float64(top))
    mean /= total
    # entropy less information of a token: what the two have of the logarithm of the sum falls out
    for i in range(n):
        order[i] = np.float32(-abs(np.float64(order[i]) - np.float64(top) - mean))
    cut = find_mass_cut(order, weights, n, share, places, masses)
    # all that are as near as the last one
    return _remove_behind(row, ids, n, order, np.float64(order[cut]), n, least)


@kernel
def is_warped(rules):
    """Whether rules remove ids by their probability.

    Parameters
    ----------
    rules : RowRules

    Returns
    -------
    bool
    """
    return rules.top_k > 0 or rules.top_p < 1.0 or rules.min_p > 0.0 or rules.typical_p < 1.0


@kernel
def warp_row(row, rules, scratch):
    """All of them in transformers' order, and a list of what is left.

    Parameters
    ----------
    row : float32[V]
        Written. With a temperature the row's shift is to be divided by it.
    rules : RowRules
    scratch : RowScratch
        ``scratch.ids`` is the list, rising.

    Returns
    -------
    int64
        How many ids are left; 0 where no value is above minus infinity.
    """
    if rules.temperature != 1.0:
        scale_values(row, rules.temperature)
    ids, order, least = scratch.ids, scratch.order, rules.min_tokens_to_keep
    min_p = rules.min_p
    if rules.top_k > 0:
        n = keep_top_k(row, max(rules.top_k, least), scratch.maxima, order, ids)
    else:
        n = np.int64(-1)
        if rules.top_p == 1.0 and min_p > 0.0:
            n = keep_min_p_of_row(row, min_p, least, scratch.maxima, ids)
        if n < 0:
            n = list_values(row, ids)
        else:
            min_p = 0.0  # done
    if n > 0 and rules.top_p < 1.0:
        n = keep_top_p(row, ids, n, rules.top_p, least, order, scratch.weights, scratch.places, scratch.masses)
    if n > 0 and min_p > 0.0:
        n = keep_min_p(row, ids, n, min_p, least, order)
    if n > 0 and rules.typical_p < 1.0:
        n = keep_typical(row, ids, n, rules.typical_p, least, order, scratch.weights, scratch.places, scratch.masses)
    return n
