"""Where the time of a call goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

__all__ = ["STAGES", "Stopwatch"]

#: Text to ids; the model; from its numbers to tokens, labels or spans; those to text.
STAGES = ("tokenize", "forward", "choose", "decode")


class Stopwatch:
    """Seconds of each stage.

    Attributes
    ----------
    seconds : dict of str to float
        Of ``STAGES``, in their order.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Count what is done within to a stage."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.add(stage, perf_counter() - begin)

    def add(self, stage: str, seconds: float) -> None:
        """Count time that something else measured."""
        self.seconds[stage] += seconds
