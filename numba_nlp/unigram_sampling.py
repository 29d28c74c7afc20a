"""Unigram segmentations besides the best one: the n best, random ones, and the score of a given one.

Texts here are normalised UTF-8 in arrays of bytes, and tables those of
:func:`numba_nlp.kernels.segment.unigram_memory.new_tables` and ``lattice_tables``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import UnknownTokenError
from numba_nlp.kernels.segment.unigram import segment, write_path
from numba_nlp.kernels.segment.unigram_lattice import (
    Lattice,
    count_lattice,
    fill_lattice,
    sample_path,
    score_ids,
    sum_paths,
)
from numba_nlp.kernels.segment.unigram_memory import UNKNOWN_ID, UnigramTables, new_scratch
from numba_nlp.kernels.segment.unigram_nbest import MAX_ALL, MIN_QUEUE, SEARCH_FULL, Search, nbest_paths
from numba_nlp.kernels.tables import double_array
from numba_nlp.kernels.tables.random_bits import random_fraction

__all__ = [
    "MAX_NBEST",
    "Segmentation",
    "common_prefix_search",
    "nbest",
    "new_lattice",
    "sample",
    "score",
    "token_ends_of",
]

#: Most segmentations that sentencepiece lists.
MAX_NBEST = 512


class Segmentation(NamedTuple):
    """One way to cut a text into pieces.

    Attributes
    ----------
    ids : int32[k]
    token_ends : int64[k]
        Where each token ends in the normalised text, in bytes.
    score : float
    """

    ids: NDArray[np.int32]
    token_ends: NDArray[np.int64]
    score: float


def common_prefix_search(
    units: NDArray[np.uint32], text: bytes | NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Every key of a double array that a text begins with, shortest first.

    Parameters
    ----------
    units : uint32[n]
        For example ``trie_units`` of a vocabulary.
    text : bytes or uint8[m]

    Returns
    -------
    lengths : int64[k]
        In bytes.
    values : int32[k]
        Of a vocabulary: ids.
    """
    data = _as_bytes(text)
    lengths, values = np.empty(data.size, np.int64), np.empty(data.size, np.int32)
    n = int(double_array.common_prefix_search(units, data, 0, data.size, lengths, values))
    return lengths[:n].copy(), values[:n].copy()


def new_lattice(tables: UnigramTables, text: bytes | NDArray[np.uint8]) -> Lattice:
    """All pieces that a text may be cut into.

    Parameters
    ----------
    tables : UnigramTables
        With the scores of lattices.
    text : bytes or uint8[n]
    """
    data = _as_bytes(text)
    n_characters, n_nodes = (int(n) for n in count_lattice(tables, data, 0, data.size))
    lattice = Lattice(
        begins=np.empty(n_nodes, np.int32),
        ends=np.empty(n_nodes, np.int32),
        steps=np.empty(n_nodes, np.int32),
        scores=np.empty(n_nodes, tables.scores.dtype),
        firsts=np.empty(n_characters + 2, np.int64),
        by_end=np.empty(n_nodes, np.int32),
    )
    fill_lattice(tables, data, 0, data.size, np.empty(data.size + 1, np.int32), lattice)
    return lattice


