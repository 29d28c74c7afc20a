"""Twin of ``kernels/generation/row_selection.py`` by Python's sort."""

from __future__ import annotations

from numba_nlp.reference.generation.row_values import block_maxima


def select_top(row, k, maxima, values, indices):
    """The k largest values and their indices."""
    best = sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]
    for place, i in enumerate(best):
        values[place] = row[i]
        indices[place] = i
    return len(best)


def select_blocks(row, k, maxima, values, indices):
    """The same; the maxima save time only."""
    return select_top(row, k, maxima, values, indices)


def gather_best(row, k, maxima, values, indices):
    """The same with the worst one in front."""
    n = select_top(row, k, maxima, values, indices)
    values[:n], indices[:n] = values[:n][::-1].copy(), indices[:n][::-1].copy()
    return n


def offer_best(value, index, k, values, indices, n):
    """Keep the k best of those that are there and a new one, the worst one in front."""
    entries = [*zip(values[:n], indices[:n], strict=True), (value, index)]
    entries = sorted(entries, key=lambda entry: (-entry[0], entry[1]))[:k][::-1]
    for place, (one_value, one_index) in enumerate(entries):
        values[place], indices[place] = one_value, one_index
    return len(entries)


def sort_best(values, indices, n):
    """The best first."""
    order = sorted(range(n), key=lambda place: (-values[place], indices[place]))
    values[:n], indices[:n] = values[order], indices[order]


def select_changed(row, k, maxima, values, indices):
    """The same; and the maxima may become those of the row."""
    block_maxima(row, maxima)
    return select_top(row, k, maxima, values, indices)
