"""Threads that wait for each other: the barrier, and the team that runs it."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from numba.core import config

from numba_nlp._jit import kernel
from numba_nlp.generation.team import Team
from numba_nlp.kernels.step.team import ABORT, ABORTED, abort_team, new_team_state, wait_for_team
from numba_nlp.reference.step import team as twin

#: A program without the JIT waits in Python.
ROUNDS = 100 if config.DISABLE_JIT else 1000
#: More seconds than anything here takes.
LONG = 60.0


@kernel
def count_rounds(thread, n_threads, state, rounds, counts, wrong):
    """Each thread counts a round, then looks at the counts of all, then counts the next."""
    for done in range(rounds):
        counts[thread * 16] += 1
        if wait_for_team(state, n_threads):
            return 1
        for other in range(n_threads):
            if counts[other * 16] != done + 1:
                wrong[thread * 16] += 1
        if wait_for_team(state, n_threads):
            return 1
    return 0


@kernel
def wait_for_ever(thread, n_threads, state, arrived):
    """Wait with one thread more than there are."""
    arrived[thread] = 1
    return wait_for_team(state, n_threads + 1)


@pytest.fixture(params=[1, 2, 3, 4])
def team(request):
    with Team(request.param) as made:
        yield made


def test_no_thread_is_ahead(team):
    # where there are more threads than processors, each wait is one for the system
    rounds = ROUNDS if team.n_threads <= 2 else ROUNDS // 4
    for _ in range(3):
        counts, wrong = np.zeros(64, np.int64), np.zeros(64, np.int64)
        assert team.run(count_rounds, team.state, rounds, counts, wrong) == [0] * team.n_threads
        assert counts[::16][: team.n_threads].tolist() == [rounds] * team.n_threads
        assert not wrong.any()


def test_many_short_runs(team):
    counts, wrong = np.zeros(64, np.int64), np.zeros(64, np.int64)
    for _ in range(ROUNDS if config.DISABLE_JIT else 300):
        counts[:] = 0
        assert team.run(count_rounds, team.state, 1, counts, wrong) == [0] * team.n_threads
    assert not wrong.any()


def test_results_in_the_order_of_threads(team):
    assert team.run(lambda thread, n_threads, add: (thread, n_threads + add), 10) == [
        (thread, team.n_threads + 10) for thread in range(team.n_threads)
    ]


@pytest.mark.parametrize("failing", range(4))
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_exception_of_one_ends_the_others(team, failing, error):
    if failing >= team.n_threads:
        return
    arrived = np.zeros(4, np.int64)

    def work(thread, n_threads):
        if thread == failing:
            while arrived.sum() < n_threads - 1:
                time.sleep(0)
            raise error
        assert wait_for_ever(thread, n_threads, team.state, arrived) == ABORTED

    with pytest.raises(type(error)) as raised:
        team.run(work)
    assert raised.value is error
    # and it is usable
    counts, wrong = np.zeros(64, np.int64), np.zeros(64, np.int64)
    assert team.run(count_rounds, team.state, 10, counts, wrong) == [0] * team.n_threads


def test_an_abort_ends_all(team):
    arrived = np.zeros(4, np.int64)

    def abort():
        while arrived.sum() < team.n_threads:
            time.sleep(0)
        abort_team(team.state)

    other = threading.Thread(target=abort)
    other.start()
    assert team.run(wait_for_ever, team.state, arrived) == [ABORTED] * team.n_threads
    other.join()


@pytest.fixture(params=["signal", "flag"])
def interrupt(request):
    """A function that interrupts the main thread as Ctrl-C does, or by setting the flag that Python looks at."""
    if request.param == "signal" and not hasattr(signal, "pthread_kill"):
        pytest.skip("needs signals to threads")
    # a shell starts what runs in the background with interrupts ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.param == "flag":
        yield _thread.interrupt_main
    else:
        yield lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_interrupts_at_any_moment(interrupt):
    """Interrupts that come at random moments leave nobody waiting, and the team usable."""
    counts, wrong = np.zeros(64, np.int64), np.zeros(64, np.int64)
    random = np.random.default_rng(5)
    seen = 0
    with Team(3) as team:
        count_rounds(0, 1, new_team_state(), 1, counts, wrong)
        for _ in range(40):
            began = time.monotonic()
            timer = threading.Timer(random.exponential(0.002), interrupt)
            try:
                timer.start()
                try:
                    while timer.is_alive():
                        team.run(count_rounds, team.state, 1, counts, wrong)
                        counts[:] = 0
                finally:
                    timer.join()
                time.sleep(0.001)
            except KeyboardInterrupt:
                seen += 1
            assert time.monotonic() - began < LONG
            counts[:] = 0
        counts[:] = 0
        wrong[:] = 0
        assert team.run(count_rounds, team.state, 10, counts, wrong) == [0] * 3
        assert not wrong.any()
    assert seen == 40


def test_an_interrupt_while_waiting_for_others(interrupt):
    """The calling thread has done its part; another still computes, then waits."""
    arrived = np.zeros(4, np.int64)
    with Team(2) as team:

        def work(thread, n_threads):
            if thread == 0:
                while not arrived[1]:
                    time.sleep(0)
                threading.Timer(0.02, interrupt).start()
                return 0
            return wait_for_ever(thread, n_threads, team.state, arrived)

        with pytest.raises(KeyboardInterrupt):
            team.run(work)
        assert team.state[ABORT] == 1


def test_threads_end_with_the_team():
    before = set(threading.enumerate())
    with Team(3) as team:
        assert len(set(threading.enumerate()) - before) == 2
    assert set(threading.enumerate()) == before
    team.close()
    with pytest.raises(RuntimeError, match="this team was closed; make a new Team"):
        team.run(print)


def test_a_forgotten_team_ends_its_threads():
    before = set(threading.enumerate())
    team = Team(2)
    known = weakref.ref(team)
    started = set(threading.enumerate()) - before
    del team
    gc.collect()
    assert known() is None
    for thread in started:
        thread.join(LONG)
        assert not thread.is_alive()


def test_arguments_are_not_kept():
    class Thing:
        pass

    with Team(2) as team:
        thing = Thing()
        known = weakref.ref(thing)
        team.run(lambda thread, n_threads, thing: None, thing)
        del thing
        began = time.monotonic()
        while known() is not None and time.monotonic() - began < LONG:
            time.sleep(0)
            gc.collect()
        assert known() is None


def test_callers_take_turns():
    counts = np.zeros(2, np.int64)

    def add(thread, n_threads):
        counts[thread] += 1

    with Team(2) as team:
        callers = [threading.Thread(target=lambda: [team.run(add) for _ in range(100)]) for _ in range(3)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert counts.tolist() == [300, 300]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_told():
    with Team(2) as team:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover - in the child
            try:
                team.run(print)
            except RuntimeError as error:
                os.write(writer, str(error).encode())
            finally:
                team.close()
                os._exit(0)
        os.close(writer)
        with open(reader) as said:
            message = said.read()
        assert os.waitpid(child, 0)[1] == 0
        assert f"in process {os.getpid()}, which was forked after they had started; make a new Team" in message


def test_no_thread_is_too_few():
    with pytest.raises(ValueError, match="`n_threads` must be at least 1, got 0"):
        Team(0)


def test_the_twin_says_the_same():
    barrier = threading.Barrier(2)
    found = []
    threads = [threading.Thread(target=lambda: found.append(twin.wait_for_team(barrier))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0, 0]
    twin.abort_team(barrier)
    assert twin.wait_for_team(barrier) == ABORTED
    state = new_team_state()
    assert wait_for_team(state, 1) == 0
    abort_team(state)
    assert wait_for_team(state, 1) == ABORTED
    assert wait_for_team(state, 2) == ABORTED


def test_a_thread_may_work_on_when_the_main_one_has_ended():
    """Its team waits for it; a daemon's does not keep the program."""
    code = """if True:
        import threading, time
        from numba_nlp.generation import team

        team._LOOK_AFTER = 0.05
        def go():
            with team.Team(2) as workers:
                time.sleep(0.5)
                print(workers.run(lambda thread, n: (thread, n)), flush=True)
        threading.Thread(target=go).start()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[(0, 2), (1, 2)]"
