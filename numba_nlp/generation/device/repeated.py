"""Doing the same on a device again and again: call by call, or as a CUDA graph that was captured from one call."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["Capture", "Repeated", "capture_of", "own_stream"]

#: Gives what a function would do, as a function that does it, and what it returned; does not do it.
Capture = Callable[[Callable[[], Any]], tuple[Callable[[], object], Any]]

#: Calls before the one that is captured: libraries choose their kernels and take their memory in these.
_WARM_UP = 2
#: A capture takes about as long as some calls; for fewer than these it does not pay.
_LEAST_CALLS = 6
_ONE_CAPTURE = threading.Lock()
#: One stream for each thread and device: the allocator keeps memory apart by streams.
_STREAMS = threading.local()


def _capture_cuda_graph(function: Callable[[], Any]) -> tuple[Callable[[], object], Any]:
    graph = torch.cuda.CUDAGraph()
    # "thread_local": other threads may allocate meanwhile. Two captures at once would still be in each other's way.
    stream = torch.cuda.current_stream()
    with _ONE_CAPTURE, torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        result = function()
    return graph.replay, result


def capture_of(device: torch.device) -> Capture | None:
    """How to capture on a device; None where nothing can be captured."""
    return _capture_cuda_graph if device.type == "cuda" else None


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """A stream of its own on a CUDA device, as captures need; it begins behind what the caller's stream does."""
    if device.type != "cuda":
        yield
        return
    with torch.cuda.device(device):
        streams, number = _STREAMS.__dict__, torch.cuda.current_device()
        if number not in streams:
            streams[number] = torch.cuda.Stream()
        outside, inside = torch.cuda.current_stream(), streams[number]
        inside.wait_stream(outside)
        try:
            with torch.cuda.stream(inside):
                yield
        finally:
            outside.wait_stream(inside)


class Repeated:
    """A function without arguments that is called again and again.

    Parameters
    ----------
    function : callable
        Works on the same memory in each call. What it returns is valid until the next call.
    capture : Capture or None
    calls : int
        So many are expected.
    """

    def __init__(self, function: Callable[[], Any], capture: Capture | None, calls: int) -> None:
        self._function = function
        self._capture = capture if calls >= _WARM_UP + _LEAST_CALLS else None
        self._calls = 0
        self._replay: Callable[[], object] | None = None
        self._result: Any = None

    def __call__(self) -> Any:
        """Do it once more.

        Warns
        -----
        RuntimeWarning
            It could not be captured, and is called instead.
        """
        if self._capture is not None and self._calls == _WARM_UP:
            try:
                self._replay, self._result = self._capture(self._function)
            except RuntimeError as error:
                self._capture = None
                warnings.warn(
                    f"generation goes on without a CUDA graph, more slowly: the step could not be captured ({error})",
                    RuntimeWarning,
                    stacklevel=2,
                )
        self._calls += 1
        if self._replay is None:
            return self._function()
        self._replay()
        return self._result
