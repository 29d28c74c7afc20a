"""Unigram segmentations of a text that is cut into pieces: n-best lists, random ones, scores.

Each piece has a lattice of its own; the lattice of the text is one behind the other, so that a path through it is a
path through each. Where no entry of a vocabulary reaches over the cuts that is the lattice of the whole text, and
results are those of sentencepiece. Scores are in single precision, as there. Given ids (special tokens in the text)
stand between pieces and score 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp import unigram_sampling
from numba_nlp._encoders.rows import frozen
from numba_nlp.kernels.segment.unigram import write_path
from numba_nlp.kernels.segment.unigram_lattice import Lattice
from numba_nlp.kernels.segment.unigram_memory import UnigramTables
from numba_nlp.unigram_sampling import Draw, Segmentation

__all__ = ["Pieces", "given_tokens", "join", "nbest", "sample", "score"]

#: Stands for a given id; no byte of UTF-8.
_GIVEN = np.uint8(0xFF)
_NOTHING = Segmentation(np.empty(0, np.int32), np.empty(0, np.int64), 0.0)


class Pieces(NamedTuple):
    """A normalised text in pieces.

    Attributes
    ----------
    text : uint8[n]
        All of them, one behind the other; a byte 0xFF for each given id.
    ends : int64[p]
    fixed : int32[p]
        The given id, -1 for a piece of text.
    """

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    fixed: NDArray[np.int32]


def join(parts: Iterable[tuple[NDArray[np.uint8], int]]) -> Pieces:
    """Put pieces together.

    Parameters
    ----------
    parts : iterable of (uint8[n], int)
        Text, and -1; or anything, and a given id. Empty texts are left out.
    """
    mark = np.array([_GIVEN])
    kept = [(text if fixed < 0 else mark, fixed) for text, fixed in parts if fixed >= 0 or text.size]
    text = np.concatenate([text for text, _ in kept]) if kept else np.empty(0, np.uint8)
    ends = np.cumsum([text.size for text, _ in kept], dtype=np.int64)
    return Pieces(frozen(text), ends, np.array([fixed for _, fixed in kept], np.int32))


def nbest(tables: UnigramTables, pieces: Pieces, size: int) -> list[Segmentation]:
    """The best segmentations, best first (:func:`numba_nlp.unigram_sampling.nbest`); ``size`` is at least 2."""
    if not pieces.ends.size:
        return [_NOTHING]
    paths = unigram_sampling.best_paths(_lattice(tables, pieces), size)
    return [_segmentation(tables, pieces, path, total) for path, total in paths]


def sample(tables: UnigramTables, pieces: Pieces, draw: Draw) -> list[Segmentation]:
    """Random segmentations (:func:`numba_nlp.unigram_sampling.sample`); ``nbest_size`` is neither 0 nor 1."""
    if not pieces.ends.size:
        return [_NOTHING] * draw.n_samples
    if draw.nbest_size > 1:
        listed = nbest(tables, pieces, draw.nbest_size)
        return [listed[i] for i in unigram_sampling.draw_among([one.score for one in listed], draw)]
    found = []
    for path in unigram_sampling.draw_paths(_lattice(tables, pieces), draw):
        one = _segmentation(tables, pieces, path, 0.0)
        found.append(one._replace(score=_score(tables, pieces, one.ids, one.token_ends)))
    return found


def score(tables: UnigramTables, pieces: Pieces, is_given: NDArray[np.bool_], ids: NDArray[np.int32]) -> float:
    """Score of a segmentation.

    Parameters
    ----------
    tables : UnigramTables
    pieces : Pieces
        With ids as the tables have them, negative ones for those that they do not have.
    is_given : bool[p]
        Which pieces are given ids.
    ids : int32[k]
        In the same way.

    Raises
    ------
    UnknownTokenError
        The ids do not spell the text.
    """
    starts = np.concatenate(([0], pieces.ends[:-1])) if pieces.ends.size else pieces.ends
    given = {int(starts[i]): int(pieces.fixed[i]) for i in np.flatnonzero(is_given)}
    cuts = pieces.ends if pieces.ends.size else np.zeros(1, np.int64)
    token_ends = unigram_sampling.token_ends_of(tables, pieces.text, ids, cuts=cuts, given=given)
    return _score(tables, pieces, ids, token_ends)


def given_tokens(pieces: Pieces, token_ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which tokens are given ids: bool[k]."""
    return np.equal(pieces.text[token_ends - 1], _GIVEN)


