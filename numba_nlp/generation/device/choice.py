"""Greedy choice and sampling of rows that go their own ways, as tensors: one step after the logits."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.beam_search import FoundRows
from numba_nlp.generation.device.counter_random import uniform
from numba_nlp.generation.device.edits import DeviceEdits
from numba_nlp.generation.device.endings import Endings
from numba_nlp.generation.device.host_calls import HostCalls
from numba_nlp.generation.device.progress import Report
from numba_nlp.generation.device.row_values import log_sum_exp, weigh_values
from numba_nlp.generation.plan import Plan

__all__ = ["DeviceChoice", "draw", "take_largest"]


def take_largest(values: Tensor) -> tuple[Tensor, Tensor]:
    """The most probable token of each row, the first of several, and its log-probability, float64.

    Parameters
    ----------
    values : Tensor
        float32 ``[R, V]``.
    """
    tokens = values.argmax(-1)
    return tokens, values.gather(1, tokens[:, None])[:, 0].double() - log_sum_exp(values)


def draw(values: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """One token of each row by its probability, and its log-probability, float64.

    Parameters
    ----------
    values : Tensor
        float32 ``[R, V]``: logits, or what differs from log-probabilities by a constant.
    numbers : Tensor
        float64 ``[R]``: random, in (0, 1).
    """
    weights, top = weigh_values(values)
    reached = weights.double().cumsum(-1)
    total = reached[:, -1]
    tokens = (reached <= (numbers * total)[:, None]).sum(-1)
    # where rounding leaves the goal behind the last value, that one
    places = torch.arange(values.shape[1], device=values.device)
    last = places.masked_fill(values == float("-inf"), 0).amax(-1)
    tokens = torch.minimum(tokens, last)
    return tokens, values.gather(1, tokens[:, None])[:, 0].double() - top[:, 0].double() - total.log()


class DeviceChoice:
    """The state of all rows, and what a step does to it.

    Parameters
    ----------
    plan : Plan
    calls : HostCalls
    seed : uint64
    device : torch.device
    streams : bool
        Whether the host wants the tokens of each step.

    Attributes
    ----------
    tokens : Tensor
        int64 ``[R]``: what each row reads next.
    parents : None
        Rows go on as they are.
    report : Report
    """

    parents = None

    def __init__(self, plan: Plan, calls: HostCalls, seed: np.uint64, device: torch.device, *, streams: bool) -> None:
        self._calls = calls
        self._edits = DeviceEdits(plan, calls, device, plan.per_prompt)
        self._endings = Endings(plan.beam_rules(), device)
        self._padding = plan.padding
        self._prompts = plan.prompts.ids.shape[0]
        self._width = plan.prompt_width
        self._rows = torch.from_numpy(plan.first_rows().astype(np.int64)).to(device)
        n_rows = self._rows.shape[0]
        self._filled = torch.full((), plan.prompt_width, device=device)
        self._values = torch.zeros(plan.new_tokens, n_rows, device=device)
        self._done = torch.zeros(n_rows, dtype=torch.bool, device=device)
        self._keys: Tensor | None = None
        if plan.config.do_sample:
            self._keys = torch.from_numpy(plan.keys(plan.per_prompt).view(np.int64)).to(device)
            self._seed = torch.from_numpy(np.array([seed]).view(np.int64)).to(device)
            self._lane = torch.zeros(1, dtype=torch.int64, device=device)
        self.tokens = torch.zeros(n_rows, dtype=torch.int64, device=device)
        self.report = Report(n_rows if streams else 0, device)

    def choose(self, logits: Tensor) -> None:
        """Choose a token of each row, and put it behind."""
        filled, done = self._filled, self._done
        step = filled - self._width
        going_on = ~done.view(self._prompts, -1).all(-1)
        values, _ = self._edits(logits, self._rows, filled, going_on)
        if self._keys is None:
            tokens, scores = take_largest(values)
        else:
            self._edits.warp(values)
            tokens, scores = draw(values, uniform(self._seed, self._keys, step, self._lane))
        wrong = scores.isnan() & ~done
        empty = values.amax(-1) == float("-inf")
        tokens = tokens.masked_fill(done, self._padding)
        ends = self._endings.ends_row(self._rows, filled, None, tokens)
        self._rows.index_copy_(1, filled[None], tokens[:, None])
        self._values.index_copy_(0, step[None], scores.float().masked_fill(done, 0.0)[None])
        was_open = ~done
        done.logical_or_(ends)
        if self._calls.has_stop_strings:
            done.copy_(self._calls.ends_of_rows(self._rows, filled + 1, done))
        self.tokens.copy_(tokens.masked_fill(done, 0))
        self.report.fill((~done).sum(), wrong & ~empty, wrong & empty, filled, tokens, was_open)
        filled.add_(1)

    def results(self, steps: int) -> FoundRows:
        """Rows, scores and values after some steps, as arrays on the host."""
        rows = self._rows[:, : self._width + steps].to("cpu", torch.int32).numpy()
        values = self._values[:steps].t().contiguous().cpu().numpy()
        return rows, values.sum(1, dtype=np.float64).astype(np.float32), values
