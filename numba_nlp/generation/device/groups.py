"""Diverse beam search as tensors: what :mod:`numba_nlp.kernels.generation.beam_groups` does, for all sentences."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.beam_search import FoundRows
from numba_nlp.generation.device.beam_state import Candidates, DeviceBeams, finish_rows
from numba_nlp.generation.device.beams import BeamSteps
from numba_nlp.generation.device.candidates import best_candidates
from numba_nlp.generation.device.edits import DeviceEdits
from numba_nlp.generation.device.host_calls import HostCalls
from numba_nlp.generation.device.progress import Report
from numba_nlp.generation.group_search import write_best
from numba_nlp.generation.plan import Plan
from numba_nlp.kernels.generation.beam_memory import STOP_EARLY

__all__ = ["DeviceGroups", "advance_group", "penalize_chosen"]


def penalize_chosen(wide: Tensor, tokens: Tensor, group: int, penalty: float) -> None:
    """Make tokens that earlier groups chose in this step less probable, once for each time.

    Parameters
    ----------
    wide : Tensor
        float32 ``[S * W, C]``: rows of one group; changed. The last column takes what is no token.
    tokens : Tensor
        int64 ``[S, G, W]``: what the groups chose.
    group : int
        Those before it count.
    penalty : float
    """
    sentences, _, beams = tokens.shape
    n = group * beams
    chosen = tokens[:, :group].reshape(sentences, 1, n).clamp(max=wide.shape[1] - 1)
    ids = chosen.expand(sentences, beams, n).reshape(wide.shape[0], n)
    # one after the other, as sums in float32 depend on it
    for i in range(n):
        place = ids[:, i : i + 1]
        wide.scatter_(1, place, wide.gather(1, place) - penalty)


def advance_group(
    steps: BeamSteps, rows: Tensor, filled: Tensor, found: Candidates, padding: int, state: DeviceBeams
) -> None:
    """Take one step of one group of all sentences.

    Parameters
    ----------
    steps : BeamSteps
    rows, filled : Tensor
        int64 ``[S * W, T]``: rows of the group, and the columns of them that are there.
    found : Candidates
    padding : int
        What a group chooses that is done: later groups see it.
    state : DeviceBeams
        Of the group; changed.
    """
    rules, beams = steps.rules, state.running.shape[1]
    width = filled + 1 - rules.prompt_width
    step = width[None] - 1
    done = state.done[:, None]
    norm = steps.norm(width)
    hits = steps.hits(rows, filled, found, state.done)
    best = slice(0, beams)
    finish_rows(
        state,
        hits[:, best] & ~done,
        found.totals[:, best] / norm,
        width,
        found.beams[:, best],
        found.tokens[:, best],
        found.values[:, best],
    )
    # the first ones that end no row, in their order; behind them rows of no probability
    ends, places = torch.sort(hits.long(), dim=1, stable=True)
    ends, places = ends[:, best].bool(), places[:, best]
    running = found.totals.gather(1, places).masked_fill(ends, float("-inf"))
    tokens = found.tokens.gather(1, places).masked_fill(ends, 0)
    parents = found.beams.gather(1, places).masked_fill(ends, 0)
    values = found.values.gather(1, places).masked_fill(ends, 0.0)
    state.running.copy_(torch.where(done, state.running, running))
    here = torch.arange(beams, device=rows.device).expand(parents.shape)
    state.tokens.index_copy_(0, step, tokens.masked_fill(done, padding)[None])
    state.parents.index_copy_(0, step, torch.where(done, here, parents)[None])
    state.values.index_copy_(0, step, values[None])
    full = state.finished_width[:, -1] > 0
    ended = full
    if rules.early_stopping != STOP_EARLY:
        ended = full & (state.finished[:, -1] >= found.totals[:, 0] / steps.hoped_norm(width))
    state.done.logical_or_(ended)
    # rows that are open at the greatest length are finished as they are
    last = filled + 1 >= rules.max_length
    flushed = (last & ~state.done)[:, None].expand(tokens.shape)
    finish_rows(state, flushed, running / norm, width, parents, tokens, values)
    state.done.logical_or_(last)


class DeviceGroups:
    """The state of all groups of all sentences, and what a step does to it.

    Parameters
    ----------
    plan : Plan
    calls : HostCalls
    device : torch.device

    Attributes
    ----------
    tokens, parents : Tensor
        int64 ``[R]``: what each row reads next, and the row that it continues.
    report : Report
    """

    def __init__(self, plan: Plan, calls: HostCalls, device: torch.device) -> None:
        self._plan = plan
        config, sentences = plan.config, plan.prompts.ids.shape[0]
        self._groups, self._beams = config.num_beam_groups, config.num_beams // config.num_beam_groups
        self._penalty = float(np.float32(config.diversity_penalty))
        self._edits = DeviceEdits(plan, calls, device, self._beams)
        self._steps = BeamSteps(plan.beam_rules(), device, calls)
        self._state = DeviceBeams.new(sentences * self._groups, self._beams, plan.new_tokens, device)
        self._filled = torch.full((), plan.prompt_width, device=device)
        shape = (sentences, self._groups, self._beams)
        self._rows = torch.from_numpy(plan.first_rows().astype(np.int64)).to(device).view(*shape, -1)
        self._chosen = torch.zeros(shape, dtype=torch.int64, device=device)
        self._first_rows = torch.arange(0, sentences * config.num_beams, self._beams, device=device)
        self.tokens = torch.zeros(sentences * config.num_beams, dtype=torch.int64, device=device)
        self.parents = torch.zeros_like(self.tokens)
        self.report = Report(0, device)

    def choose(self, logits: Tensor) -> None:
        """Choose the beams that go on, group after group."""
        filled, (sentences, groups, beams) = self._filled, self._chosen.shape
        step = filled[None] - self._plan.prompt_width
        # a prompt goes on until all of its groups are done
        going_on = ~self._state.done.view(sentences, groups).all(1)
        grouped = logits.view(sentences, groups, beams, -1)
        wrong = []
        for group in range(groups):
            state = self._state.of_group(group, groups)
            rows = self._rows[:, group].reshape(sentences * beams, -1)
            values, shift = self._edits(
                grouped[:, group].reshape(sentences * beams, -1),
                rows,
                filled,
                going_on,
                first=partial(penalize_chosen, tokens=self._chosen, group=group, penalty=self._penalty),
            )
            wrong.append(shift.isnan().view(sentences, beams) & going_on[:, None])
            shift = self._edits.renormalize(values, shift)
            found = best_candidates(values, shift, state.running, self._steps.rules.candidates)
            advance_group(self._steps, rows, filled, found, self._plan.padding, state)
            self._chosen[:, group].copy_(state.tokens.index_select(0, step)[0])
        parents = self._state.parents.index_select(0, step)[0] + self._first_rows[:, None]
        self.parents.copy_(parents.view(-1))
        flat = self._rows.view(sentences * groups * beams, -1)
        flat.copy_(flat.index_select(0, self.parents))
        flat.index_copy_(1, filled[None], self._chosen.view(-1, 1))
        # groups that are done read padding, which may be no token
        self.tokens.copy_(self._chosen.view(-1).masked_fill(self._chosen.view(-1) >= self._plan.vocabulary, 0))
        no_numbers = torch.stack(wrong, 1).view(-1)
        still_open = (~self._state.done.view(sentences, groups).all(1)).sum()
        self.report.fill(still_open, no_numbers, torch.zeros_like(no_numbers), filled, self.tokens)
        filled.add_(1)

    def results(self, steps: int) -> FoundRows:
        """Rows, scores and values, as arrays on the host."""
        return write_best(self._plan, self._state.on_host())
