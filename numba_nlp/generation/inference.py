"""Models that read: what they make of rows, without gradients; encoders by Numba over packed weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from numba_nlp.generation.decode_plan import Plan, Weights
from numba_nlp.generation.encoder_fit import what_was_changed_in_encoder
from numba_nlp.generation.looks import look
from numba_nlp.generation.numba_steps import threads_of
from numba_nlp.generation.reading import Reader
from numba_nlp.generation.step_choice import StepEngine, choose_plan
from numba_nlp.generation.team import Team
from numba_nlp.models.encoder import EncoderModel
from numba_nlp.models.inputs import refuse_unknown
from numba_nlp.models.layers.pooling import check_pooling, pool
from numba_nlp.models.outputs import ModelOutput

__all__ = ["infer", "infer_hidden", "infer_vectors"]


def infer(
    model: Any,
    *,
    at: tuple[Any, Any] | None = None,
    engine: StepEngine = "auto",
    weights: Weights = "auto",
    **inputs: Any,
) -> ModelOutput:
    """What calling a model gives, without gradients.

    Parameters
    ----------
    model : Model
    at : (int64[n], int64[n]), optional
        Rows and columns of the tokens whose logits are wanted, ``[n, ...]`` then: those over a vocabulary are most of
        the work of a masked language model.
    engine : {"auto", "numba", "torch"}
        What computes the blocks of an encoder (BERT, Electra, DistilBERT, RoBERTa and its kin). "auto": Numba on a CPU,
        unless modules were changed or the model is of float64; other models are left to torch. Numba reads rows
        without their padding and gives zeros for its hidden states; rows that begin with padding are left to torch
        where a pooler reads their first token.
    weights : {"auto", "float32", "float16", "bfloat16", "int8"}
        How Numba keeps weights. "auto": by as few bits as hold all of them exactly; others round.
    **inputs
        ``input_ids``, ``attention_mask``, ``token_type_ids`` and so on, as the model takes them.

    Returns
    -------
    ModelOutput

    Raises
    ------
    ValueError, TypeError
        As of the model; or there is no such engine or kind of weights.
    UnsupportedFeatureError
        Numba is asked for and cannot compute the model.
    """
    plan = _plan(model, engine, weights)
    with torch.no_grad():
        if not isinstance(model, EncoderModel) or (plan is None and at is None):
            out: ModelOutput = model(**inputs)
            return out if at is None else ModelOutput(logits=_at(out.logits, at))
        hidden, _ = _hidden(model, plan, **inputs)
        if at is None:
            return ModelOutput(**model._results(hidden))
        if model.masked_lm is not None:
            return ModelOutput(logits=model.masked_lm(_at(hidden, at), model.encoder.embeddings.tokens.weight))
        return ModelOutput(logits=_at(model._results(hidden)["logits"], at))


def infer_hidden(model: Any, *, engine: StepEngine = "auto", weights: Weights = "auto", **inputs: Any) -> torch.Tensor:
    """Hidden states of the last layer, of the encoder where there is one, whatever the head.

    Parameters
    ----------
    model, engine, weights, **inputs
        As of :func:`infer`.

    Returns
    -------
    Tensor
        ``[rows, width, model width]``.

    Raises
    ------
    ValueError, TypeError, UnsupportedFeatureError
        As of :func:`infer`.
    """
    plan = _plan(model, engine, weights)
    with torch.no_grad():
        found: torch.Tensor
        if isinstance(model, EncoderModel):
            found, _ = _hidden(model, plan, **inputs)
        elif hasattr(model, "encode_source"):
            found = model.encode_source(**inputs)
        elif model.head == "none":
            found = model(**inputs).last_hidden_state
        else:
            found = model(**inputs, output_hidden_states=True).hidden_states[-1]
        return found


def infer_vectors(
    model: Any, pooling: str, *, engine: StepEngine = "auto", weights: Weights = "auto", **inputs: Any
) -> torch.Tensor:
    """One vector for each row; see ``embed`` of the model.

    Parameters
    ----------
    model, engine, weights, **inputs
        As of :func:`infer`.
    pooling : str
        As of ``embed``.

    Returns
    -------
    Tensor
        ``[rows, model width]``.

    Raises
    ------
    ValueError, TypeError, UnsupportedFeatureError
        As of :func:`infer`, or there is no such way to pool.
    """
    plan = _plan(model, engine, weights)
    with torch.no_grad():
        if plan is None:
            vectors: torch.Tensor = model.embed(**inputs, pooling=pooling)
            return vectors
        check_pooling(pooling, pooler=model.pooler is not None and model.head == "none")
        hidden, mask = _hidden(model, plan, **inputs)
        return model.pooler(hidden) if pooling == "pooler" else pool(hidden, mask, pooling)


def _why_no_encoder(model: Any) -> str | None:
    """Why a model is no encoder that Numba computes; None: it is one."""
    if not isinstance(model, EncoderModel):
        return f"Numba computes encoders only (BERT and its kin), and the family is {model.family!r}"
    changed = what_was_changed_in_encoder(model)
    return None if changed is None else f"Numba computes models as they were made, and {changed}"


def _plan(model: Any, engine: StepEngine, weights: Weights) -> Plan | None:
    found: Plan | None = look((model, engine, weights), lambda: choose_plan(model, engine, weights, _why_no_encoder))
    return found


def _at(values: Any, at: tuple[Any, Any]) -> Any:
    rows, columns = (torch.as_tensor(np.asarray(places), device=values.device) for places in at)
    return values[rows, columns]


def _hidden(
    model: EncoderModel,
    plan: Plan | None,
    input_ids: Any,
    attention_mask: Any = None,
    token_type_ids: Any = None,
    **others: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Hidden states of the last layer, and the mask."""
    refuse_unknown(others, model.embed)
    ids, mask, types = model._take(input_ids, attention_mask, token_type_ids)
    encoder, positions = model.encoder, model._positions(ids)
    # what a pooler reads of a row that begins with padding: torch gives that a hidden state too
    padded = mask is not None and model.pooler is not None and not bool(mask[:, 0].all())
    if plan is None or padded:
        return encoder(ids, mask, positions, types)[0], mask
    embedded = encoder.embeddings(ids, positions, types)
    if encoder.projection is not None:
        embedded = encoder.projection(embedded)
    team = Team(threads_of(plan, torch.get_num_threads()))
    try:
        counted = np.ones(ids.shape, np.bool_) if mask is None else mask.numpy()
        return Reader(model, plan, team).rows(embedded, counted).to(model.dtype), mask
    finally:
        team.close()
