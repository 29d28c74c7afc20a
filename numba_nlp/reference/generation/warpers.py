"""Twin of ``kernels/generation/warpers.py``: probabilities of the whole row, sorted."""

from __future__ import annotations

import numpy as np


def _probabilities(values):
    weights = np.exp(values.astype(np.float64) - float(values.max()))
    return weights / weights.sum()


def _keep(row, ids, n, kept):
    """Remove the listed ids that are not kept."""
    listed = [int(i) for i in ids[:n]]
    left = [i for i in listed if i in kept]
    row[[i for i in listed if i not in kept]] = -np.inf
    ids[: len(left)] = left
    return len(left)


def scale_values(row, temperature):
    """Divide all values."""
    row /= np.float32(temperature)


def list_values(row, ids):
    """Ids with a value above minus infinity."""
    listed = np.flatnonzero(row > -np.inf)
    ids[: len(listed)] = listed
    return len(listed)


def keep_top_k(row, k, maxima, values, ids):
    """Remove what is smaller than the k-th largest value."""
    row[row < np.sort(row)[::-1][min(k, len(row)) - 1]] = -np.inf
    return list_values(row, ids)


def _reached(ranked, probabilities, share):
    """How many of the ranked are kept: those before which less than the share has come."""
    before = np.cumsum([0.0, *(probabilities[i] for i in ranked[:-1])])
    return max(int(((1 - before).astype(np.float32) > np.float32(1.0 - share)).sum()), 1)


def keep_top_p(row, ids, n, share, least, order, weights, places, masses):
    """Keep the largest values until they have a share."""
    probabilities = _probabilities(row)
    ranked = sorted(map(int, ids[:n]), key=lambda i: (-row[i], i))
    return _keep(row, ids, n, set(ranked[: max(_reached(ranked, probabilities, share), least)]))


def keep_min_p(row, ids, n, ratio, least, order):
    """Keep what has a share of the largest probability."""
    probabilities = _probabilities(row)
    ranked = sorted(map(int, ids[:n]), key=lambda i: (-row[i], i))
    enough = {i for i in ranked if probabilities[i] >= ratio * probabilities.max()}
    return _keep(row, ids, n, enough | set(ranked[:least]))


def keep_min_p_of_row(row, ratio, least, maxima, ids):
    """The same of a whole row, if enough of it is left."""
    probabilities = _probabilities(row)
    if (probabilities >= ratio * probabilities.max()).sum() < least:
        return -1
    return keep_min_p(row, ids, list_values(row, ids), ratio, 1, maxima)


def keep_typical(row, ids, n, share, least, order, weights, places, masses):
    """Keep what is nearest to the entropy until that has a share."""
    probabilities = _probabilities(row)
    listed = [int(i) for i in ids[:n]]
    # a token whose probability is below the smallest number has a finite logit all the same
    information = np.log(np.exp(row[listed].astype(np.float64) - float(row.max())).sum()) - (
        row[listed].astype(np.float64) - float(row.max())
    )
    entropy = float((probabilities[listed] * information).sum())
    distance = dict(zip(listed, np.abs(information - entropy).astype(np.float32), strict=True))
    ranked = sorted(listed, key=lambda i: (distance[i], i))
    last = ranked[_reached(ranked, probabilities, share) - 1]
    near = {i for i in listed if distance[i] <= distance[last]}
    return _keep(row, ids, n, near | set(ranked[:least]))


def is_warped(rules):
    """Whether rules remove ids by their probability."""
    return rules.top_k > 0 or rules.top_p < 1 or rules.min_p > 0 or rules.typical_p < 1


def warp_row(row, rules, scratch):
    """All in order."""
    scale_values(row, rules.temperature)
    ids, least = scratch.ids, rules.min_tokens_to_keep
    unused = scratch.order, scratch.weights, scratch.places, scratch.masses
    n = list_values(row, ids)
    if rules.top_k > 0:
        n = keep_top_k(row, max(rules.top_k, least), scratch.maxima, scratch.order, ids)
    if n and rules.top_p < 1:
        n = keep_top_p(row, ids, n, rules.top_p, least, *unused)
    if n and rules.min_p > 0:
        n = keep_min_p(row, ids, n, rules.min_p, least, scratch.order)
    if n and rules.typical_p < 1:
        n = keep_typical(row, ids, n, rules.typical_p, least, *unused)
    return n
