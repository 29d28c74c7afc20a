"""Threads that compute one step together."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

import numpy as np

from numba_nlp.kernels.step.team import ABORT, new_team_state

__all__ = ["Team"]

#: Seconds after which a thread that has nothing to do looks whether the program has ended.
_LOOK_AFTER = 1.0
#: Seconds after which who waits for threads sees interrupts that do not end waiting by themselves, as on Windows.
_INTERRUPTIBLE = 0.1


class _Job:
    """One call on all threads.

    Each thread writes its outcome, then puts a token: an interrupt may lose the token that it takes, never an outcome.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], n_threads: int) -> None:
        self.function = function
        self.args = args
        self.outcomes: list[tuple[Any, BaseException | None] | None] = [None] * n_threads
        self.aborted = False
        self.tokens: SimpleQueue[None] = SimpleQueue()

    def call(self, thread: int, state: np.ndarray) -> None:
        """Do the part of a thread, unless it was done; an exception is kept, and ends the waiting of the others."""
        if self.outcomes[thread] is not None:
            return
        outcome: tuple[Any, BaseException | None] = (None, None)
        try:
            if not self.aborted:
                outcome = (self.function(thread, len(self.outcomes), *self.args), None)
        except BaseException as error:
            state[ABORT] = 1  # before the outcome, after which the state may serve another call
            outcome = (None, error)
        self.outcomes[thread] = outcome

    def wait(self) -> None:
        """Return when all threads but the first have done their parts."""
        while None in self.outcomes[1:]:
            with suppress(Empty):
                self.tokens.get(timeout=_INTERRUPTIBLE)


def _goes_on(callers: Sequence[threading.Thread]) -> bool:
    """Whether there may be more to do: a program ends with its main thread and all others that are no daemons."""
    return threading.main_thread().is_alive() or any(one.is_alive() and not one.daemon for one in callers)


def _work(jobs: SimpleQueue[_Job | None], thread: int, state: np.ndarray, callers: Sequence[threading.Thread]) -> None:
    """What a thread does until it is told to end, or the program ends without a word."""
    while True:
        try:
            job = jobs.get(timeout=_LOOK_AFTER)
        except Empty:
            if _goes_on(callers):
                continue
            return
        if job is None:
            return
        job.call(thread, state)
        job.tokens.put(None)
        del job  # its arguments are not kept until the next call


def _end(queues: Sequence[SimpleQueue[_Job | None]]) -> None:
    for queue in queues:
        queue.put(None)


class Team:
    """Threads that call one function all at once, the calling thread among them.

    Functions are compiled kernels that let go of the GIL and wait for each other by
    :func:`numba_nlp.kernels.step.team.wait_for_team` with the state of the team. Whatever ends one of them early, an
    exception or an interrupt from the keyboard, makes the others return from there, so none of them is left waiting.

    Parameters
    ----------
    n_threads : int
        Threads together with the one that calls :meth:`run`.

    Raises
    ------
    ValueError
        ``n_threads`` is below 1.

    Attributes
    ----------
    state : int64[64]
        For ``wait_for_team``.

    Notes
    -----
    Use it in a ``with`` block or call :meth:`close`. Calls of :meth:`run` from several threads follow one another.
    """

    def __init__(self, n_threads: int) -> None:
        if n_threads < 1:
            raise ValueError(f"`n_threads` must be at least 1, got {n_threads}")
        self.n_threads = n_threads
        self.state = new_team_state()
        self._process = os.getpid()
        self._one_call = threading.Lock()
        self._unfinished: _Job | None = None
        self._queues: list[SimpleQueue[_Job | None]] = [SimpleQueue() for _ in range(n_threads - 1)]
        self._threads: list[threading.Thread] = []
        #: who made the team, or called it last
        self._callers = [threading.current_thread()]
        # threads know their queue, not the team, so a team that is forgotten ends them
        self._ended = weakref.finalize(self, _end, self._queues)
        for thread, queue in enumerate(self._queues, 1):
            # a daemon would be stopped amid compiled code when the program ends
            self._threads.append(
                threading.Thread(
                    target=_work,
                    args=(queue, thread, self.state, self._callers),
                    name=f"numba_nlp step {thread}",
                )
            )
            self._threads[-1].start()

    def run(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call ``function(thread, n_threads, *args)`` for each thread at once, and wait for all of them.

        Parameters
        ----------
        function : callable
            Called with the thread's number, from 0 (the calling thread) on, and the number of threads.
        *args
            The same objects for each thread.

        Returns
        -------
        list
            What each thread returned.

        Raises
        ------
        RuntimeError
            The team was closed, or belongs to the process that this one was forked from.
        BaseException
            What the first of the threads that failed raised; all of them have stopped by then.
        """
        self._must_be_usable()
        with self._one_call:
            self._must_be_usable()
            self._finish()
            self._callers[0] = threading.current_thread()
            self.state[:] = 0
            job = _Job(function, args, self.n_threads)
            try:
                self._unfinished = job
                for queue in self._queues:
                    queue.put(job)
                job.call(0, self.state)
                own = job.outcomes[0]
                if own is not None and own[1] is not None:
                    raise own[1]
                job.wait()
            finally:
                # quick when all is well
                self._finish()
        results = [outcome for outcome in job.outcomes if outcome is not None]
        for _, error in results:
            if error is not None:
                raise error
        return [result for result, _ in results]

    def _finish(self) -> None:
        """Stop what :meth:`run` began and did not see the end of; further interrupts wait until all have stopped."""
        interrupt: BaseException | None = None
        while (job := self._unfinished) is not None:
            try:
                if None in job.outcomes[1:]:
                    job.aborted = True
                    self.state[ABORT] = 1
                    for queue in self._queues:  # again: the interrupt may have come before; a thread does it once
                        queue.put(job)
                    job.wait()
                self._unfinished = None
            except BaseException as error:  # noqa: PERF203  is raised when all have stopped
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _must_be_usable(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"the threads of this team are in process {self._process}, which was forked after they had started; "
                "make a new Team in this process"
            )
        if not self._ended.alive:
            raise RuntimeError("this team was closed; make a new Team")

    def close(self) -> None:
        """End the threads; nothing happens the second time, or in a process that was forked since."""
        if os.getpid() != self._process:
            self._ended.detach()
            return
        with self._one_call:
            self._finish()
            self._ended()
            for thread in self._threads:
                thread.join()

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
