"""The user's callables, which run on the host: values and tokens are copied there, and values back, in each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.edits import PrefixFunction, Processor, take_allowed

__all__ = ["HostCalls"]


class HostCalls:
    """Callables that a step waits for.

    Parameters
    ----------
    processors : sequence of callable
    prefix_function : callable or None
        As of :class:`numba_nlp.generation.edits.RowEdits`.
    vocabulary : int
    """

    def __init__(
        self, processors: Sequence[Processor], prefix_function: PrefixFunction | None, vocabulary: int
    ) -> None:
        self._processors = tuple(processors)
        self._prefix_function = prefix_function
        self._vocabulary = vocabulary

    def __bool__(self) -> bool:
        return bool(self._processors) or self._prefix_function is not None

    @property
    def has_processors(self) -> bool:
        """Whether values are changed on the host."""
        return bool(self._processors)

    def allow(self, values: Tensor, rows: Tensor, filled: Tensor, going_on: Tensor) -> None:
        """Leave the tokens that the prefix function gives.

        Parameters
        ----------
        values : Tensor
            float32 ``[R, V]``; changed.
        rows, filled : Tensor
            int64 ``[R, T]`` and its columns that are there.
        going_on : Tensor
            bool ``[P]``: prompts that are not done; for others nothing is called.

        Raises
        ------
        ValueError
            It gives ids that are no tokens, or none.
        """
        if self._prefix_function is None:
            return
        tokens, wanted = _on_host(rows, filled, going_on)
        removed = np.zeros(tuple(values.shape), bool)
        for row in wanted:
            prompt = int(row) * going_on.shape[0] // rows.shape[0]
            given = self._prefix_function(prompt, tokens[row])
            removed[row] = True
            removed[row, take_allowed(given, prompt, tokens[row], self._vocabulary)] = False
        values.masked_fill_(torch.from_numpy(removed).to(values.device), float("-inf"))

    def process(self, values: Tensor, rows: Tensor, filled: Tensor, going_on: Tensor) -> None:
        """Let the processors change the values; parameters as of :meth:`allow`."""
        tokens, wanted = _on_host(rows, filled, going_on)
        host = values.to("cpu", memory_format=torch.contiguous_format, copy=True)
        array = host.numpy()
        for row in wanted:
            for processor in self._processors:
                processor(array[row], tokens[row])
        values.copy_(host)


def _on_host(rows: Tensor, filled: Tensor, going_on: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Tokens so far, int32, and which rows belong to prompts that go on."""
    tokens = np.ascontiguousarray(rows[:, : int(filled)].to("cpu", torch.int32).numpy())
    per_prompt = rows.shape[0] // going_on.shape[0]
    return tokens, np.flatnonzero(np.repeat(going_on.cpu().numpy(), per_prompt))
