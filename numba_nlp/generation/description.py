"""`describe`: what computes what when a model generates."""

from __future__ import annotations

from typing import Any, cast

import torch

from numba_nlp.generation.arguments import settle_config
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.generation.decode_plan import Weights
from numba_nlp.generation.engines import name_engine, refuse_weights
from numba_nlp.generation.numba_steps import threads_of
from numba_nlp.generation.step_choice import StepEngine, choose_steps
from numba_nlp.kernels.words import VECTOR
from numba_nlp.models.encoder_decoder import EncoderDecoder

__all__ = ["describe"]


def describe(
    model: Any,
    *,
    config: GenerationConfig | None = None,
    engine: str = "auto",
    weights: Weights = "auto",
    **options: Any,
) -> dict[str, Any]:
    """What runs where when a model generates.

    Parameters
    ----------
    model : Model
        That generates.
    config, engine, weights, **options
        As of :func:`numba_nlp.generation.generate`.

    Returns
    -------
    dict
        ``family``, ``device``, ``dtype`` of the model; ``encoder`` (None without one), ``prompts``, ``steps`` and
        ``choice`` (rules, beams, sampling): "torch" or "numba"; ``weights``: how Numba keeps weights,
        ``packed_bytes``: memory that these take beside the model's own (packed here if they were not yet);
        ``threads``: that compute a step; ``vectors``: whether kernels are compiled with vector instructions.

    Raises
    ------
    ValueError, TypeError, UnsupportedFeatureError
        As for generating.
    """
    settle_config(model, config, options, ("config", "engine", "weights"))
    name = name_engine(engine, model.device)
    on_device = name == "device"
    if on_device:
        refuse_weights(weights, model.device)
    plan = None if on_device else choose_steps(model, cast(StepEngine, name), weights)
    described: dict[str, Any] = {
        "family": model.family,
        "device": str(model.device),
        "dtype": _name(model.dtype),
        "encoder": "torch" if isinstance(model, EncoderDecoder) else None,
        "prompts": "torch",
        "steps": "torch" if plan is None else "numba",
        "choice": "torch" if on_device else "numba",
        "weights": _name(model.dtype) if plan is None else plan.kind,
        "packed_bytes": 0,
        "threads": torch.get_num_threads(),
        "vectors": VECTOR,
    }
    if plan is not None:
        described.update(encoder=described["encoder"] and "numba", prompts="numba", packed_bytes=plan.nbytes)
        described["threads"] = threads_of(plan, torch.get_num_threads())
    return described


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
