"""Memory of Unigram segmentation: what the kernels read of a vocabulary, and what one thread works with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp.kernels.tables.double_array import BASE_SHIFT, HAS_VALUE, LABEL_MASK, ROOT, VALUE_FLAG

#: Subtracted from the lowest score of a normal piece for a character that no piece holds.
UNKNOWN_PENALTY = 10.0
#: sentencepiece starts from 0 again when the running score has left this range.
RESET_LIMIT = 100000.0
#: Places in ``UnigramTables.numbers``.
UNKNOWN_ID, LONGEST, BYTE_FALLBACK, SPACE_BASE = range(4)
#: Places in ``UnigramTables.scores``.
UNKNOWN_SCORE, RESET, LARGEST, HALF_ULP = range(4)
#: Places in ``UnigramScratch.outcome``.
RUNNING, LIMIT = range(2)
#: Kinds of pieces that count here: those that give the score of unknown characters, and those with scores of their own.
KIND_NORMAL, KIND_USER_DEFINED = 0, 3
#: Status: a character belongs to no piece, and the vocabulary has no unknown token.
STATUS_NO_UNKNOWN = -5
#: Scores beyond would overflow a sum in single precision.
MAX_SCORE = 1e30


class UnigramTables(NamedTuple):
    """What segmentation reads; made by :func:`new_tables`. ``float`` is float32 for sentencepiece's arithmetic."""

    units: Any  # uint32[n]: double array of the pieces that text is compared with, their ids as values
    node_scores: Any  # float[n]: score of the piece that ends at a node, -inf where none ends
    piece_scores: Any  # float[V]: score of each id as it is added up
    piece_lengths: Any  # int32[V]: bytes
    byte_ids: Any  # int32[256]: ids of the byte pieces, -1 where there is none
    numbers: Any  # int64[4]: UNKNOWN_ID or -1, LONGEST piece in bytes, BYTE_FALLBACK, SPACE_BASE (below) or -1
    scores: Any  # float[4]: UNKNOWN_SCORE, RESET (inf: never), LARGEST absolute value of a score that may be added,
    #              HALF_ULP: a rounded sum is off by at most this times its absolute value


class UnigramScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_scratch`."""

    best: Any  # float[capacity + 1]: score of the best path to a position
    second: Any  # float[capacity + 1]: score of the best path that lost there
    nodes: Any  # int32[capacity + 1]: node of the last piece of the best path, or -n for an unknown one of n bytes
    path: Any  # int32[capacity + 1]
    origins: Any  # int32[capacity + 1]: where the last piece of the best path starts
    since: Any  # int32[capacity + 1]: characters since the last place before that no piece reaches across
    outcome: Any  # float64[2]: RUNNING score behind the text, LIMIT of running scores before it that change nothing


def new_scratch(tables: UnigramTables, capacity: int = 1 << 12) -> UnigramScratch:
    """Working memory for texts of up to ``capacity`` bytes.

    Parameters
    ----------
    tables : UnigramTables
    capacity : int
    """
    dtype = tables.node_scores.dtype
    return UnigramScratch(
        best=np.zeros(capacity + 1, dtype),
        second=np.zeros(capacity + 1, dtype),
        nodes=np.zeros(capacity + 1, np.int32),
        path=np.zeros(capacity + 1, np.int32),
        origins=np.zeros(capacity + 1, np.int32),
        since=np.zeros(capacity + 1, np.int32),
        outcome=np.zeros(2, np.float64),
    )


def user_defined_score(length: int) -> np.float32:
    """Score that sentencepiece 0.2.3 gives a user-defined piece: ``0.1 * (length - 1)``.

    Bytes count in ``Encode`` and characters in n-best lists and sampling, as it has it. (Up to 0.2.1 the score was
    ``length * max_score - 0.1``.)
    """
    return np.float32(0.1 * (length - 1))


def new_tables(
    units: NDArray[np.uint32],
    piece_lengths: ArrayLike,
    scores: ArrayLike,
    kinds: ArrayLike | None,
    *,
    unknown_id: int,
    byte_ids: ArrayLike | None = None,
    dtype: type[np.floating[Any]] = np.float32,
) -> UnigramTables:
    """Tables from a double array and the scores of the ids.

    Parameters
    ----------
    units : uint32[n]
        Double array that maps the pieces which text is compared with to their ids.
    piece_lengths : int[V]
        Bytes of each piece.
    scores : float[V]
    kinds : uint8[V] or None
        As ``piece_kinds`` in docs/data_contracts.md, for sentencepiece: user-defined pieces have scores of their own,
        and normal ones alone give the score of unknown characters. None, for tokenizers: scores are as they are, and
        every id counts.
    unknown_id : int
        -1 when there is none.
    byte_ids : int[256], optional
        Ids of the byte pieces, which take the place of unknown characters.
    dtype : type
        ``numpy.float32`` adds up like sentencepiece and starts from 0 again where it does, ``numpy.float64`` like
        tokenizers.

    Raises
    ------
    ValueError
        A score that is not finite or too large, or no normal piece.
    """
    lengths = np.ascontiguousarray(piece_lengths, dtype=np.int32)
    effective = np.array(scores, dtype=dtype)
    if not np.all(np.abs(effective) <= MAX_SCORE):
        worst = int(np.argmin(np.abs(effective) <= MAX_SCORE))
        raise ValueError(f"piece {worst} has score {effective[worst]}, expected a number up to {MAX_SCORE:g}")
    # -0.0 as 0.0: the two are equal in every comparison and sum of these kernels
    effective += dtype(0.0)
    counted = effective
    if kinds is not None:
        kind = np.asarray(kinds)
        counted = effective[kind == KIND_NORMAL]
        if not counted.size:
            raise ValueError("there is no normal piece, so unknown characters have no score")
        user_defined = kind == KIND_USER_DEFINED
        effective[user_defined] = [user_defined_score(int(length)) for length in lengths[user_defined]]
    unknown_score = dtype(counted.min(initial=dtype(MAX_SCORE)) - dtype(UNKNOWN_PENALTY))

    nodes, ids = _nodes_with_ids(units)
    node_scores = np.full(units.size, -np.inf, dtype)
    node_scores[nodes] = effective[ids]
    largest_score = max(abs(float(unknown_score)), float(np.abs(effective[ids]).max(initial=0)))
    return UnigramTables(
        units=units,
        node_scores=node_scores,
        piece_scores=effective,
        piece_lengths=lengths,
        byte_ids=np.full(256, -1, np.int32) if byte_ids is None else np.ascontiguousarray(byte_ids, dtype=np.int32),
        numbers=np.array(
            [unknown_id, int(lengths[ids].max(initial=0)), byte_ids is not None, _space_base(units)], np.int64
        ),
        scores=np.array(
            [
                unknown_score,
                RESET_LIMIT if dtype is np.float32 else np.inf,
                largest_score,
                np.finfo(dtype).eps / 2,
            ],
            dtype,
        ),
    )


def lattice_tables(tables: UnigramTables, piece_characters: ArrayLike, kinds: ArrayLike) -> UnigramTables:
    """Tables with the scores that sentencepiece takes for n-best lists and sampling.

    Parameters
    ----------
    tables : UnigramTables
        Made by :func:`new_tables`.
    piece_characters : int[V]
        Length of each piece in characters.
    kinds : uint8[V]
    """
    user_defined = np.flatnonzero(np.asarray(kinds) == KIND_USER_DEFINED)
    if not user_defined.size:
        return tables
    characters = np.asarray(piece_characters)
    piece_scores = tables.piece_scores.copy()
    piece_scores[user_defined] = [user_defined_score(int(n)) for n in characters[user_defined]]
    nodes, ids = _nodes_with_ids(tables.units)
    node_scores = tables.node_scores.copy()
    node_scores[nodes] = piece_scores[ids]
    return tables._replace(node_scores=node_scores, piece_scores=piece_scores)


def _nodes_with_ids(units: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes at which pieces end, and their ids."""
    raw = units.astype(np.int64)
    nodes = np.flatnonzero((raw & VALUE_FLAG == 0) & (raw & HAS_VALUE != 0))
    return nodes, raw[(raw[nodes] >> BASE_SHIFT) ^ 256] & (VALUE_FLAG - 1)


def _space_base(units: NDArray[np.uint32]) -> int:
    """Base of the node that the first two of the three bytes of U+2581 lead to; -1 when there is no such node."""
    node = ROOT
    for byte in (0xE2, 0x96):
        node = int(units[node]) >> BASE_SHIFT ^ byte
        if int(units[node]) & LABEL_MASK != byte:
            return -1
    return int(units[node]) >> BASE_SHIFT
