"""All segmentations of a text at once: the lattice of its pieces, and what can be asked of it but the n best.

Nodes are pieces at a place of the text, in the order of their start and, of one start, of their length; a character of
which no piece consists is a node too. Scores are sentencepiece's for its n-best lists and sampling: those of
:mod:`numba_nlp.kernels.segment.unigram`, except that the length of a user-defined piece counts characters.

Sampling is forward filtering and backward sampling (Kudo, "Subword regularization", ACL 2018): a segmentation comes
with a probability proportional to ``exp(alpha * score)``. Sums are in double precision, where sentencepiece takes
single.

:mod:`numba_nlp.kernels.segment.unigram_nbest` finds the n best.

Twin: ``numba_nlp.reference.segment.unigram_lattice``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.unigram import character_length
from numba_nlp.kernels.segment.unigram_memory import UNKNOWN_ID, UNKNOWN_SCORE
from numba_nlp.kernels.tables.double_array import ROOT, step, value_at
from numba_nlp.kernels.tables.random_bits import random_fraction


class Lattice(NamedTuple):
    """Nodes of one text; made by ``numba_nlp.unigram_sampling.new_lattice``."""

    begins: Any  # int32[nodes]: character where a node starts
    ends: Any  # int32[nodes]: character before which it ends
    steps: Any  # int32[nodes]: id, or -n for an unknown character of n bytes
    scores: Any  # float32[nodes]
    firsts: Any  # int64[characters + 2]: nodes that end at character i are by_end[firsts[i]:firsts[i + 1]]
    by_end: Any  # int32[nodes]


@kernel
def count_lattice(tables, text, start, stop):
    """Size of the lattice of ``text[start:stop]``.

    Parameters
    ----------
    tables : UnigramTables
    text : uint8[m]
        UTF-8.
    start, stop : int64

    Returns
    -------
    n_characters, n_nodes : int64, int64
    """
    n_characters, n_nodes = np.int64(0), np.int64(0)
    at = start
    while at < stop:
        following = at + character_length(np.int64(text[at]), stop - at)
        known = False
        node = np.int64(ROOT)
        for place in range(at, stop):
            node = step(tables.units, node, np.int64(text[place]))
            if node < 0:
                break
            if value_at(tables.units, node) >= 0:
                n_nodes += 1
                known = known or place + 1 == following
        if not known:
            n_nodes += 1
        n_characters += 1
        at = following
    return n_characters, n_nodes


@kernel
def fill_lattice(tables, text, start, stop, characters, lattice):
    """Enter the nodes of ``text[start:stop]``.

    Parameters
    ----------
    tables : UnigramTables
        With the scores of lattices (``numba_nlp.kernels.segment.unigram_memory.lattice_tables``).
    text : uint8[m]
        UTF-8.
    start, stop : int64
    characters : int32[stop - start + 1]
        Scratch: the number of characters that start before a byte.
    lattice : Lattice
        Written; sized by :func:`count_lattice`.

    Returns
    -------
    int64
        Number of nodes.
    """
    n = stop - start
    n_characters = np.int32(0)
    at = np.int64(0)
    while at < n:
        following = at + character_length(np.int64(text[start + at]), n - at)
        characters[at] = n_characters
        n_characters += np.int32(1)
        for place in range(at + 1, following):
            characters[place] = n_characters
        at = following
    characters[n] = n_characters

    firsts = lattice.firsts
    for i in range(firsts.size):
        firsts[i] = 0
    n_nodes = np.int64(0)
    at = np.int64(0)
    while at < n:
        following = at + character_length(np.int64(text[start + at]), n - at)
        known = False
        node = np.int64(ROOT)
        for place in range(at, n):
            node = step(tables.units, node, np.int64(text[start + place]))
            if node < 0:
                break
            piece = value_at(tables.units, node)
            if piece >= 0:
                known = known or place + 1 == following
                lattice.steps[n_nodes] = np.int32(piece)
                lattice.scores[n_nodes] = tables.node_scores[node]
                lattice.begins[n_nodes] = characters[at]
                lattice.ends[n_nodes] = characters[place + 1]
                firsts[np.int64(characters[place + 1]) + 1] += 1
                n_nodes += 1
        if not known:
            lattice.steps[n_nodes] = np.int32(at - following)
            lattice.scores[n_nodes] = tables.scores[UNKNOWN_SCORE]
            lattice.begins[n_nodes] = characters[at]
            lattice.ends[n_nodes] = characters[following]
            firsts[np.int64(characters[following]) + 1] += 1
            n_nodes += 1
        at = following
    # counts to places; entering moves firsts[end] up, to be put back
    for i in range(1, firsts.size):
        firsts[i] += firsts[i - 1]
    for node in range(n_nodes):
        end = lattice.ends[node]
        lattice.by_end[firsts[end]] = np.int32(node)
        firsts[end] += 1
    for i in range(firsts.size - 1, 0, -1):
        firsts[i] = firsts[i - 1]
    firsts[0] = 0
    return n_nodes


@inlined
def add_logarithms(a, b):
    """``log(exp(a) + exp(b))``.

    Parameters
    ----------
    a, b : float64
        Not both -inf.

    Returns
    -------
    float64
    """
    high, low = (a, b) if a > b else (b, a)
    return high + np.log1p(np.exp(low - high))


@kernel
def sum_paths(lattice, alpha, sums):
    """Logarithm of the summed weights ``exp(alpha * score)`` of all paths to each character.

    Parameters
    ----------
    lattice : Lattice
    alpha : float64
    sums : float64[characters + 1]
        Written.

    Returns
    -------
    float64
        That of the whole text.
    """
    sums[0] = 0.0
    for end in range(1, sums.size):
        total = -np.inf
        for i in range(lattice.firsts[end], lattice.firsts[end + 1]):
            node = lattice.by_end[i]
            weight = sums[lattice.begins[node]] + alpha * np.float64(lattice.scores[node])
            total = weight if total == -np.inf else add_logarithms(total, weight)
        sums[end] = total
    return sums[sums.size - 1]


@kernel
def sample_path(lattice, alpha, sums, seed, stream, counter, path):
    """Draw a path with a probability proportional to ``exp(alpha * score)``.

    Parameters
    ----------
    lattice : Lattice
    alpha : float64
    sums : float64[characters + 1]
        From :func:`sum_paths` with this ``alpha``.
    seed, stream, counter : uint64
        Of :func:`numba_nlp.kernels.tables.random_bits.random_fraction`; each piece takes a number, from ``counter``
        on.
    path : int32[k]
        The steps are written to its end; ``k`` is at least the number of characters.

    Returns
    -------
    int64
        Where the steps start in ``path``.
    """
    first = np.int64(path.size)
    end = np.int64(sums.size - 1)
    while end > 0:
        drawn = random_fraction(seed, stream, counter)
        counter += np.uint64(1)
        chosen = np.int64(-1)
        for i in range(lattice.firsts[end], lattice.firsts[end + 1]):
            node = np.int64(lattice.by_end[i])
            weight = sums[lattice.begins[node]] + alpha * np.float64(lattice.scores[node]) - sums[end]
            drawn -= np.exp(weight)
            if weight > -np.inf:
                # the last one that can be, where rounding leaves a rest
                chosen = node
            if drawn < 0.0:
                break
        first -= 1
        path[first] = lattice.steps[chosen]
        end = np.int64(lattice.begins[chosen])
    return first


@kernel
def score_ids(tables, text, start, ids, token_ends):
    """Score of a given segmentation, as sentencepiece adds up those of n-best lists: from the end, in single precision.

    Parameters
    ----------
    tables : UnigramTables
        With the scores of lattices.
    text : uint8[m]
        UTF-8.
    start : int64
        Where the first token starts.
    ids, token_ends : int32[k], int64[k]
        The tokens. Unknown ones, and the ids of bytes, count once for each character that starts in them.

    Returns
    -------
    score, status : float64, int64
        Status ``STATUS_NOT_TILING`` when a token is not the piece that its text spells or goes backwards, else 0.
    """
    total = tables.scores.dtype.type(0)
    for i in range(ids.size - 1, -1, -1):
        begin = start if i == 0 else token_ends[i - 1]
        end = token_ends[i]
        if end <= begin:
            return 0.0, np.int64(STATUS_NOT_TILING)
        node = np.int64(ROOT)
        for place in range(begin, end):
            if node >= 0:
                node = step(tables.units, node, np.int64(text[place]))
        if node >= 0 and value_at(tables.units, node) == ids[i]:
            total = tables.node_scores[node] + total
            continue
        is_byte = end == begin + 1 and ids[i] == tables.byte_ids[text[begin]]
        if ids[i] != tables.numbers[UNKNOWN_ID] and not is_byte:
            return 0.0, np.int64(STATUS_NOT_TILING)
        for place in range(begin, end):
            if text[place] & 0xC0 != 0x80:
                total = tables.scores[UNKNOWN_SCORE] + total
    return np.float64(total), np.int64(0)
