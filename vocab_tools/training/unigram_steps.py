"""The steps of Unigram training: expectation and maximisation, and pruning by what would be lost.

Words are cut into a fixed number of blocks of about equal work, and what the blocks give is added in their order, so
the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.training.unigram_em import add_expected, maximise, weigh_pieces
from numba_nlp.kernels.training.unigram_lattices import keep_entries
from numba_nlp.kernels.training.unigram_prune import ALWAYS_KEPT, NEVER_USED, add_uses, find_losses
from vocab_tools.training.unigram_seeding import Corpus, Pieces

__all__ = ["Step", "UnigramSteps", "unknown_score"]

N_BLOCKS = 8
#: What must be expected of a piece; as in the reference.
LEAST_EXPECTED = 0.5
#: A character without a piece is that much worse than the worst piece.
UNKNOWN_PENALTY = 10.0


class Step(NamedTuple):
    """What one step of expectation and maximisation came to.

    Attributes
    ----------
    n_pieces : int
    objective : float
        Negative logarithm of probability for a word.
    """

    n_pieces: int
    objective: float


def unknown_score(scores: NDArray[np.float64]) -> float:
    """Score of a character without a piece."""
    return float(scores.min()) - UNKNOWN_PENALTY


class UnigramSteps:
    """Training under way.

    Parameters
    ----------
    corpus : Corpus
        At least one word.
    pieces : Pieces
        Changed.
    pool : ThreadPoolExecutor
    """

    def __init__(self, corpus: Corpus, pieces: Pieces, pool: ThreadPoolExecutor) -> None:
        self.pieces = pieces
        self._corpus = corpus
        self._pool = pool
        self._n_words = float(corpus.counts.sum())
        work = pieces.offsets[corpus.starts[1:]] + 2 * corpus.starts[1:]
        cuts = np.searchsorted(work, np.linspace(0, work[-1], N_BLOCKS + 1)[1:-1])
        self._bounds = [0, *cuts.tolist(), corpus.counts.size]
        longest = max(int(np.diff(corpus.starts).max()), int(pieces.piece_lengths.max()) + 1)
        self._floats = [np.empty((2, longest), np.float64) for _ in range(N_BLOCKS)]
        self._ints = [np.empty((2, longest), np.int32) for _ in range(N_BLOCKS)]

    def _tables(self, unknown: float) -> Any:
        """Arguments that the kernels of pruning share."""
        pieces = self.pieces
        return pieces.character_pieces, pieces.offsets, pieces.entries, pieces.lengths, pieces.scores, unknown

    def _blocks(self, run: Callable[[int], Any]) -> list[Any]:
        return list(self._pool.map(run, range(N_BLOCKS)))

    def improve(self) -> Step:
        """One step of expectation and maximisation; pieces that are hardly expected go."""
        pieces, corpus = self.pieces, self._corpus
        n = pieces.scores.size
        unknown = unknown_score(pieces.scores)
        weights = np.empty(n + 1)
        weigh_pieces(pieces.scores, pieces.piece_lengths, unknown, weights)
        expected = np.zeros((N_BLOCKS, n))

        def run(block: int) -> float:
            forward, backward = self._floats[block]
            return float(
                add_expected(
                    corpus.codes, corpus.starts, corpus.counts, self._bounds[block], self._bounds[block + 1],
                    pieces.character_pieces, pieces.offsets, pieces.entries, pieces.lengths, pieces.scores, unknown,
                    weights, forward, backward, expected[block],
                )
            )  # fmt: skip

        objective = -sum(self._blocks(run)) / self._n_words
        total = expected[0]
        for block in range(1, N_BLOCKS):
            total += expected[block]
        numbers = np.empty(n, np.int32)
        scores = np.empty(n)
        n_left = int(maximise(total, LEAST_EXPECTED, scores, numbers))
        if n_left:
            self._keep(numbers)
            pieces.scores = scores[:n_left].copy()
        return Step(pieces.scores.size, objective)

    def _keep(self, numbers: NDArray[np.int32]) -> None:
        """Take the pieces away whose new number is -1."""
        pieces = self.pieces
        left = np.flatnonzero(numbers >= 0)
        order = left[np.argsort(numbers[left], kind="stable")]
        pieces.places, pieces.piece_lengths = pieces.places[order], pieces.piece_lengths[order]
        pieces.scores = pieces.scores[order]
        known = pieces.character_pieces >= 0
        pieces.character_pieces[known] = numbers[pieces.character_pieces[known]]
        n = int(keep_entries(numbers, pieces.offsets, pieces.entries, pieces.lengths))
        if n < pieces.entries.size // 2:
            pieces.entries, pieces.lengths = pieces.entries[:n].copy(), pieces.lengths[:n].copy()

    def prune(self, n_wanted: int) -> int:
        """Keep ``n_wanted`` pieces, or as many as must be kept: those without which most is lost.

        Returns
        -------
        int
            Number of pieces that are left.
        """
        pieces, corpus = self.pieces, self._corpus
        n = pieces.scores.size
        tables = self._tables(unknown_score(pieces.scores))
        uses = np.zeros((N_BLOCKS, n), np.int64)

        def use(block: int) -> None:
            add_uses(  # type: ignore[call-arg]  # tables go by *args
                corpus.codes, corpus.starts, corpus.counts, self._bounds[block], self._bounds[block + 1], *tables,
                self._floats[block][0], *self._ints[block], uses[block],
            )  # fmt: skip

        self._blocks(use)
        all_uses = uses.sum(axis=0)
        n_uses = float(all_uses.sum())
        losses = np.empty(n)
        bounds = [block * n // N_BLOCKS for block in range(N_BLOCKS + 1)]

        def lose(block: int) -> None:
            find_losses(  # type: ignore[call-arg]
                corpus.codes, pieces.places, pieces.piece_lengths, bounds[block], bounds[block + 1], *tables,
                all_uses, n_uses, self._n_words, self._floats[block][0], *self._ints[block], losses,
            )  # fmt: skip

        self._blocks(lose)
        order = np.argsort(-losses, kind="stable")
        n_kept = max(n_wanted, int((losses == ALWAYS_KEPT).sum()))
        kept = order[: min(n_kept, int((losses > NEVER_USED).sum()))]
        numbers = np.full(n, -1, np.int32)
        numbers[np.sort(kept)] = np.arange(kept.size, dtype=np.int32)
        self._keep(numbers)
        return kept.size
