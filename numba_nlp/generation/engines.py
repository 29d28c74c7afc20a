"""Engines: what computes the steps of a generation, and what follows on their logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np

from numba_nlp.generation.beam_search import FoundRows, search_beams
from numba_nlp.generation.choice import Streamer, choose_tokens
from numba_nlp.generation.decode_plan import Weights
from numba_nlp.generation.edits import PrefixFunction, Processor, RowEdits
from numba_nlp.generation.group_search import search_groups
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.step_choice import StepEngine, opened_steps

__all__ = ["ENGINES", "Request", "choose_engine"]


@dataclass(frozen=True)
class Request:
    """One generation, as engines take it.

    Attributes
    ----------
    model : Model
    plan : Plan
    seed : uint64
        Of sampling.
    processors, prefix_function, streamer, weights
        As of :func:`numba_nlp.generation.generate`.
    """

    model: Any
    plan: Plan
    seed: np.uint64
    processors: Sequence[Processor]
    prefix_function: PrefixFunction | None
    streamer: Streamer | None
    weights: Weights


def _with_steps(request: Request, engine: StepEngine) -> FoundRows:
    """Steps on the host or by torch, the rest compiled on the host."""
    plan = request.plan
    edits = RowEdits(plan, request.processors, request.prefix_function)
    positions = max(plan.max_length - 1, plan.prompt_width)
    given = request.model, plan.prompts, plan.source, plan.per_prompt, positions, engine, request.weights
    with opened_steps(*given) as steps:
        if plan.config.num_beam_groups > 1:
            return search_groups(steps, plan, edits)
        if plan.config.num_beams > 1:
            return search_beams(steps, plan, edits, request.seed)
        return choose_tokens(steps, plan, edits, request.streamer, request.seed)


#: All engines: each gives rows, their scores and the values of their new tokens as arrays on the host.
ENGINES: dict[str, Callable[[Request], FoundRows]] = {
    name: partial(_with_steps, engine=name) for name in get_args(StepEngine)
}


def choose_engine(name: str) -> Callable[[Request], FoundRows]:
    """The engine of a name.

    Parameters
    ----------
    name : str
        One of `ENGINES`.

    Raises
    ------
    ValueError
        There is none.
    """
    if name not in ENGINES:
        raise ValueError(f"`engine` must be one of {', '.join(map(repr, ENGINES))}, got {name!r}")
    return ENGINES[name]
