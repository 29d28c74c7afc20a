"""Steps of a model by torch, on any device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from numba_nlp.generation.prompts import Rows

__all__ = ["TorchSteps"]


class TorchSteps:
    """The steps of a model over its cache; see :class:`~numba_nlp.generation.steps.Steps`.

    Rows are as many as prompts times ``per_prompt``, those of a prompt side by side. A source of an encoder-decoder
    and a prompt are read once, whatever the number of their rows.

    Parameters
    ----------
    model : Model
        With an output layer.
    prompts : Rows
        What the rows begin with, padding at the left.
    source : Rows or None
        What an encoder reads.
    per_prompt : int
        Rows of a prompt.
    positions : int
        Columns that are read, prompt included.
    """

    def __init__(self, model: Any, prompts: Rows, source: Rows | None, per_prompt: int, positions: int) -> None:
        self._model = model
        self._prompts = prompts
        self._source = source
        self._per_prompt = per_prompt
        rows = prompts.ids.shape[0] * per_prompt
        if source is None:
            self._cache = model.new_cache(rows, positions)
        else:
            self._cache = model.new_cache(
                rows, positions, source_positions=source.ids.shape[1], sentences=prompts.ids.shape[0]
            )
        self._host: torch.Tensor | None = None

    def start(self) -> np.ndarray:
        """Read sources and prompts."""
        if self._source is not None:
            self._model.encode_source(self._source.ids, self._source.mask, self._cache)
        logits = self._model.prompt(self._prompts.ids, self._prompts.mask, self._cache)
        if self._per_prompt > 1:
            logits = logits.repeat_interleave(self._per_prompt, 0)
        return self._on_host(logits)

    def advance(self, tokens: np.ndarray, parents: np.ndarray | None = None) -> np.ndarray:
        """Read one token more in each row."""
        device = self._model.device
        if parents is not None:
            self._cache.reorder(torch.from_numpy(parents).to(device))
        return self._on_host(self._model.step(torch.from_numpy(tokens).to(device), self._cache))

    def keep(self, prompts: np.ndarray) -> None:
        """Go on with some prompts only."""
        self._cache.keep(torch.from_numpy(prompts).to(self._model.device), self._per_prompt)

    def _on_host(self, logits: torch.Tensor) -> np.ndarray:
        if logits.device.type == "cpu" and logits.dtype == torch.float32:
            return logits.detach().contiguous().numpy()
        if self._host is None:
            self._host = torch.empty(logits.shape, dtype=torch.float32, pin_memory=logits.device.type == "cuda")
        host = self._host[: logits.shape[0]]
        host.copy_(logits.detach())
        return host.numpy()