def nbest(
    tables: UnigramTables, text: bytes | NDArray[np.uint8], size: int, *, encode_tables: UnigramTables | None = None
) -> list[Segmentation]:
    """The best segmentations, best first, with the ids and scores of sentencepiece's ``nbest_encode``.

    Parameters
    ----------
    tables : UnigramTables
        With the scores of lattices.
    text : bytes or uint8[n]
    size : int
        1 to ``MAX_NBEST``. For 1 sentencepiece gives what ``encode`` gives, with the score 0.
    encode_tables : UnigramTables, optional
        Tables with the scores of ``encode``, for ``size=1``. Default: ``tables``.

    Returns
    -------
    list of Segmentation
        At least one, of an empty text the empty one; fewer than ``size`` when there are no more, and only one when the
        search for more would be too long (sentencepiece's limits).

    Raises
    ------
    ValueError
        ``size`` out of range.
    """
    if not 1 <= size <= MAX_NBEST:
        raise ValueError(f"`size` must lie in [1, {MAX_NBEST}], got {size}")
    data = _as_bytes(text)
    if data.size == 0:
        return [Segmentation(np.empty(0, np.int32), np.empty(0, np.int64), 0.0)]
    if size == 1:
        chosen = tables if encode_tables is None else encode_tables
        ids, token_ends = np.empty(data.size, np.int32), np.empty(data.size, np.int64)
        n = int(segment(chosen, data, 0, data.size, new_scratch(chosen, data.size), ids, token_ends, 0))
        return [Segmentation(ids[:n].copy(), token_ends[:n].copy(), 0.0)]
    lattice = new_lattice(tables, data)
    steps, offsets, scores = _nbest_steps(lattice, size)
    return [
        _segmentation(tables, data, steps[offsets[i] : offsets[i + 1]], float(scores[i])) for i in range(scores.size)
    ]


def sample(
    tables: UnigramTables,
    text: bytes | NDArray[np.uint8],
    *,
    alpha: float,
    nbest_size: int = -1,
    n_samples: int = 1,
    seed: int = 0,
    stream: int = 0,
) -> list[Segmentation]:
    """Random segmentations, each with a probability proportional to ``exp(alpha * score)``.

    Parameters
    ----------
    tables : UnigramTables
        With the scores of lattices.
    text : bytes or uint8[n]
    alpha : float
        0: all segmentations alike; the larger, the closer to the best one.
    nbest_size : int
        Above 1: among that many best ones. 0 or 1: always the best. Negative: among all.
    n_samples : int
    seed, stream : int
        The result depends on these and the text only; give rows of a batch their number as ``stream``.

    Returns
    -------
    list of Segmentation
        Scores are those of the segmentations, without ``alpha``.

    Raises
    ------
    ValueError
        ``alpha`` negative or not finite, ``nbest_size`` too large, ``n_samples`` negative.
    """
    if not (np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"`alpha` must be a finite number of at least 0, got {alpha}")
    if n_samples < 0:
        raise ValueError(f"`n_samples` must be at least 0, got {n_samples}")
    data = _as_bytes(text)
    if data.size == 0 or nbest_size in (0, 1):
        return nbest(tables, data, 1) * n_samples
    key = np.uint64(seed & 0xFFFFFFFFFFFFFFFF), np.uint64(stream & 0xFFFFFFFFFFFFFFFF)
    if nbest_size > 1:
        listed = nbest(tables, data, nbest_size)
        weights = alpha * np.array([one.score for one in listed])
        shares = np.cumsum(np.exp(weights - weights.max()))
        drawn = [float(random_fraction(*key, np.uint64(i))) * shares[-1] for i in range(n_samples)]
        return [listed[min(int(np.searchsorted(shares, x, side="right")), len(listed) - 1)] for x in drawn]
    lattice = new_lattice(tables, data)
    n_characters = lattice.firsts.size - 2
    sums = np.empty(n_characters + 1, np.float64)
    sum_paths(lattice, float(alpha), sums)
    path = np.empty(n_characters, np.int32)
    found = []
    for i in range(n_samples):
        # each piece takes a number, and there are at most as many as characters
        first = int(sample_path(lattice, float(alpha), sums, *key, np.uint64(i * n_characters), path))
        one = _segmentation(tables, data, path[first:], 0.0)
        found.append(one._replace(score=score(tables, data, one.ids, one.token_ends)))
    return found


def score(
    tables: UnigramTables,
    text: bytes | NDArray[np.uint8],
    ids: NDArray[np.int32],
    token_ends: NDArray[np.int64],
) -> float:
    """Score of a segmentation, as n-best lists have it.

    Parameters
    ----------
    tables : UnigramTables
        With the scores of lattices.
    text : bytes or uint8[n]
    ids, token_ends : int32[k], int64[k]
        The tokens and where each ends in ``text``.

    Raises
    ------
    UnknownTokenError
        A token is not what its part of the text spells, or the tokens are not the whole text.
    """
    data = _as_bytes(text)
    if len(ids) != len(token_ends) or (int(token_ends[-1]) if len(token_ends) else 0) != data.size:
        raise UnknownTokenError(f"the {len(ids)} tokens do not end with the text, which has {data.size} bytes")
    total, status = score_ids(
        tables, data, 0, np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(token_ends, np.int64)
    )
    if status != 0:
        raise UnknownTokenError(
            "a token is not the piece that its part of the text spells; take `ids` and `token_ends` of the same text "
            "and vocabulary"
        )
    return float(total)


