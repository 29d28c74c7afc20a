"""One step of a model after another: tokens in, logits out, as arrays on the host."""

from __future__ import annotations

from typing import Protocol

import numpy as np

__all__ = ["Steps"]


class Steps(Protocol):
    """What computes logits for a search, by whatever means.

    Rows are as many as prompts times those of a prompt, which lie side by side.
    """

    def start(self) -> np.ndarray:
        """Read sources and prompts.

        Returns
        -------
        ndarray
            Logits of the tokens behind them, float32 ``[rows, V]``; the caller's until the next call.
        """

    def advance(self, tokens: np.ndarray, parents: np.ndarray | None = None) -> np.ndarray:
        """Read one token more in each row.

        Parameters
        ----------
        tokens : ndarray
            int64 ``[rows]``.
        parents : ndarray, optional
            int64 ``[rows]``: the row, of the same prompt, that each continues; by default itself.

        Returns
        -------
        ndarray
            As of :meth:`start`.
        """

    def keep(self, prompts: np.ndarray) -> None:
        """Go on with some prompts only.

        Parameters
        ----------
        prompts : ndarray
            int64: which of those at present, in ascending order.
        """
