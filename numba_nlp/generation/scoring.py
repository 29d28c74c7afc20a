"""`score`: log-probabilities of given continuations."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import torch

from numba_nlp.generation.arguments import settle_score_config
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.generation.decode_plan import Weights
from numba_nlp.generation.plan import make_plan
from numba_nlp.generation.prompts import take_rows
from numba_nlp.generation.step_choice import StepEngine, choose_steps, opened_steps
from numba_nlp.kernels.generation.chosen import score_tokens

__all__ = ["ContinuationScores", "score"]

#: What `score` takes.
_KEYWORDS = (
    "input_ids",
    "continuations",
    "attention_mask",
    "continuation_mask",
    "config",
    "decoder_input_ids",
    "decoder_attention_mask",
    "engine",
    "weights",
)


class ContinuationScores(NamedTuple):
    """How probable continuations are, on the device of the model.

    Attributes
    ----------
    scores : Tensor
        float32 ``[rows]``: sums over the tokens of a row.
    token_scores : Tensor
        float32 ``[rows, width]``: log-probability of each token; 0 at padding.
    """

    scores: torch.Tensor
    token_scores: torch.Tensor


def score(
    model: Any,
    input_ids: Any,
    continuations: Any,
    attention_mask: Any = None,
    *,
    continuation_mask: Any = None,
    config: GenerationConfig | None = None,
    decoder_input_ids: Any = None,
    decoder_attention_mask: Any = None,
    engine: str = "auto",
    weights: Weights = "auto",
    **others: Any,
) -> ContinuationScores:
    """Log-probabilities of continuations, by the model alone: no option of generation changes them.

    Parameters
    ----------
    model : Model
        That generates.
    input_ids, attention_mask, decoder_input_ids, decoder_attention_mask
        As for :func:`numba_nlp.generation.generate`.
    continuations : array-like, Tensor, or sequence of rows of unlike lengths
        What follows: a row for each prompt, or the same number of rows for each, side by side.
    continuation_mask : array-like or Tensor, optional
        1 for tokens that count, 0 for padding, which is at the right, of the shape of `continuations`.
    config : GenerationConfig, optional
        By default that of the checkpoint; for special tokens.
    engine : {"auto", "numba", "torch"}
    weights : {"auto", "float32", "float16", "bfloat16", "int8"}
        As for :func:`~numba_nlp.generation.generate`; "device" computes no scores.
    **others
        What tokenizers give beside ids and masks is passed over.

    Returns
    -------
    ContinuationScores

    Raises
    ------
    ValueError
        Rows are malformed or do not fit into the model, or there are more of them for some prompts.
    TypeError
        Ids are no whole numbers, or there is no such argument.
    """
    settled = settle_score_config(model, config, others, _KEYWORDS)
    if engine == "device":
        raise ValueError("`engine` 'device' generates only: scores are computed by 'numba' or 'torch', or 'auto'")
    computed = cast(StepEngine, engine)
    plan = make_plan(
        model,
        settled,
        input_ids,
        attention_mask,
        decoder_input_ids,
        decoder_attention_mask,
    )
    given = take_rows(
        continuations,
        continuation_mask,
        plan.vocabulary,
        0,
        side="right",
        name="continuations",
        mask_name="continuation_mask",
    )
    prompts, (rows, width) = plan.prompts.ids.shape[0], given.ids.shape
    counted = np.ones((rows, width), bool) if given.mask is None else given.mask
    if (counted[:, 1:] & ~counted[:, :-1]).any():
        raise ValueError("`continuation_mask` has padding before tokens: pad continuations at the right")
    if (prompts == 0) != (rows == 0) or (prompts and rows % prompts):
        raise ValueError(
            f"`continuations` has {rows} rows for {prompts} prompts: there must be as many for each of them"
        )
    values = np.zeros((width, rows), np.float32)
    if rows:
        positions = plan.prompt_width + width - 1
        most = getattr(model.settings, "positions", None)
        if most is not None and positions > most:
            raise ValueError(
                f"prompts of {plan.prompt_width} tokens and continuations of {width} need {positions} positions, the "
                f"model has {most}; cut them"
            )
        tokens = np.ascontiguousarray(np.where(counted, given.ids, 0).T)
        packed = choose_steps(model, computed, weights)
        with opened_steps(model, packed, plan.prompts, plan.source, rows // prompts, positions) as steps:
            logits = steps.start()
            for column in range(width):
                score_tokens(logits, tokens[column], values[column])
                if column + 1 < width:
                    logits = steps.advance(tokens[column])
    values = np.where(counted, values.T, np.float32(0.0))
    sums = values.sum(1, dtype=np.float64).astype(np.float32)
    return ContinuationScores(torch.from_numpy(sums).to(model.device), torch.from_numpy(values).to(model.device))