def token_ends_of(tables: UnigramTables, text: bytes | NDArray[np.uint8], ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where the tokens of a segmentation end in a text.

    Parameters
    ----------
    tables : UnigramTables
    text : bytes or uint8[n]
    ids : int32[k]
        Unknown ones take as few characters as let the others follow.

    Raises
    ------
    UnknownTokenError
        The pieces do not spell the text.
    """
    data = _as_bytes(text)
    unknown = int(tables.numbers[UNKNOWN_ID])
    is_byte = {int(number) for number in tables.byte_ids if number >= 0}
    boundaries = np.append(np.flatnonzero((data & 0xC0) != 0x80), data.size)

    def ends_of(number: int, places: list[int]) -> dict[int, int]:
        """Places that a token can end at, each with the last one that it can begin at."""
        found: dict[int, int] = {}
        if number == unknown and not is_byte:
            for end in boundaries[boundaries > places[0]].tolist() if places else ():
                found[end] = max(place for place in places if place < end)
            return found
        for place in places:
            if number in is_byte:
                if place < data.size and tables.byte_ids[data[place]] == number:
                    found[place + 1] = place
                continue
            end = place + int(tables.piece_lengths[number])
            if end <= data.size and double_array.find(tables.units, data, place, end) == number:
                found[end] = place
        return found

    steps: list[dict[int, int]] = []
    places = [0]
    for number in ids.tolist():
        if not 0 <= number < tables.piece_lengths.size:
            raise UnknownTokenError(f"id {number} is not in the vocabulary")
        steps.append(ends_of(number, places))
        places = sorted(steps[-1])
    if data.size not in places:
        raise UnknownTokenError(
            "the ids do not spell the text after normalisation; take ids of the same text and vocabulary"
        )
    token_ends = np.empty(len(steps), np.int64)
    end = data.size
    for i in range(len(steps) - 1, -1, -1):
        token_ends[i] = end
        end = steps[i][end]
    return token_ends


def _nbest_steps(lattice: Lattice, size: int) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32]]:
    """Paths of the n best; memory of the search grows until it suffices."""
    n_characters, n_nodes = lattice.firsts.size - 2, lattice.begins.size
    steps = np.empty(size * n_characters, np.int32)
    offsets, scores = np.empty(size + 1, np.int64), np.empty(size, np.float32)
    most = MAX_ALL + int(np.diff(lattice.firsts).max()) + 1
    capacity = 1 << 12
    while True:
        capacity = min(capacity, most)
        search = Search(
            ahead=np.empty(n_nodes, np.float32),
            nodes=np.empty(capacity, np.int32),
            following=np.empty(capacity, np.int32),
            totals=np.empty(capacity, np.float32),
            behind=np.empty(capacity, np.float32),
            marks=np.empty(capacity, np.uint8),
            queue=np.empty(capacity, np.int32),
            spare=np.empty(MIN_QUEUE, np.int32),
        )
        n = int(nbest_paths(lattice, size, search, steps, offsets, scores))
        if n != SEARCH_FULL:
            return steps, offsets, scores[:n]
        capacity *= 8


def _segmentation(
    tables: UnigramTables, data: NDArray[np.uint8], path: NDArray[np.int32], total: float
) -> Segmentation:
    ids, token_ends = np.empty(data.size, np.int32), np.empty(data.size, np.int64)
    n = int(write_path(tables, data, 0, path, 0, ids, token_ends, 0))
    return Segmentation(ids[:n].copy(), token_ends[:n].copy(), total)


def _as_bytes(text: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8) if isinstance(text, bytes) else np.ascontiguousarray(text, np.uint8)
