"""Which inputs run together: those of like lengths, so that little is padding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import whole

__all__ = ["Batching", "plan_batches"]


@dataclass(frozen=True)
class Batching:
    """Limits of a batch; both count where both are given.

    Attributes
    ----------
    rows : int or None
        At most as many inputs.
    tokens : int or None
        At most as many tokens, padding included; an input that is longer by itself runs alone.
    """

    rows: int | None
    tokens: int | None

    @classmethod
    def take(cls, batch_size: object, batch_tokens: object, default_tokens: int) -> Batching:
        """Check what a caller gave; ``default_tokens`` where that is nothing.

        Raises
        ------
        ValueError, TypeError
        """
        rows = None if batch_size is None else whole("batch_size", batch_size, 1)
        tokens = None if batch_tokens is None else whole("batch_tokens", batch_tokens, 1)
        if rows is None and tokens is None:
            tokens = default_tokens
        return cls(rows, tokens)

    def within(self, tokens: int) -> Batching:
        """The same limits, and no more than so many tokens."""
        return replace(self, tokens=tokens if self.tokens is None else min(tokens, self.tokens))


def plan_batches(lengths: NDArray[np.int64], batching: Batching) -> list[NDArray[np.int64]]:
    """Part inputs into batches, long ones first, so that a lack of memory shows at once.

    Parameters
    ----------
    lengths : int64[inputs]
        In tokens.
    batching : Batching

    Returns
    -------
    list of int64[batch]
        Numbers of inputs; each is in one batch.
    """
    order = np.argsort(-lengths, kind="stable")
    batches = []
    first = 0
    while first < order.size:
        # the first one is the longest, so that it sets the width
        size = order.size if batching.rows is None else batching.rows
        if batching.tokens is not None:
            size = min(size, max(1, batching.tokens // max(1, int(lengths[order[first]]))))
        batches.append(order[first : first + size])
        first += size
    return batches
