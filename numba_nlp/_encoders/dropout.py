"""BPE-dropout over batches: blocks of rows on threads, and the merges that it needs besides those of a vocabulary.

Merging with all merges makes a piece in one way, so that one pair is enough for each piece. Where merges are left out
the other pairs whose text is a piece may come next to each other; where a vocabulary has no list of merges they merge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import number, whole
from numba_nlp._encoders.chunks import CHUNK_BYTES
from numba_nlp._encoders.rows import Encoded, Segments, frozen
from numba_nlp.kernels.tables.merge_table import new_merge_table

__all__ = ["Dropout", "EverySplit", "checked_dropout", "drop_until_done", "encode_in_blocks", "every_split"]

_Text = TypeVar("_Text", str, bytes)


class Dropout(NamedTuple):
    """With which probability merges are left out, and of which random numbers."""

    probability: float
    seed: int

    def state(self, first_row: int) -> NDArray[np.uint64]:
        """Arguments of the random numbers of a block of rows."""
        return np.array([self.seed, first_row, 0], np.uint64)


def checked_dropout(probability: Any, seed: Any) -> Dropout | None:
    """What the arguments of a call mean; None for merging without dropout.

    Raises
    ------
    TypeError, ValueError
        No probability, or no seed.
    """
    chance, start = number("dropout", probability, 0, 1), whole("seed", seed, 0, (1 << 64) - 1)
    return Dropout(chance, start) if chance > 0 else None


class EverySplit(NamedTuple):
    """Every pair of symbols whose text is a piece.

    Attributes
    ----------
    merge_table, merge_pairs, merge_symbols : uint32[2^k], uint64[M], int32[M]
    merge_ranks : int32[M]
        The same for all pairs of one piece.
    symbol_ids : int32[S]
        With the symbols that only these pairs make.
    """

    merge_table: NDArray[np.uint32]
    merge_pairs: NDArray[np.uint64]
    merge_symbols: NDArray[np.int32]
    merge_ranks: NDArray[np.int32]
    symbol_ids: NDArray[np.int32]


def every_split(
    symbols: Mapping[_Text, int], symbol_ids: NDArray[np.int32], pieces: Iterable[tuple[_Text, int, int]]
) -> EverySplit:
    """List every pair.

    Parameters
    ----------
    symbols : Mapping
        Texts of the symbols there are.
    symbol_ids : int32[S]
    pieces : iterable of (text, id, rank)
        What may be made.

    Raises
    ------
    ValueError
        The pairs defeat the hash of the merge table.
    """
    numbers = dict(symbols)
    ids = symbol_ids.tolist()
    listed = sorted(pieces, key=lambda piece: piece[2])
    for text, piece_id, _ in listed:
        if text not in numbers:
            numbers[text] = len(ids)
            ids.append(piece_id)
    merges = [
        (numbers[text[:cut]], numbers[text[cut:]], numbers[text], rank)
        for text, _, rank in listed
        for cut in range(1, len(text))
        if text[:cut] in numbers and text[cut:] in numbers
    ]
    lefts, rights, products, ranks = np.array(merges, np.int32).reshape(-1, 4).T
    table, pairs = new_merge_table(np.ascontiguousarray(lefts), np.ascontiguousarray(rights))
    made = table, pairs, products.copy(), ranks.copy(), np.array(ids, np.int32)
    return EverySplit(*(frozen(array) for array in made))


def drop_until_done(drop: Callable[[int, int], int], n_rows: int, capacity: int, limit: int) -> None:
    """Call a kernel until all rows are done, with more memory each time that it needs more.

    Parameters
    ----------
    drop : callable
        ``(first row, capacity) -> row to go on with``.
    n_rows : int
    capacity, limit : int
        To begin with, and at most.

    Raises
    ------
    ValueError
        A row takes more.
    """
    row = drop(0, capacity)
    while row < n_rows:
        if capacity >= limit:
            raise ValueError(f"row {row} is too long to be encoded with dropout; split the text into shorter rows")
        capacity = min(2 * capacity, limit)
        row = drop(row, capacity)


def encode_in_blocks(
    encode: Callable[[int, int, Segments | None], tuple[NDArray[np.int32], NDArray[np.int64]]],
    sizes: NDArray[np.int64],
    segments: Segments | None,
    num_threads: int,
) -> Encoded:
    """Encode blocks of rows on threads.

    Parameters
    ----------
    encode : callable
        ``(first row, last row, their segments) -> ids, offsets``.
    sizes : int64[rows]
        Bytes of each row.
    segments : Segments or None
    num_threads : int

    Returns
    -------
    Encoded
        Without spans.
    """
    done = np.cumsum(sizes)
    bounds = [0]
    while bounds[-1] < sizes.size:
        before = int(done[bounds[-1] - 1]) if bounds[-1] else 0
        bounds.append(max(int(np.searchsorted(done, before + CHUNK_BYTES, side="right")), bounds[-1] + 1))

    def block(number: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        first, last = bounds[number], bounds[number + 1]
        return encode(first, last, None if segments is None else segments.of_rows(first, last))

    numbers = range(len(bounds) - 1)
    if num_threads == 1 or len(numbers) < 2:
        parts = list(map(block, numbers))
    else:
        with ThreadPoolExecutor(num_threads) as executor:
            parts = list(executor.map(block, numbers))
    ids = [part[0] for part in parts]
    counts = [np.diff(part[1]) for part in parts]
    offsets = np.concatenate(([0], np.cumsum(np.concatenate(counts)))) if counts else np.zeros(1, np.int64)
    return Encoded(np.concatenate(ids) if ids else np.empty(0, np.int32), offsets.astype(np.int64), None, None)