def _score(tables: UnigramTables, pieces: Pieces, ids: NDArray[np.int32], token_ends: NDArray[np.int64]) -> float:
    """Score without the given ids, as if the text stood there without them."""
    is_given = given_tokens(pieces, token_ends)
    if not is_given.any():
        return unigram_sampling.score(tables, pieces.text, ids, token_ends)
    ends = token_ends - np.cumsum(is_given)
    text = frozen(pieces.text[pieces.text != _GIVEN])
    return unigram_sampling.score(tables, text, ids[~is_given], ends[~is_given])


def _lattice(tables: UnigramTables, pieces: Pieces) -> Lattice:
    """The lattices of all pieces, one behind the other."""
    if pieces.ends.size == 1 and pieces.fixed[0] < 0:
        return unigram_sampling.new_lattice(tables, pieces.text)
    parts = []
    start = 0
    for end, fixed in zip(pieces.ends.tolist(), pieces.fixed.tolist(), strict=True):
        text = pieces.text[start:end]
        parts.append(_one_node(tables) if fixed >= 0 else unigram_sampling.new_lattice(tables, text))
        start = end
    n_characters, n_nodes = 0, 0
    begins, ends, firsts, by_end = [], [], [np.zeros(1, np.int64)], []
    for part in parts:
        begins.append(part.begins + np.int32(n_characters))
        ends.append(part.ends + np.int32(n_characters))
        by_end.append(part.by_end + np.int32(n_nodes))
        # nodes that end at the first character are those that end the part before
        firsts.append(part.firsts[1:-1] + n_nodes)
        n_characters += part.firsts.size - 2
        n_nodes += part.begins.size
    firsts.append(np.array([n_nodes], np.int64))
    steps, scores = ([getattr(part, name) for part in parts] for name in ("steps", "scores"))
    return Lattice(*map(np.concatenate, (begins, ends, steps, scores, firsts, by_end)))


def _one_node(tables: UnigramTables) -> Lattice:
    """Lattice of a given id: one character, whose step means nothing."""
    return Lattice(
        begins=np.zeros(1, np.int32),
        ends=np.ones(1, np.int32),
        steps=np.zeros(1, np.int32),
        scores=np.zeros(1, tables.scores.dtype),
        firsts=np.array([0, 0, 1], np.int64),
        by_end=np.zeros(1, np.int32),
    )


def _segmentation(tables: UnigramTables, pieces: Pieces, path: NDArray[np.int32], total: float) -> Segmentation:
    """Ids of a path, piece by piece: unknown characters become one token within a piece only."""
    room = pieces.text.size
    ids, token_ends = np.empty(room, np.int32), np.empty(room, np.int64)
    lengths = np.where(path >= 0, tables.piece_lengths[np.maximum(path, 0)], -path).astype(np.int64)
    n, first, start = 0, 0, 0
    for end, fixed in zip(pieces.ends.tolist(), pieces.fixed.tolist(), strict=True):
        if fixed >= 0:
            ids[n], token_ends[n] = fixed, end
            n, first, start = n + 1, first + 1, end
            continue
        last, reached = first, start
        while reached < end:
            reached += int(lengths[last])
            last += 1
        n = int(write_path(tables, pieces.text, start, path[first:last], 0, ids, token_ends, n))
        first, start = last, end
    return Segmentation(ids[:n].copy(), token_ends[:n].copy(), total)
