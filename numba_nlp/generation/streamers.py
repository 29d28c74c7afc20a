"""What streamers are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from numba_nlp.generation.plan import Plan

__all__ = ["put_prompts", "put_tokens"]


def put_tokens(streamer: Any, tokens: np.ndarray, counted: np.ndarray) -> None:
    """Give tokens to a streamer, and which of them count to one that asks for it.

    Parameters
    ----------
    streamer : Streamer
    tokens : ndarray
        int64 ``[rows, width]`` of prompts, or ``[rows]``.
    counted : ndarray
        bool of the same shape: false at padding.
    """
    put_rows = getattr(streamer, "put_rows", None)
    if put_rows is None:
        streamer.put(torch.from_numpy(tokens))
    else:
        put_rows(tokens, counted)


def put_prompts(streamer: Any, plan: Plan) -> None:
    """Give it what the rows begin with.

    Parameters
    ----------
    streamer : Streamer
    plan : Plan
    """
    ids, mask = plan.prompts
    counted = np.ones(ids.shape, bool) if mask is None else mask
    put_tokens(streamer, np.repeat(ids, plan.per_prompt, axis=0), np.repeat(counted, plan.per_prompt, axis=0))
