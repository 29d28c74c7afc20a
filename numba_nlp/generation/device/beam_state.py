"""The state of beam searches as tensors, and the parts of bookkeeping that all of them share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.device.row_values import sort_descending
from numba_nlp.kernels.generation.beam_memory import BeamState, new_beam_state

__all__ = ["Candidates", "DeviceBeams", "finish_rows", "length_norms"]


class Candidates(NamedTuple):
    """Continuations of S sentences, K of each, the best first.

    Attributes
    ----------
    totals, values : Tensor
        float32 ``[S, K]``: sum of log-probabilities, and the last of them.
    beams, tokens : Tensor
        int64 ``[S, K]``: which beam continues with which token.
    real : Tensor
        bool ``[S, K]``: whether there is such a continuation; those that are none come last.
    """

    totals: Tensor
    values: Tensor
    beams: Tensor
    tokens: Tensor
    real: Tensor


class DeviceBeams(NamedTuple):
    """:class:`numba_nlp.kernels.generation.beam_memory.BeamState` as tensors; ids are int64."""

    running: Tensor
    finished: Tensor
    finished_width: Tensor
    finished_parent: Tensor
    finished_token: Tensor
    finished_value: Tensor
    done: Tensor
    tokens: Tensor
    parents: Tensor
    values: Tensor

    @classmethod
    def new(cls, sentences: int, beams: int, steps: int, device: torch.device) -> DeviceBeams:
        """State before the first step."""
        return cls.from_host(new_beam_state(sentences, beams, steps), device)

    @classmethod
    def from_host(cls, state: BeamState, device: torch.device) -> DeviceBeams:
        """A copy of a state."""

        def moved(array: np.ndarray) -> Tensor:
            kind = np.dtype(np.float32) if array.dtype == np.float32 else np.dtype(np.int64)
            return torch.from_numpy(array.astype(kind)).to(device)

        tensors = {name: moved(array) for name, array in state._asdict().items()}
        return cls(**{**tensors, "done": tensors["done"].bool()})

    def on_host(self) -> BeamState:
        """A copy as kernels take it."""

        def moved(tensor: Tensor) -> np.ndarray:
            if tensor.dtype == torch.bool:
                return tensor.cpu().numpy().astype(np.uint8)
            return tensor.to("cpu", torch.float32 if tensor.is_floating_point() else torch.int32).contiguous().numpy()

        return BeamState(*(moved(tensor) for tensor in self))

    def of_group(self, group: int, groups: int) -> DeviceBeams:
        """Views of one of the groups of each sentence, which lie side by side."""
        return DeviceBeams(
            *(tensor[group::groups] for tensor in self[:7]), *(tensor[:, group::groups] for tensor in self[7:])
        )


def length_norms(widths: int, penalty: float, device: torch.device) -> Tensor:
    """What sums of log-probabilities of 0 to ``widths`` new tokens are divided by, float32 ``[widths + 1]``."""
    with np.errstate(divide="ignore"):
        norms = np.arange(widths + 1, dtype=np.float64) ** penalty
    return torch.from_numpy(norms.astype(np.float32)).to(device)


def _merged(old: Tensor, new: Tensor, order: Tensor) -> None:
    old.copy_(torch.cat([old, new], 1).gather(1, order))


def finish_rows(
    state: DeviceBeams, where: Tensor, scores: Tensor, width: Tensor, parents: Tensor, tokens: Tensor, values: Tensor
) -> None:
    """Put finished rows in their places among the best of their sentences; behind those as good.

    Parameters
    ----------
    state : DeviceBeams
        Changed.
    where : Tensor
        bool ``[S, n]``: which of the rows are finished.
    scores : Tensor
        float32 ``[S, n]``; of a row above ``UNLIKELY``, else it is none.
    width : Tensor
        int64 scalar: new tokens of these rows.
    parents, tokens : Tensor
        int64 ``[S, n]``: the beam that each continues, and its last token.
    values : Tensor
        float32 ``[S, n]``: that token's log-probability.
    """
    beams = state.finished.shape[1]
    offered = scores.masked_fill(~where, float("-inf"))
    order = sort_descending(torch.cat([state.finished, offered], 1))[1][:, :beams]
    _merged(state.finished, offered, order)
    _merged(state.finished_width, width.expand(scores.shape), order)
    _merged(state.finished_parent, parents, order)
    _merged(state.finished_token, tokens, order)
    _merged(state.finished_value, values, order)
