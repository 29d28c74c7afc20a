"""Times of calls that are to be compared, on a machine that others use too: in turns, many short rounds, the least."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["Times", "interleaved_times"]


class Times(NamedTuple):
    """Seconds a call: the least of the rounds, and the middle one."""

    least: float
    median: float


def interleaved_times(calls: Mapping[str, Callable[[], Any]], rounds: int = 40) -> dict[str, Times]:
    """Seconds of each call; all of them in every round, the first one another each time.

    Each is called once before, so nothing is compiled or loaded while time is taken. The garbage collector is off.

    Parameters
    ----------
    calls : mapping of str to callable
        Each should take a millisecond or so: shorter ones measure the clock, longer ones meet more of the others' work.
    rounds : int
    """
    names = list(calls)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        calls[name]()
    was_on = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            for place in range(len(names)):
                name = names[(turn + place) % len(names)]
                begin = time.perf_counter()
                calls[name]()
                seconds[name].append(time.perf_counter() - begin)
    finally:
        if was_on:
            gc.enable()
    return {name: Times(min(taken), statistics.median(taken)) for name, taken in seconds.items()}
