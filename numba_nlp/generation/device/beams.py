"""Beam search and beam sampling as tensors: what :mod:`numba_nlp.kernels.generation.beams` does, for all sentences."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.beam_search import FoundRows, write_rows
from numba_nlp.generation.device.beam_state import Candidates, DeviceBeams, finish_rows, length_norms
from numba_nlp.generation.device.candidates import best_candidates, draw_candidates
from numba_nlp.generation.device.edits import DeviceEdits
from numba_nlp.generation.device.endings import Endings
from numba_nlp.generation.device.host_calls import HostCalls
from numba_nlp.generation.device.progress import Report
from numba_nlp.generation.device.row_values import sort_descending
from numba_nlp.generation.plan import Plan
from numba_nlp.kernels.generation.beam_memory import STOP_EARLY, STOP_NEVER, UNLIKELY, BeamRules

__all__ = ["BeamSteps", "DeviceSearch"]


class BeamSteps:
    """The bookkeeping of one step.

    Parameters
    ----------
    rules : BeamRules
    device : torch.device
    calls : HostCalls
    """

    def __init__(self, rules: BeamRules, device: torch.device, calls: HostCalls) -> None:
        self.rules = rules
        self._calls = calls
        self.endings = Endings(rules, device)
        longest = rules.max_length - rules.prompt_width
        self._norms = length_norms(longest, rules.length_penalty, device)
        self._hopes_longest = rules.early_stopping == STOP_NEVER and rules.length_penalty > 0.0

    def norm(self, width: Tensor) -> Tensor:
        """What scores of rows of ``width`` new tokens, an int64 scalar, are divided by."""
        return self._norms.index_select(0, width[None])

    def hoped_norm(self, width: Tensor) -> Tensor:
        """The same for what rows of that width may become."""
        return self._norms[-1:] if self._hopes_longest else self.norm(width)

    def hits(self, rows: Tensor, filled: Tensor, found: Candidates, done: Tensor) -> Tensor:
        """Which candidates end their rows by their token or their text, bool ``[S, K]``."""
        sentences, k = found.beams.shape
        beams = rows.shape[0] // sentences
        first = torch.arange(0, rows.shape[0], beams, device=rows.device)
        parents = (found.beams + first[:, None]).view(-1)
        hits = self.endings.ends_row(rows, filled, parents, found.tokens.reshape(-1)).view(sentences, k)
        if self._calls.has_stop_strings:
            hits = hits | self._calls.ends_of_candidates(rows, filled, found, done)
        return hits

    def advance_sentences(self, rows: Tensor, filled: Tensor, found: Candidates, state: DeviceBeams) -> None:
        """Take one step: finish rows, choose those that go on, and note which sentences have ended.

        Parameters
        ----------
        rows, filled : Tensor
            int64 ``[S * B, T]`` and its columns that are there.
        found : Candidates
        state : DeviceBeams
            Changed. Of a sentence that is done, what was finished stays; what goes on is of no account.
        """
        rules, beams = self.rules, state.running.shape[1]
        width = filled + 1 - rules.prompt_width
        step = width[None] - 1
        done = state.done[:, None]
        hits = (self.hits(rows, filled, found, state.done) | (filled + 1 >= rules.max_length)) & found.real
        best = slice(0, beams)
        finish_rows(
            state,
            hits[:, best] & ~done,
            found.totals[:, best] / self.norm(width),
            width,
            found.beams[:, best],
            found.tokens[:, best],
            found.values[:, best],
        )
        # those that end go on only where there are too few others
        totals = torch.where(hits, found.totals + float(UNLIKELY), found.totals)
        ordered, places = sort_descending(totals)
        ordered, places = ordered[:, best], places[:, best]
        there = found.real.gather(1, places)
        state.running.copy_(torch.where(done, state.running, ordered))
        for held, given in ((state.tokens, found.tokens), (state.parents, found.beams), (state.values, found.values)):
            held.index_copy_(0, step, given.gather(1, places).masked_fill(~there, 0)[None])
        full = state.finished_width[:, -1] > 0
        hoped = state.running[:, 0] / self.hoped_norm(width)
        worst = state.finished[:, -1].masked_fill(~full, float(UNLIKELY))
        ended = (hits == found.real).all(1) | ~(hoped > worst)
        if rules.early_stopping == STOP_EARLY:
            ended = ended | full
        state.done.logical_or_(ended)


class DeviceSearch:
    """The state of all sentences, and what a step does to it.

    Parameters
    ----------
    plan : Plan
    calls : HostCalls
    seed : uint64
    device : torch.device

    Attributes
    ----------
    tokens, parents : Tensor
        int64 ``[R]``: what each row reads next, and the row that it continues.
    report : Report
    """

    def __init__(self, plan: Plan, calls: HostCalls, seed: np.uint64, device: torch.device) -> None:
        self._plan = plan
        sentences, beams = plan.prompts.ids.shape[0], plan.config.num_beams
        self._edits = DeviceEdits(plan, calls, device, beams)
        self._steps = BeamSteps(plan.beam_rules(), device, calls)
        self._temperature = plan.config.temperature
        self._state = DeviceBeams.new(sentences, beams, plan.new_tokens, device)
        self._rows = torch.from_numpy(plan.first_rows().astype(np.int64)).to(device)
        self._filled = torch.full((), plan.prompt_width, device=device)
        self._first_rows = torch.arange(0, sentences * beams, beams, device=device)[:, None]
        self._keys: Tensor | None = None
        if plan.config.do_sample:
            self._keys = torch.from_numpy(plan.keys(1).view(np.int64)).to(device)
            self._seed = torch.from_numpy(np.array([seed]).view(np.int64)).to(device)
        self.tokens = torch.zeros(sentences * beams, dtype=torch.int64, device=device)
        self.parents = torch.zeros(sentences * beams, dtype=torch.int64, device=device)
        self.report = Report(0, device)

    def choose(self, logits: Tensor) -> None:
        """Choose the beams that go on."""
        state, filled, rows = self._state, self._filled, self._rows
        step = filled - self._plan.prompt_width
        going_on = ~state.done
        values, shift = self._edits(logits, rows, filled, going_on)
        wrong = (shift.isnan().view(state.running.shape) & going_on[:, None]).view(-1)
        room = self._steps.rules.candidates
        if self._keys is None:
            shift = self._edits.renormalize(values, shift)
            found = best_candidates(values, shift, state.running, room)
        else:
            self._edits.warp(values)
            shift = self._edits.renormalize(values, shift / self._temperature)
            found = draw_candidates(values, shift, state.running, room, self._seed, self._keys, step)
        self._steps.advance_sentences(rows, filled, found, state)
        parents = state.parents.index_select(0, step[None])[0] + self._first_rows
        self.parents.copy_(parents.view(-1))
        self.tokens.copy_(state.tokens.index_select(0, step[None]).view(-1))
        rows.copy_(rows.index_select(0, self.parents))
        rows.index_copy_(1, filled[None], self.tokens[:, None])
        self.report.fill((~state.done).sum(), wrong, torch.zeros_like(wrong), filled, self.tokens)
        filled.add_(1)

    def results(self, steps: int) -> FoundRows:
        """Rows, scores and values, as arrays on the host."""
        sentences, returned = self._plan.prompts.ids.shape[0], self._plan.config.num_return_sequences
        units, places = np.indices((sentences, returned))
        return write_rows(self._plan, self._state.on_host(), units, places)
