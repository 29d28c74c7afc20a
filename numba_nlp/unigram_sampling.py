"""Unigram segmentations besides the best one: the n best, random ones, and the score of a given one.

Texts here are normalised UTF-8 in arrays of bytes, and tables those of
:func:`numba_nlp.kernels.segment.unigram_memory.new_tables` and ``lattice_tables``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import number, shown, whole
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
    units: NDArray[np.uint32], text: str | bytes | NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Every key of a double array that a text begins with, shortest first.

    Parameters
    ----------
    units : uint32[n]
        For example ``trie_units`` of a vocabulary.
    text : str, bytes or uint8[m]
        As the keys are written: of a vocabulary, with U+2581 for a space.

    Returns
    -------
    lengths : int64[k]
        In bytes.
    values : int32[k]
        Of a vocabulary: ids.

    Raises
    ------
    TypeError
    ValueError
        A text that is not valid Unicode.
    """
    given: Any = units
    if not isinstance(given, np.ndarray) or units.dtype != np.uint32 or units.ndim != 1 or not units.size:
        raise TypeError(f"`units` must be a double array, uint32[n], got {shown(units)}")
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
    size = whole("size", size, 1, MAX_NBEST)
    data = _as_bytes(text)
    if data.size == 0:
        return [Segmentation(np.empty(0, np.int32), np.empty(0, np.int64), 0.0)]
    if size == 1:
        chosen = tables if encode_tables is None else encode_tables
        ids, token_ends = np.empty(data.size, np.int32), np.empty(data.size, np.int64)
        n = int(segment(chosen, data, 0, data.size, new_scratch(chosen, data.size), ids, token_ends, 0))
        return [Segmentation(ids[:n].copy(), token_ends[:n].copy(), 0.0)]
    lattice = new_lattice(tables, data)
    return [_segmentation(tables, data, path, total) for path, total in best_paths(lattice, size)]


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
    draw = checked_draw(alpha, nbest_size, n_samples, seed, stream)
    data = _as_bytes(text)
    if data.size == 0 or draw.nbest_size in (0, 1):
        return nbest(tables, data, 1) * draw.n_samples
    if draw.nbest_size > 1:
        listed = nbest(tables, data, draw.nbest_size)
        return [listed[i] for i in draw_among([one.score for one in listed], draw)]
    found = []
    for path in draw_paths(new_lattice(tables, data), draw):
        one = _segmentation(tables, data, path, 0.0)
        found.append(one._replace(score=score(tables, data, one.ids, one.token_ends)))
    return found


class Draw(NamedTuple):
    """Checked arguments of :func:`sample`."""

    alpha: float
    nbest_size: int
    n_samples: int
    seed: int
    stream: int

    @property
    def key(self) -> tuple[np.uint64, np.uint64]:
        """Of the random numbers."""
        return np.uint64(self.seed & 0xFFFFFFFFFFFFFFFF), np.uint64(self.stream & 0xFFFFFFFFFFFFFFFF)


def checked_draw(alpha: Any, nbest_size: Any, n_samples: Any, seed: Any, stream: Any) -> Draw:
    """Check the arguments of :func:`sample`.

    Raises
    ------
    TypeError, ValueError
    """
    return Draw(
        number("alpha", alpha, 0),
        whole("nbest_size", nbest_size, most=MAX_NBEST),
        whole("n_samples", n_samples, 0, 1 << 31),
        whole("seed", seed),
        whole("stream", stream),
    )


def draw_among(scores: Sequence[float], draw: Draw) -> list[int]:
    """Places in a list, each as often as its score says."""
    weights = draw.alpha * np.array(scores)
    shares = np.cumsum(np.exp(weights - weights.max()))
    drawn = [float(random_fraction(*draw.key, np.uint64(i))) * shares[-1] for i in range(draw.n_samples)]
    return [min(int(np.searchsorted(shares, x, side="right")), len(scores) - 1) for x in drawn]


