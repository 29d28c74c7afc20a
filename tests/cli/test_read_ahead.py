"""Items that a thread makes ahead come in order, with the error behind them, and stop being made when unwanted."""

from __future__ import annotations

import threading

import pytest

from numba_nlp.corpora.reading.ahead import read_ahead


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "numba-nlp reads ahead"]


@pytest.mark.parametrize("depth", [1, 3])
def test_items_come_in_order_with_the_error_behind_them(depth):
    def items():
        yield from range(5)
        raise ValueError("the sixth")

    found = []
    with pytest.raises(ValueError, match="the sixth"):
        found.extend(read_ahead(items(), depth))
    assert found == [0, 1, 2, 3, 4]
    assert list(read_ahead(iter(range(100)), depth)) == list(range(100))
    assert threads() == []


def test_few_items_are_made_ahead_and_none_when_nobody_wants_them():
    made, closed = [], threading.Event()

    def items():
        try:
            for number in range(1000):
                made.append(number)
                yield number
        finally:
            closed.set()

    ahead = read_ahead(items(), 2)
    assert next(ahead) == 0
    assert next(ahead) == 1
    ahead.close()
    assert closed.wait(10)
    assert threads() == []
    assert len(made) <= 6


def test_the_next_item_is_made_while_one_is_worked_on():
    started = threading.Event()

    def items():
        yield "first"
        started.set()
        yield "second"

    ahead = read_ahead(items())
    assert next(ahead) == "first"
    assert started.wait(10)
    assert list(ahead) == ["second"]
