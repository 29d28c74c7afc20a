"""The n best segmentations of a text, in the order and with the scores of sentencepiece 0.2.3.

A* from the end of the text (Nagata, "A stochastic Japanese morphological analyzer using a forward-DP backward-A*
N-best search algorithm", COLING 1994): what lies ahead of a partial path, its best continuation to the start, is known
exactly from a forward pass, so paths come out best first.

Equal scores come in the order in which they leave sentencepiece's priority queue, so the queue is that of the C++
library it is built with (``std::priority_queue`` of libstdc++: a binary heap whose hole is first moved down to a leaf).
The same holds for what sentencepiece does when the search grows too large: the queue is cut to its best few
hypotheses, and after ten such cuts or half a million hypotheses there is but one answer, the best path. (Its limit of
30 seconds on the wall clock is left out.)

Twin: ``numba_nlp.reference.segment.unigram_nbest``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numba_nlp._jit import inlined, kernel

#: sentencepiece's limits of the search.
MAX_QUEUE, MIN_QUEUE, MAX_NEW, MAX_ALL, MAX_CUTS = 10000, 512, 100000, 500000, 10
#: Stands for the ends of the text in place of a node.
EDGE = -1
#: Status: ``Search`` is too small.
SEARCH_FULL = -6


class Search(NamedTuple):
    """Working memory of one search."""

    ahead: Any  # float32[nodes]: best score of a path from the start of the text up to and with a node
    nodes: Any  # int32[capacity]: first node of a hypothesis
    following: Any  # int32[capacity]: hypothesis of the rest, -1 behind the end
    totals: Any  # float32[capacity]: score with the best continuation
    behind: Any  # float32[capacity]: score of the part that is fixed
    marks: Any  # uint8[capacity]
    queue: Any  # int32[capacity]: hypotheses, a heap
    spare: Any  # int32[MIN_QUEUE]


@kernel
def score_ahead(lattice, ahead):
    """Forward pass: the score of the best path to each node.

    Parameters
    ----------
    lattice : Lattice
    ahead : float32[nodes]
        Written: score of the best path that ends with the node.

    Returns
    -------
    float64
        Score of the best path to the end.
    """
    best = lattice.scores.dtype.type(0)
    node = 0
    for place in range(lattice.firsts.size - 1):
        first, last = lattice.firsts[place], lattice.firsts[place + 1]
        if place > 0:
            best = ahead[lattice.by_end[first]]
            for i in range(first + 1, last):
                best = max(best, ahead[lattice.by_end[i]])
        while node < lattice.begins.size and lattice.begins[node] == place:
            ahead[node] = best + lattice.scores[node]
            node += 1
    return np.float64(best)


@kernel
def best_path(lattice, ahead, path):
    """Steps of the best path, as sentencepiece's lattice finds it.

    Parameters
    ----------
    lattice : Lattice
    ahead : float32[nodes]
        From :func:`score_ahead`.
    path : int32[k]
        The steps are written to its end.

    Returns
    -------
    int64
        Where they start.

    Notes
    -----
    The node before another one is the first with the highest sum *with* that one, after rounding; not always the first
    with the highest score alone.
    """
    first = np.int64(path.size)
    end = np.int64(lattice.firsts.size - 2)
    score = lattice.scores.dtype.type(0)
    while end > 0:
        chosen = np.int64(lattice.by_end[lattice.firsts[end]])
        for i in range(lattice.firsts[end] + 1, lattice.firsts[end + 1]):
            node = np.int64(lattice.by_end[i])
            if ahead[node] + score > ahead[chosen] + score:
                chosen = node
        first -= 1
        path[first] = lattice.steps[chosen]
        score = lattice.scores[chosen]
        end = np.int64(lattice.begins[chosen])
    return first


@inlined
def _rise(queue, totals, hole, entry):
    """Put an entry into a hole, or above: ``std::__push_heap``."""
    while hole > 0:
        parent = (hole - 1) // 2
        if not totals[queue[parent]] < totals[entry]:
            break
        queue[hole] = queue[parent]
        hole = parent
    queue[hole] = np.int32(entry)


@kernel
def push_entry(queue, totals, n, entry):
    """Add an entry to a heap.

    Parameters
    ----------
    queue : int32[k]
        Heap of ``n`` entries, the highest total first.
    totals : float32[m]
    n : int64
    entry : int64

    Returns
    -------
    int64
        ``n + 1``.
    """
    _rise(queue, totals, n, entry)
    return n + 1


@kernel
def pop_entry(queue, totals, n):
    """Take the first entry from a heap: ``std::pop_heap``.

    Parameters
    ----------
    queue, totals, n
        As of :func:`push_entry`, ``n >= 1``.

    Returns
    -------
    int64
        The entry; the heap has ``n - 1`` left.
    """
    top = np.int64(queue[0])
    left = n - 1
    if left == 0:
        return top
    entry = np.int64(queue[left])
    hole = np.int64(0)
    child = np.int64(0)
    while child < (left - 1) // 2:
        child = 2 * (child + 1)
        if totals[queue[child]] < totals[queue[child - 1]]:
            child -= 1
        queue[hole] = queue[child]
        hole = child
    if left % 2 == 0 and child == (left - 2) // 2:
        child = 2 * (child + 1)
        queue[hole] = queue[child - 1]
        hole = child - 1
    _rise(queue, totals, hole, entry)
    return top


@inlined
def _cut_queue(search, queued, keep, used):
    """Keep the best entries of the queue; returns the number of hypotheses that they hold on to."""
    for i in range(keep):
        search.spare[i] = np.int32(pop_entry(search.queue, search.totals, queued - i))
    for i in range(used):
        search.marks[i] = 0
    held = np.int64(0)
    for i in range(keep):
        push_entry(search.queue, search.totals, i, np.int64(search.spare[i]))
        hypothesis = np.int64(search.spare[i])
        while hypothesis >= 0 and search.marks[hypothesis] == 0:
            search.marks[hypothesis] = 1
            held += 1
            hypothesis = np.int64(search.following[hypothesis])
    return held


@kernel
def nbest_paths(lattice, size, search, steps, offsets, scores):
    """The best paths, best first.

    Parameters
    ----------
    lattice : Lattice
        Of a text that is not empty.
    size : int64
        How many, at least 2. (For one there is :func:`numba_nlp.kernels.segment.unigram.segment`.)
    search : Search
    steps : int32[size * characters]
        Written: the steps of all paths, one behind the other.
    offsets : int64[size + 1]
        Written: path ``i`` is ``steps[offsets[i]:offsets[i + 1]]``.
    scores : float32[size]
        Written.

    Returns
    -------
    int64
        Number of paths; ``SEARCH_FULL``.
    """
    n_characters = np.int64(lattice.firsts.size - 2)
    best = score_ahead(lattice, search.ahead)
    nodes, following, totals, behind = search.nodes, search.following, search.totals, search.behind
    capacity = nodes.size
    nodes[0], following[0], totals[0], behind[0] = EDGE, -1, best, 0.0
    search.queue[0] = 0
    queued, used = np.int64(1), np.int64(1)
    # hypotheses in sentencepiece's memory, which a cut makes smaller; `used` only grows
    held, most_held, cuts = np.int64(1), np.int64(MAX_NEW), 0
    least_queue = min(MIN_QUEUE, size * 10)
    found = np.int64(0)
    offsets[0] = 0
    given_up = False
    while queued > 0:
        top = np.int64(pop_entry(search.queue, totals, queued))
        queued -= 1
        node = np.int64(nodes[top])
        end = n_characters if top == 0 else (np.int64(lattice.begins[node]) if node >= 0 else np.int64(-1))
        if end < 0:
            # at the start of the text
            place = offsets[found]
            hypothesis = np.int64(following[top])
            while hypothesis > 0:
                steps[place] = lattice.steps[nodes[hypothesis]]
                place += 1
                hypothesis = np.int64(following[hypothesis])
            scores[found] = totals[top]
            found += 1
            offsets[found] = place
            if found == size:
                break
            continue
        low, high = lattice.firsts[end], lattice.firsts[end + 1]
        grown = np.int64(1) if end == 0 else high - low
        if used + grown > capacity:
            return np.int64(SEARCH_FULL)
        for i in range(grown):
            if end == 0:
                nodes[used] = EDGE
                behind[used] = behind[top]
                totals[used] = behind[top]
            else:
                other = lattice.by_end[low + i]
                nodes[used] = other
                behind[used] = lattice.scores[other] + behind[top]
                totals[used] = search.ahead[other] + behind[top]
            following[used] = np.int32(top)
            queued = push_entry(search.queue, totals, queued, used)
            used += 1
        held += grown
        if used >= MAX_ALL:
            given_up = True
            break
        if queued >= MAX_QUEUE or (queued > least_queue and held >= most_held):
            if cuts >= MAX_CUTS:
                given_up = True
                break
            cuts += 1
            keep = min(queued, least_queue)
            held = _cut_queue(search, queued, keep, used)
            queued = np.int64(keep)
            most_held = held + MAX_NEW
    if given_up:
        first = best_path(lattice, search.ahead, steps)
        n = steps.size - first
        for i in range(n):
            steps[i] = steps[first + i]
        offsets[1] = n
        scores[0] = best
        return np.int64(1)
    return found
