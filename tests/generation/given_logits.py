"""A model of given logits, in place of :class:`numba_nlp.generation.steps.Steps`: no torch, and no memory in a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp.generation.config import GenerationConfig
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.prompts import Rows

__all__ = ["GivenLogits", "plan_of"]


class GivenLogits:
    """Writes the same logits in each step, moved on by one column, so that tokens change.

    Parameters
    ----------
    rows, vocabulary : int
    seed : int
    """

    def __init__(self, rows: int, vocabulary: int, seed: int = 0) -> None:
        given = np.random.default_rng(seed).standard_normal((rows, vocabulary)) * 2
        self.given = given.astype(np.float32)
        self._logits = np.empty_like(self.given)
        self._step = 0
        self._rows = rows

    def start(self) -> np.ndarray:
        return self.advance(None)

    def advance(self, tokens: Any, parents: Any = None) -> np.ndarray:
        move = self._step % self.given.shape[1]
        self._step += 1
        logits = self._logits[: self._rows]
        np.copyto(logits[:, move:], self.given[: self._rows, : logits.shape[1] - move])
        np.copyto(logits[:, :move], self.given[: self._rows, logits.shape[1] - move :])
        return logits

    def keep(self, prompts: np.ndarray) -> None:
        raise AssertionError("no row ends")


def plan_of(config: GenerationConfig, prompts: int, vocabulary: int) -> Plan:
    """Of prompts of three tokens."""
    ids = np.arange(prompts * 3, dtype=np.int64).reshape(prompts, 3) % vocabulary
    assert config.max_new_tokens is not None
    return Plan(
        config=config,
        prompts=Rows(ids, None),
        source=None,
        vocabulary=vocabulary,
        max_length=3 + config.max_new_tokens,
        min_length=config.min_length,
        per_prompt=max(config.num_beams, config.num_return_sequences),
        padding=0,
    )
