"""How time grows with the size of what is given: times at sizes that grow, and the exponent that fits them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["curve", "exponent"]

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
    sizes: list[float] = []
    seconds: list[float] = []
    for size, call in cases:
        call()
        taken: list[float] = []
        begun = time.perf_counter()
        while not taken or time.perf_counter() - begun < SECONDS_EACH:
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
        sizes.append(size)
        seconds.append(min(taken))
        if seconds[-1] > LONGEST and len(sizes) > 1:
            break
    return sizes, seconds
