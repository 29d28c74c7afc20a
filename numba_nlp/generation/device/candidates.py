"""Continuations of the beams of each sentence: the best ones, or drawn ones."""

from __future__ import annotations

import torch
from torch import Tensor

from numba_nlp.generation.device.beam_state import Candidates
from numba_nlp.generation.device.counter_random import uniform
from numba_nlp.generation.device.row_values import select_top, sort_descending

__all__ = ["best_candidates", "draw_candidates"]


def best_candidates(rows: Tensor, shift: Tensor, running: Tensor, room: int) -> Candidates:
    """Find the best continuations of each sentence; of equal ones that of the earlier beam first.

    Parameters
    ----------
    rows : Tensor
        float32 ``[S * B, V]``.
    shift : Tensor
        float64 ``[S * B]``: the log-probability of a token is its value less this.
    running : Tensor
        float32 ``[S, B]``: sum of log-probabilities of each beam.
    room : int
        Most of them.
    """
    sentences, beams = running.shape
    k = min(room, rows.shape[1])
    best, tokens = select_top(rows, k)
    values = (best.double() - shift[:, None]).float().view(sentences, beams, k)
    totals = (running[:, :, None] + values).view(sentences, beams * k)
    ordered, places = sort_descending(totals)
    ordered, places = ordered[:, :room], places[:, :room]
    return Candidates(
        totals=ordered,
        values=values.view(sentences, beams * k).gather(1, places),
        beams=places // k,
        tokens=tokens.view(sentences, beams * k).gather(1, places),
        real=torch.ones_like(places, dtype=torch.bool),
    )


def draw_candidates(
    rows: Tensor, shift: Tensor, running: Tensor, room: int, seed: Tensor, keys: Tensor, step: Tensor
) -> Candidates:
    """Draw continuations of each sentence without replacement; they are sorted, the best first.

    Parameters
    ----------
    rows, shift, running, room
        As of :func:`best_candidates`.
    seed, keys, step : Tensor
        Of :func:`~numba_nlp.generation.device.counter_random.uniform`: int64 ``[1]``, ``[S]`` and a scalar.
    """
    sentences, beams = running.shape
    size = beams * rows.shape[1]
    values = (rows.double() - shift[:, None]).float().view(sentences, beams, rows.shape[1])
    totals = (running[:, :, None] + values).view(sentences, size)
    lanes = torch.arange(size, device=rows.device)
    noise = -(-uniform(seed, keys[:, None], step, lanes).log()).log()
    picks = (totals.double() + noise).topk(min(room, size)).indices.sort(-1).values
    ordered, order = sort_descending(totals.gather(1, picks))
    picks = picks.gather(1, order)
    return Candidates(
        totals=ordered,
        values=values.view(sentences, size).gather(1, picks),
        beams=picks // rows.shape[1],
        tokens=picks % rows.shape[1],
        real=ordered > float("-inf"),
    )
