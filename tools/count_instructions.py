"""Instructions that a call executes, counted one by one: where a machine has no counters, and for every kind of them.

::

    from tools.count_instructions import count_instructions, instructions_per_element

The call runs in a child process that the kernel stops after each instruction (``ptrace``), some 100,000 of them a
second. Linux only; of another thread, nothing is counted. What Python executes around a compiled function is in the
count, so take the difference of two sizes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["count_instructions", "instructions_per_element"]

_TRACE_ME, _SINGLE_STEP = 0, 9


def count_instructions(function: Callable[..., Any], *arguments: Any) -> int:
    """Instructions between the begin and the end of ``function(*arguments)``, those of the call itself included.

    Call the function once before, for what compiles or loads does so only once.

    Raises
    ------
    OSError
        Processes may not be stepped through here.
    RuntimeError
        The call ended by an exception or a signal, or this is not Linux.
    """
    if sys.platform != "linux":
        raise RuntimeError(f"instructions are counted by ptrace, which {sys.platform} lacks; Linux has it")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads are not needed in the child
        child = os.fork()
    if child == 0:
        try:
            gc.disable()
            if libc.ptrace(_TRACE_ME, 0, None, None) != 0:
                os._exit(3)
            os.kill(os.getpid(), signal.SIGSTOP)
            function(*arguments)
            os.kill(os.getpid(), signal.SIGSTOP)
        finally:
            os._exit(4)
    try:
        return _steps(libc, child)
    finally:
        with contextlib.suppress(ChildProcessError, ProcessLookupError):  # it may have ended by itself
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _steps(libc: ctypes.CDLL, child: int) -> int:
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise OSError("this system does not allow ptrace (a container may need the capability SYS_PTRACE)")
    n = 0
    while True:
        if libc.ptrace(_SINGLE_STEP, child, None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace: {os.strerror(ctypes.get_errno())}")
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            raise RuntimeError(f"the call did not come back: status {status} of its process after {n} instructions")
        if os.WSTOPSIG(status) == signal.SIGSTOP:
            return n
        if os.WSTOPSIG(status) != signal.SIGTRAP:
            raise RuntimeError(f"the call was ended by {signal.Signals(os.WSTOPSIG(status)).name}")
        n += 1


def instructions_per_element(
    function: Callable[..., Any], make: Callable[[int], tuple[Any, ...]], size: int = 4096
) -> float:
    """Instructions for each further element: of twice ``size`` elements less those of ``size``.

    Parameters
    ----------
    function : callable
    make : callable
        Arguments for a number of elements.
    size : int
    """
    one, two = make(size), make(2 * size)
    function(*one)
    function(*two)
    return (count_instructions(function, *two) - count_instructions(function, *one)) / size
