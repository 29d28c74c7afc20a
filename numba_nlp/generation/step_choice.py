"""Which steps a model takes: Numba's over packed weights, or torch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.generation.decode_plan import Plan, Weights, check_weights, has_step, plan_of
from numba_nlp.generation.numba_steps import NumbaSteps
from numba_nlp.generation.prompts import Rows
from numba_nlp.generation.step_fit import what_was_changed
from numba_nlp.generation.steps import Steps
from numba_nlp.generation.torch_steps import TorchSteps
from numba_nlp.kernels.words import VECTOR

__all__ = ["StepEngine", "choose_plan", "choose_steps", "opened_steps"]

StepEngine = Literal["auto", "numba", "torch"]
#: Numbers of models whose steps Numba computes in float32; it has no wider ones.
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def choose_steps(model: Any, engine: StepEngine = "auto", weights: Weights = "auto") -> Plan | None:
    """The packed weights of a Numba step, or None for torch's steps. The model is looked at once.

    Parameters
    ----------
    model : Model
    engine : {"auto", "numba", "torch"}
        "auto": Numba on the CPU where the family has such a step, the model is not of float64, its modules are
        those that it was made with, and kernels are compiled with vectors; or where `weights` says so.
    weights : {"auto", "float32", "float16", "bfloat16", "int8"}

    Raises
    ------
    ValueError
        There is no such engine or kind, torch is to keep weights otherwise than the model has them, or weights are
        not finite or too large for the kind.
    UnsupportedFeatureError
        Numba is asked for and has no step for this model.
    """
    return choose_plan(model, engine, weights, _why_no_step)


def choose_plan(model: Any, engine: StepEngine, weights: Weights, why_not: Callable[[Any], str | None]) -> Plan | None:
    """The packed weights of a model that Numba computes, or None where torch does.

    Parameters
    ----------
    model, engine, weights
        As of :func:`choose_steps`.
    why_not : callable
        Why Numba cannot compute a model; None: it can.

    Raises
    ------
    ValueError, UnsupportedFeatureError
        As of :func:`choose_steps`.
    """
    if engine not in ("auto", "numba", "torch"):
        raise ValueError(f"`engine` must be 'auto', 'numba' or 'torch', got {engine!r}")
    check_weights(weights)
    if engine == "torch":
        if weights != "auto":
            raise ValueError(
                f"`weights` {weights!r} is a choice of Numba's steps, and `engine` 'torch' takes the model's own: "
                "leave out `weights`, or leave out `engine`"
            )
        return None
    why = why_not(model) or _why_not_here(model)
    if why is not None:
        if engine == "numba" or weights != "auto":
            asked = "`engine` 'numba'" if engine == "numba" else f"`weights` {weights!r}"
            raise UnsupportedFeatureError(f"{asked}: {why}; leave it out")
        return None
    if engine == "auto" and weights == "auto" and not VECTOR:
        # the plain form of the products is slower than torch's
        return None
    return plan_of(model, weights)


def _why_no_step(model: Any) -> str | None:
    """Why Numba has no step for a model; None: it has."""
    if not has_step(model):
        return f"Numba has no step for the family {model.family!r}"
    changed = what_was_changed(model)
    if changed is not None:
        return f"Numba computes models as they were made, and {changed}"
    return None


def _why_not_here(model: Any) -> str | None:
    """Why Numba computes nothing where a model is, with numbers of its kind; None: it does."""
    if model.device.type != "cpu":
        return f"Numba's steps are for the CPU, and the model is on {model.device}"
    if model.dtype not in _DTYPES:
        return f"Numba's steps compute in float32, and the model is of {str(model.dtype).removeprefix('torch.')}"
    return None


@contextmanager
def opened_steps(
    model: Any, packed: Plan | None, prompts: Rows, source: Rows | None, per_prompt: int, positions: int
) -> Iterator[Steps]:
    """Steps by Numba or torch; their threads end with the block.

    Parameters
    ----------
    model, prompts, source, per_prompt, positions
        As of `TorchSteps`.
    packed : Plan or None
        Of :func:`choose_steps`.
    """
    if packed is None:
        yield TorchSteps(model, prompts, source, per_prompt, positions)
        return
    steps = NumbaSteps(model, packed, prompts, source, per_prompt, positions)
    try:
        yield steps
    finally:
        steps.close()
