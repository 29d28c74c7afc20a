"""How much of a generation's time the model takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from numba_nlp.generation.steps import Steps

__all__ = ["StepClock", "TimedSteps"]


class StepClock:
    """Seconds that models take within generations: reading sources and prompts, and the steps of the decoder.

    What is left of a generation's time is the choice of tokens on logits, and what surrounds it. With the engine
    "device" a step and the choice on its logits are one piece of work that the host only waits for: all of it counts.

    Attributes
    ----------
    seconds : float
        Since the clock was made.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of a block."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - begin


class TimedSteps:
    """Steps whose time a clock counts; see :class:`~numba_nlp.generation.steps.Steps`.

    Parameters
    ----------
    steps : Steps
    clock : StepClock
    """

    def __init__(self, steps: Steps, clock: StepClock) -> None:
        self._steps = steps
        self._clock = clock

    def start(self) -> np.ndarray:
        """Read sources and prompts."""
        with self._clock.running():
            return self._steps.start()

    def advance(self, tokens: np.ndarray, parents: np.ndarray | None = None) -> np.ndarray:
        """Read one token more in each row."""
        with self._clock.running():
            return self._steps.advance(tokens, parents)

    def keep(self, prompts: np.ndarray) -> None:
        """Go on with some prompts only."""
        with self._clock.running():
            self._steps.keep(prompts)