def draw_paths(lattice: Lattice, draw: Draw) -> list[NDArray[np.int32]]:
    """Steps of paths, each as often as its score says."""
    n_characters = lattice.firsts.size - 2
    sums = np.empty(n_characters + 1, np.float64)
    sum_paths(lattice, draw.alpha, sums)
    path = np.empty(n_characters, np.int32)
    found = []
    for i in range(draw.n_samples):
        # each piece takes a number, and there are at most as many as characters
        first = int(sample_path(lattice, draw.alpha, sums, *draw.key, np.uint64(i * n_characters), path))
        found.append(path[first:].copy())
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


def token_ends_of(
    tables: UnigramTables,
    text: bytes | NDArray[np.uint8],
    ids: NDArray[np.int32],
    *,
    cuts: NDArray[np.int64] | None = None,
    given: Mapping[int, int] | None = None,
) -> NDArray[np.int64]:
    """Where the tokens of a segmentation end in a text.

    Parameters
    ----------
    tables : UnigramTables
    text : bytes or uint8[n]
    ids : int32[k]
        Unknown ones take as few characters as let the others follow.
    cuts : int64[p], optional
        Places that no token reaches over, the last of them the end of the text.
    given : Mapping of int to int, optional
        Places of single bytes that are no text, and the ids that stand there.

    Raises
    ------
    UnknownTokenError
        The pieces do not spell the text.
    """
    data = _as_bytes(text)
    unknown = int(tables.numbers[UNKNOWN_ID])
    is_byte = {int(byte_id) for byte_id in tables.byte_ids if byte_id >= 0}
    boundaries = np.append(np.flatnonzero((data & 0xC0) != 0x80), data.size)
    standing: Mapping[int, int] = {} if given is None else given

    def most(place: int) -> int:
        """Where a token from a place on ends at the latest."""
        return data.size if cuts is None else int(cuts[np.searchsorted(cuts, place, side="right")])

    def ends_of(token: int, places: list[int]) -> dict[int, int]:
        """Places that a token can end at, each with the last one that it can begin at."""
        found: dict[int, int] = {}
        if token == unknown and not is_byte:
            for end in boundaries[boundaries > places[0]].tolist() if places else ():
                last = max(place for place in places if place < end)
                if end <= most(last) and last not in standing:
                    found[end] = last
        for place in places:
            if place in standing:
                if standing[place] == token:
                    found[place + 1] = place
                continue
            if not 0 <= token < tables.piece_lengths.size or (token == unknown and not is_byte):
                continue
            if token in is_byte:
                if place < data.size and tables.byte_ids[data[place]] == token:
                    found[place + 1] = place
                continue
            end = place + int(tables.piece_lengths[token])
            if place < data.size and end <= most(place) and double_array.find(tables.units, data, place, end) == token:
                found[end] = place
        return found

    steps: list[dict[int, int]] = []
    places = [0]
    for place, token in enumerate(ids.tolist()):
        if not 0 <= token < tables.piece_lengths.size and token not in standing.values():
            raise UnknownTokenError(
                f"the id at place {place} is that of no piece of the model: text that the model lacks has no score"
            )
        steps.append(ends_of(token, places))
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


def best_paths(lattice: Lattice, size: int) -> list[tuple[NDArray[np.int32], float]]:
    """Steps and scores of the n best paths; memory of the search grows until it suffices."""
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
            return [(steps[offsets[i] : offsets[i + 1]], float(scores[i])) for i in range(n)]
        capacity *= 8


def _segmentation(
    tables: UnigramTables, data: NDArray[np.uint8], path: NDArray[np.int32], total: float
) -> Segmentation:
    ids, token_ends = np.empty(data.size, np.int32), np.empty(data.size, np.int64)
    n = int(write_path(tables, data, 0, path, 0, ids, token_ends, 0))
    return Segmentation(ids[:n].copy(), token_ends[:n].copy(), total)


def _as_bytes(text: str | bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    if isinstance(text, str):
        try:
            text = text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"`text` is not valid Unicode: {error}") from None
    if isinstance(text, bytes):
        return np.frombuffer(text, np.uint8)
    given: Any = text
    if not isinstance(given, np.ndarray) or given.dtype != np.uint8 or text.ndim != 1:
        raise TypeError(f"`text` must be str, bytes or uint8[n], got {shown(text)}")
    return np.ascontiguousarray(text)
