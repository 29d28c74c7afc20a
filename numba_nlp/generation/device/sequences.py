"""Whether rows end with sequences of ids, or with all but the last of them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = ["Sequences", "last_columns"]


def last_columns(rows: Tensor, filled: Tensor, n: int) -> Tensor:
    """The last ``n`` tokens of rows, ``[R, n]``; any token where rows are shorter.

    Parameters
    ----------
    rows : Tensor
        int64 ``[R, T]``.
    filled : Tensor
        int64 scalar: columns that are there.
    n : int
    """
    places = filled - n + torch.arange(n, device=rows.device)
    return rows.index_select(1, places.clamp(min=0))


class Sequences:
    """Sequences of ids, side by side in one array, padded at the left.

    Parameters
    ----------
    tokens, offsets : ndarray
        As of :class:`numba_nlp.kernels.generation.rules.RowRules`: sequence ``i`` is
        ``tokens[offsets[i]:offsets[i + 1]]``, not empty.
    device : torch.device

    Attributes
    ----------
    last : Tensor
        int64 ``[K]``: the last id of each.
    """

    def __init__(self, tokens: np.ndarray, offsets: np.ndarray, device: torch.device) -> None:
        lengths = np.diff(offsets)
        self._width = int(lengths.max(initial=1)) - 1
        begins = np.zeros((lengths.size, self._width), np.int64)
        free = np.ones(begins.shape, bool)
        for i, n in enumerate(lengths - 1):
            begins[i, self._width - n :] = tokens[offsets[i] : offsets[i] + n]
            free[i, self._width - n :] = False
        self.last = torch.from_numpy(tokens[offsets[1:] - 1].astype(np.int64)).to(device)
        self._begins = torch.from_numpy(begins).to(device)
        self._free = torch.from_numpy(free).to(device)
        self._befores = torch.from_numpy(lengths - 1).to(device)

    def __len__(self) -> int:
        return int(self.last.shape[0])

    def begun(self, rows: Tensor, filled: Tensor, available: Tensor) -> Tensor:
        """Whether rows end with all but the last id of each sequence.

        Parameters
        ----------
        rows : Tensor
            int64 ``[R, T]``.
        filled : Tensor
            int64 scalar: columns that are there.
        available : Tensor
            int64 scalar: the last so many of them count.

        Returns
        -------
        Tensor
            bool ``[R, K]``.
        """
        ending = last_columns(rows, filled, self._width)[:, None]
        same = ((ending == self._begins) | self._free).all(-1)
        return same & (self._befores <= available)
