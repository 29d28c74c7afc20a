"""Twin of ``kernels/generation/sampling.py``: cumulative sums of all probabilities."""

from __future__ import annotations

import numpy as np

from numba_nlp.reference.generation.counter_random import uniform
from numba_nlp.reference.generation.row_values import holds_numbers
from numba_nlp.reference.generation.warpers import list_values, warp_row


def draw(row, number, sums):
    """The first token whose cumulative probability is above a number."""
    ids = np.zeros(len(row), np.int32)
    return draw_listed(row, ids, list_values(row, ids), number, None, None)


def draw_listed(row, ids, n, number, values, weights):
    """The same for listed tokens."""
    if n == 0:
        return -1, np.nan
    logits = row[ids[:n]].astype(np.float64)
    shares = np.exp(logits - logits.max())
    total = shares.sum()
    place = min(int(np.searchsorted(np.cumsum(shares), number * total, side="right")), n - 1)
    return int(ids[place]), logits[place] - logits.max() - np.log(total)


def draw_without_replacement(values, lanes, n, k, seed, row_key, step, picks, noisy):
    """The largest values with noise, by value."""
    possible = [i for i in range(n) if values[i] > -np.inf]
    noise = {i: -np.log(-np.log(uniform(seed, row_key, step, int(lanes[i])))) for i in possible}
    chosen = sorted(possible, key=lambda i: (-(float(values[i]) + noise[i]), i))[: max(k, 0)]
    picks[: len(chosen)] = sorted(chosen, key=lambda i: (-values[i], i))
    return len(chosen)


def sample_row(row, rules, seed, row_key, step, scratch):
    """What is kept, and one of that."""
    if not holds_numbers(row):
        return -1, np.nan
    n = warp_row(row, rules, scratch)
    return draw_listed(row, scratch.ids, n, uniform(seed, row_key, step, 0), None, None)
