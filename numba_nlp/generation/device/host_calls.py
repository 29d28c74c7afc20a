"""The user's callables, which run on the host: values and tokens are copied there, and values back, in each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.device.beam_state import Candidates
from numba_nlp.generation.edits import PrefixFunction, Processor, run_processors, take_allowed
from numba_nlp.generation.locked import locked
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.text_ends import TextEnds
from numba_nlp.kernels.generation.beam_memory import new_beam_scratch

__all__ = ["HostCalls"]


class HostCalls:
    """Callables that a step waits for.

    Parameters
    ----------
    plan : Plan
    processors : sequence of callable
    prefix_function : callable or None
        As of :class:`numba_nlp.generation.edits.RowEdits`.
    text_ends : TextEnds or None
        Stop strings, which are looked for in text.
    """

    def __init__(
        self,
        plan: Plan,
        processors: Sequence[Processor],
        prefix_function: PrefixFunction | None,
        text_ends: TextEnds | None,
    ) -> None:
        self._processors = tuple(processors)
        self._prefix_function = prefix_function
        self._text_ends = text_ends
        self._vocabulary = plan.vocabulary
        self._prompts = np.arange(plan.prompts.ids.shape[0])

    def __bool__(self) -> bool:
        return bool(self._processors) or self._prefix_function is not None or self._text_ends is not None

    @property
    def has_stop_strings(self) -> bool:
        """Whether rows end by their text."""
        return self._text_ends is not None

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
            run_processors(self._processors, array[row], tokens[row])
        values.copy_(host)

    def ends_of_rows(self, rows: Tensor, filled: Tensor, done: Tensor) -> Tensor:
        """Which rows end by their text.

        Parameters
        ----------
        rows, filled : Tensor
            int64 ``[R, T]`` and its columns that are there, the last token's among them.
        done : Tensor
            bool ``[R]``: left out.

        Returns
        -------
        Tensor
            bool ``[R]``, those that were done too.
        """
        assert self._text_ends is not None
        tokens, _ = _on_host(rows, filled, done)
        ended = done.cpu().numpy().astype(np.uint8)
        self._text_ends.mark_rows(tokens, tokens.shape[1], self._prompts, ended)
        return torch.from_numpy(ended.astype(bool)).to(rows.device)

    def ends_of_candidates(self, rows: Tensor, filled: Tensor, found: Candidates, done: Tensor) -> Tensor:
        """Which candidates end their rows by their text.

        Parameters
        ----------
        rows, filled : Tensor
            int64 ``[S * B, T]`` and its columns that are there.
        found : Candidates
        done : Tensor
            bool ``[S]``: sentences that are left out.

        Returns
        -------
        Tensor
            bool ``[S, K]``.
        """
        assert self._text_ends is not None
        tokens, going_on = _on_host(rows, filled, ~done)
        beams = rows.shape[0] // done.shape[0]
        scratch = new_beam_scratch(found.beams.shape[1], 1)
        numbers = found.real.sum(1).tolist()
        hits = np.zeros(tuple(found.beams.shape), bool)
        host_beams, host_tokens = found.beams.cpu().numpy(), found.tokens.cpu().numpy()
        for sentence in np.unique(going_on // beams).tolist():
            scratch.beams[:], scratch.tokens[:] = host_beams[sentence], host_tokens[sentence]
            first_row, n = sentence * beams, numbers[sentence]
            self._text_ends.mark_candidates(tokens, first_row, tokens.shape[1], sentence, n, scratch)
            hits[sentence, :n] = scratch.hits[:n]
        return torch.from_numpy(hits).to(rows.device)


def _on_host(rows: Tensor, filled: Tensor, going_on: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Tokens so far, int32, and which rows belong to prompts that go on."""
    tokens = np.ascontiguousarray(rows[:, : int(filled)].to("cpu", torch.int32).numpy())
    per_prompt = rows.shape[0] // going_on.shape[0]
    return locked(tokens), np.flatnonzero(np.repeat(going_on.cpu().numpy(), per_prompt))
