"""The loop over steps on the device of the model. The host starts them, and reads a few numbers of each, late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.beam_search import FoundRows
from numba_nlp.generation.choice import Streamer
from numba_nlp.generation.device.beams import DeviceSearch
from numba_nlp.generation.device.choice import DeviceChoice
from numba_nlp.generation.device.groups import DeviceGroups
from numba_nlp.generation.device.host_calls import HostCalls
from numba_nlp.generation.device.progress import Mailbox, Report, refuse_trouble
from numba_nlp.generation.device.repeated import Repeated, capture_of, own_stream
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.streamers import put_prompts, put_tokens

__all__ = ["DeviceSteps", "Search", "generate_on_device", "make_search"]

#: Steps that may be under way before the host looks at the first of them, by the type of the device. Those behind the
#: end of all rows change nothing. On the CPU they would be work for nothing.
_LATE = {"cpu": 0, "cuda": 4}


class Search(Protocol):
    """What chooses tokens: `DeviceChoice`, `DeviceSearch` or `DeviceGroups`."""

    report: Report

    @property
    def tokens(self) -> Tensor:
        """What each row reads next, int64 ``[R]``."""

    @property
    def parents(self) -> Tensor | None:
        """The row that each continues, int64 ``[R]``; None: itself."""

    def choose(self, logits: Tensor) -> None:
        """Choose tokens by the logits of a step."""

    def results(self, steps: int) -> FoundRows:
        """What was found after some steps."""


class DeviceSteps:
    """The model over a static cache, and a search on its logits.

    Parameters
    ----------
    model : Model
    plan : Plan
    search : Search
    """

    def __init__(self, model: Any, plan: Plan, search: Search) -> None:
        self._model, self._plan, self._search = model, plan, search
        prompts = plan.prompts.ids.shape[0]
        positions = max(plan.max_length - 1, plan.prompt_width)
        source = {}
        if plan.source is not None:
            source = {"source_positions": plan.source.ids.shape[1], "sentences": prompts}
        self.cache = model.new_cache(prompts * plan.per_prompt, positions, static=True, **source)

    def start(self) -> None:
        """Read sources and prompts, and choose the first tokens."""
        plan, device = self._plan, self._model.device

        def moved(array: np.ndarray | None) -> Tensor | None:
            return None if array is None else torch.from_numpy(array).to(device)

        if plan.source is not None:
            self._model.encode_source(moved(plan.source.ids), moved(plan.source.mask), self.cache)
        logits = self._model.prompt(moved(plan.prompts.ids), moved(plan.prompts.mask), self.cache)
        self._search.choose(logits.repeat_interleave(plan.per_prompt, 0))

    def read(self) -> Tensor:
        """Read the tokens that were chosen; gives the logits behind them."""
        if self._search.parents is not None:
            self.cache.reorder(self._search.parents)
        logits: Tensor = self._model.step(self._search.tokens, self.cache)
        return logits

    def advance(self) -> None:
        """Read, and choose the next tokens."""
        self._search.choose(self.read())

    def capture(self, function: Callable[[], Any]) -> tuple[Callable[[], object], Any]:
        """Capture a call of one of the above, which the host must not count: it reads nothing."""
        capture, length = capture_of(self._model.device), self.cache.length
        assert capture is not None
        try:
            return capture(function)
        finally:
            self.cache.length = length


@torch.no_grad()
def generate_on_device(
    model: Any,
    plan: Plan,
    seed: np.uint64,
    calls: HostCalls,
    streamer: Streamer | None,
) -> FoundRows:
    """Generate, all of it on the device of the model.

    Parameters
    ----------
    model : Model
    plan : Plan
    seed : uint64
        Of sampling.
    calls : HostCalls
    streamer
        As of :func:`numba_nlp.generation.generate`.

    Returns
    -------
    rows, scores, values : ndarray
        As of :func:`numba_nlp.generation.beam_search.search_beams`.

    Raises
    ------
    ValueError
        The model gives no numbers, the options leave no token, or the device is another than CPU and CUDA.
    """
    device = model.device
    if device.type not in _LATE:
        raise ValueError(f"the engine 'device' works on CUDA and on the CPU, the model is on {device}: engine='torch'")
    # who looks at tokens wants them soon; callables wait for every step anyway
    late = min(_LATE[device.type], 0 if calls else 1 if streamer is not None else _LATE[device.type])
    with own_stream(device):
        search = make_search(plan, calls, seed, device, streams=streamer is not None)
        if streamer is not None:
            put_prompts(streamer, plan)
        steps = 0
        for numbers in _reports(DeviceSteps(model, plan, search), search, plan, calls, late):
            refuse_trouble(numbers)
            steps += 1
            if streamer is not None:
                tokens, counted = numbers[4:].view(2, -1)
                put_tokens(streamer, tokens.numpy(), counted.numpy().astype(bool))
        if streamer is not None:
            streamer.end()
        return search.results(steps)


def make_search(plan: Plan, calls: HostCalls, seed: np.uint64, device: torch.device, *, streams: bool) -> Search:
    """What chooses tokens, before the first step.

    Parameters
    ----------
    plan : Plan
    calls : HostCalls
    seed : uint64
        Of sampling.
    device : torch.device
    streams : bool
        Whether the host wants the tokens of each step, which beams have not.
    """
    if plan.config.num_beam_groups > 1:
        return DeviceGroups(plan, calls, device)
    if plan.config.num_beams > 1:
        return DeviceSearch(plan, calls, seed, device)
    return DeviceChoice(plan, calls, seed, device, streams=streams)


def _reports(steps: DeviceSteps, search: Search, plan: Plan, calls: HostCalls, late: int) -> Iterator[Tensor]:
    """Run the steps, and give the report of each until nothing is open."""
    capture = None if capture_of(search.tokens.device) is None else steps.capture
    # callables of the user are called by the host and cannot be captured; what the model does can
    repeated = Repeated(steps.read if calls else steps.advance, capture, plan.new_tokens - 1)
    mailbox = Mailbox(search.report.numbers, late)
    for number in range(plan.new_tokens):
        if number == 0:
            steps.start()
        elif calls:
            search.choose(repeated())
        else:
            repeated()
        mailbox.post(search.report.numbers)
        if mailbox.full:
            numbers = mailbox.take()
            yield numbers
            if numbers[0] == 0:
                return
    while len(mailbox):
        numbers = mailbox.take()
        yield numbers
        if numbers[0] == 0:
            return
