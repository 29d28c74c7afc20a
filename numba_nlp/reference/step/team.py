"""Plain twin of ``numba_nlp/kernels/step/team.py``, written for obviousness."""

from __future__ import annotations

import threading


def wait_for_team(barrier: threading.Barrier) -> int:
    """0 when all have arrived, 1 when the barrier is broken."""
    try:
        barrier.wait()
    except threading.BrokenBarrierError:
        return 1
    return 0


def abort_team(barrier: threading.Barrier) -> None:
    """Break the barrier."""
    barrier.abort()
