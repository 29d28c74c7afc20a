"""Engines: what computes the steps of a generation, and what follows on their logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
import torch

from numba_nlp.generation.beam_search import FoundRows, search_beams
from numba_nlp.generation.choice import Streamer, choose_tokens
from numba_nlp.generation.clock import StepClock, TimedSteps
from numba_nlp.generation.decode_plan import Weights, check_weights
from numba_nlp.generation.device.host_calls import HostCalls
from numba_nlp.generation.device.run import generate_on_device
from numba_nlp.generation.edits import PrefixFunction, Processor, RowEdits
from numba_nlp.generation.group_search import search_groups
from numba_nlp.generation.memory_check import check_memory
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.step_choice import StepEngine, choose_steps, opened_steps
from numba_nlp.generation.text_ends import TextEnds

__all__ = ["ENGINES", "FASTEST", "Request", "choose_engine", "name_engine", "refuse_weights"]


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
    text_ends : TextEnds or None
        Stop strings.
    clock : StepClock or None
        Counts the time of the model.
    """

    model: Any
    plan: Plan
    seed: np.uint64
    processors: Sequence[Processor]
    prefix_function: PrefixFunction | None
    streamer: Streamer | None
    text_ends: TextEnds | None
    weights: Weights
    clock: StepClock | None = None


def _with_steps(request: Request, engine: StepEngine) -> FoundRows:
    """Steps on the host or by torch, the rest compiled on the host."""
    plan = request.plan
    check_memory(request.model, plan)
    edits = RowEdits(plan, request.processors, request.prefix_function)
    positions = max(plan.max_length - 1, plan.prompt_width)
    packed = choose_steps(request.model, engine, request.weights)
    clock = request.clock
    with opened_steps(request.model, packed, plan.prompts, plan.source, plan.per_prompt, positions) as opened:
        steps = opened if clock is None else TimedSteps(opened, clock)
        if plan.config.num_beam_groups > 1:
            return search_groups(steps, plan, edits, request.text_ends)
        if plan.config.num_beams > 1:
            return search_beams(steps, plan, edits, request.text_ends, request.seed)
        return choose_tokens(steps, plan, edits, request.text_ends, request.streamer, request.seed)


def refuse_weights(weights: Weights, device: torch.device) -> None:
    """Refuse another kind of weights than the model has, for the engine "device".

    Parameters
    ----------
    weights : str
        As of :func:`numba_nlp.generation.generate`.
    device : torch.device
        Of the model.

    Raises
    ------
    ValueError
        One is asked for.
    """
    check_weights(weights)
    if weights != "auto":
        # on CUDA there is no other engine to fall back to
        way = "leave out `engine`" if device.type == "cpu" else "move the model: model.to('cpu')"
        raise ValueError(
            f"`weights` {weights!r} is a choice of Numba's steps, and `engine` 'device' takes the model's own: leave "
            f"out `weights`, or {way}"
        )


def _on_the_device(request: Request) -> FoundRows:
    """Everything by torch, where the model is."""
    refuse_weights(request.weights, request.model.device)
    check_memory(request.model, request.plan)
    calls = HostCalls(request.plan, request.processors, request.prefix_function, request.text_ends)
    if request.clock is None:
        return generate_on_device(request.model, request.plan, request.seed, calls, request.streamer)
    with request.clock.running():
        return generate_on_device(request.model, request.plan, request.seed, calls, request.streamer)


#: All engines: each gives rows, their scores and the values of their new tokens as arrays on the host.
ENGINES: dict[str, Callable[[Request], FoundRows]] = {
    **{name: partial(_with_steps, engine=name) for name in get_args(StepEngine)},
    "device": _on_the_device,
}
#: What "auto" is, by the type of the model's device, where it is not what computes steps best on the host.
FASTEST = {"cuda": "device"}


def name_engine(name: str, device: torch.device) -> str:
    """The name of an engine, where that depends on the device.

    Parameters
    ----------
    name : str
        One of `ENGINES`.
    device : torch.device
        Of the model.

    Raises
    ------
    ValueError
        There is none.
    """
    if name not in ENGINES:
        raise ValueError(f"`engine` must be one of {', '.join(map(repr, ENGINES))}, got {name!r}")
    return FASTEST.get(device.type, name) if name == "auto" else name


def choose_engine(name: str, device: torch.device) -> Callable[[Request], FoundRows]:
    """The engine of a name; parameters as of :func:`name_engine`.

    Raises
    ------
    ValueError
        There is none.
    """
    return ENGINES[name_engine(name, device)]
