"""A barrier for the threads that compute one step together.

Between two products all threads wait for each other, some hundred times a step, so waiting must cost less than a
microsecond: threads count themselves in one word and watch another (a counting barrier, as in Mellor-Crummey, Scott
1991, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors"). Who waits for long lets other threads
of the machine run. An abort ends all waiting, so that no thread spins for one that an exception has taken away.

Twin: ``numba_nlp.reference.step.team``.
"""

from __future__ import annotations

import platform
import sys
import threading
import time

import numpy as np
from llvmlite import ir
from numba.core import cgutils, config, types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import _element_pointer

__all__ = ["ABORT", "ABORTED", "abort_team", "new_team_state", "wait_for_team"]

#: What :func:`wait_for_team` returns when the team was told to stop.
ABORTED = 1
# Places of the words in the state, each in a cache line of its own (128 bytes on some processors).
_ARRIVED, _ROUND = 16, 32
#: Place of the word that, when it is not zero, lets all threads return ``ABORTED`` from :func:`wait_for_team`.
ABORT = 48
_SIZE = 64
#: Looks at the word before other threads may run: some ten microseconds.
_PATIENCE = 2000


def new_team_state() -> np.ndarray:
    """State of a barrier where nobody waits: int64[64]."""
    return np.zeros(_SIZE, np.int64)


if config.DISABLE_JIT:
    _LOCK = threading.Lock()

    def _add_one(state, place):
        with _LOCK:
            state[place] += 1
            return state[place] - 1

    def _read(state, place):
        return state[place]

    def _write(state, place, value):
        state[place] = value

    def _pause():
        """Nothing: the interpreter is slow enough."""

    def _let_others_run():
        time.sleep(0)

else:  # pragma: no cover - compiled only, the plain forms stand above
    _i32, _i64 = ir.IntType(32), ir.IntType(64)

    @intrinsic
    def _add_one(typingctx, state, place):
        """Add 1 and return what was there, as one operation; what was written before is seen by who reads the sum."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], *args)
            return builder.atomic_rmw("add", pointer, ir.Constant(_i64, 1), "acq_rel")

        return types.int64(state, types.int64), codegen

    @intrinsic
    def _read(typingctx, state, place):
        """A word, and with it what its writer wrote before."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], *args)
            return builder.load_atomic(pointer, "acquire", 8)

        return types.int64(state, types.int64), codegen

    @intrinsic
    def _write(typingctx, state, place, value):
        """Set a word, after all that was written before."""

        def codegen(context, builder, signature, args):
            array, place, value = args
            pointer = _element_pointer(context, builder, signature.args[0], array, place)
            builder.store_atomic(value, pointer, "release", 8)
            return context.get_dummy_value()

        return types.void(state, types.int64, types.int64), codegen

    @intrinsic
    def _pause(typingctx):
        """Tell the processor that this loop waits."""

        def codegen(context, builder, signature, args):
            machine, nothing = platform.machine().lower(), ir.VoidType()
            if machine in ("x86_64", "amd64"):
                kind = ir.FunctionType(nothing, [])
                builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
            elif machine in ("arm64", "aarch64"):
                kind = ir.FunctionType(nothing, [_i32])
                function = cgutils.get_or_insert_function(builder.module, kind, "llvm.aarch64.hint")
                builder.call(function, [ir.Constant(_i32, 1)])  # yield
            return context.get_dummy_value()

        return types.void(), codegen

    @intrinsic
    def _let_others_run(typingctx):
        """Give the core to another thread; Windows does so by itself when its time is over."""

        def codegen(context, builder, signature, args):
            if sys.platform != "win32":
                kind = ir.FunctionType(_i32, [])
                builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
            return context.get_dummy_value()

        return types.void(), codegen


@kernel
def wait_for_team(state, n_threads):
    """Wait until all threads of a team have called this.

    What each of them wrote before is seen by all of them afterwards.

    Parameters
    ----------
    state : int64[64]
        By :func:`new_team_state`, one for a team.
    n_threads : int64
        How many threads call this each round.

    Returns
    -------
    int64
        0, or ``ABORTED`` when the team was told to stop: return as soon as possible then, and wait no more. Threads may
        learn of it in different rounds.
    """
    if n_threads > 1:
        this_round = _read(state, _ROUND)
        if _add_one(state, _ARRIVED) == n_threads - 1:
            _write(state, _ARRIVED, 0)  # before the others may arrive again
            _write(state, _ROUND, this_round + 1)
        else:
            looks = 0
            while _read(state, _ROUND) == this_round:
                if _read(state, ABORT):
                    return ABORTED
                _pause()
                looks += 1
                if looks >= _PATIENCE:
                    _let_others_run()
    return ABORTED if _read(state, ABORT) else 0


@kernel
def abort_team(state):
    """Let all threads of the team return ``ABORTED`` from :func:`wait_for_team`, now and from now on.

    Parameters
    ----------
    state : int64[64]
        To be made anew, or set to zeros when no thread uses it any more.
    """
    _write(state, ABORT, 1)
