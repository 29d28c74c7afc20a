"""How time grows with the size of what is given: times at sizes that grow, and the exponent that fits them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["Case", "curve", "curves", "exponent"]

#: A size is timed again until this many seconds have gone, the first pass not counted.
SECONDS_EACH = 0.02
#: After a pass that takes longer than this no larger size is tried.
LONGEST = float(os.environ.get("NUMBA_NLP_BENCH_LONGEST", "1"))


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The k of ``seconds = c * sizes ** k``, by least squares over the logarithms.

    Raises
    ------
    ValueError
        There are fewer than two sizes, or they are all the same.
    """
    if len(set(sizes)) < 2:
        raise ValueError(f"an exponent needs times at two sizes at least, got sizes {list(sizes)}")
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


#: Size, and what is timed.
Case = tuple[float, Callable[[], Any]]


def curve(cases: Iterable[Case]) -> tuple[list[float], list[float]]:
    """Sizes, and seconds of the quickest pass of each.

    Parameters
    ----------
    cases : iterable of Case
        Smallest first; taken one by one, two at least, and no longer after a pass of :data:`LONGEST` seconds.
    """
    return curves({"": cases})[""]


def curves(cases: Mapping[str, Iterable[Case]]) -> dict[str, tuple[list[float], list[float]]]:
    """The same for several by name: at each size they take turns."""
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in cases}
    running = {name: iter(some) for name, some in cases.items()}
    while running:
        now = {name: case for name, some in running.items() if (case := next(some, None)) is not None}
        quickest = _by_turns({name: call for name, (_, call) in now.items()})
        for name, (size, _) in now.items():
            found[name][0].append(size)
            found[name][1].append(quickest[name])
        running = {name: running[name] for name in now if quickest[name] <= LONGEST or len(found[name][0]) < 2}
    return found


def _by_turns(calls: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of the quickest pass of each, after one that is not counted."""
    for call in calls.values():
        call()
    spent, quickest = dict.fromkeys(calls, 0.0), dict.fromkeys(calls, float("inf"))
    while waiting := [name for name in calls if quickest[name] == float("inf") or spent[name] < SECONDS_EACH]:
        for name in waiting:
            start = time.perf_counter()
            calls[name]()
            taken = time.perf_counter() - start
            spent[name] += taken
            quickest[name] = min(quickest[name], taken)
    return quickest
