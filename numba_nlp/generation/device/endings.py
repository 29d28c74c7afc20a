"""Which tokens end a row."""

from __future__ import annotations

import torch
from torch import Tensor

from numba_nlp.generation.device.sequences import Sequences
from numba_nlp.kernels.generation.beam_memory import BeamRules

__all__ = ["Endings"]


class Endings:
    """Tokens that end rows, and sequences that do.

    Parameters
    ----------
    rules : BeamRules
    device : torch.device
    """

    def __init__(self, rules: BeamRules, device: torch.device) -> None:
        self._width = rules.prompt_width
        self._ids = torch.from_numpy(rules.eos_ids).long().to(device)
        self._sequences = Sequences(rules.stop_tokens, rules.stop_offsets, device)

    def ends_row(self, rows: Tensor, filled: Tensor, parents: Tensor | None, tokens: Tensor) -> Tensor:
        """Whether tokens end their rows.

        Parameters
        ----------
        rows, filled : Tensor
            int64 ``[R, T]`` and its columns that are there.
        parents : Tensor or None
            int64 ``[n]``: the row that each token follows; None: one after the other.
        tokens : Tensor
            int64 ``[n]``.

        Returns
        -------
        Tensor
            bool ``[n]``.
        """
        ends = (tokens[:, None] == self._ids).any(-1)
        if len(self._sequences):
            begun = self._sequences.begun(rows, filled, filled - self._width)
            if parents is not None:
                begun = begun.index_select(0, parents)
            ends = ends | (begun & (tokens[:, None] == self._sequences.last)).any(-1)
        return ends
