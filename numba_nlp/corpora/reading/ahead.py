"""Reading goes on while what was read is worked on: most of the work holds no lock of the interpreter."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

__all__ = ["read_ahead"]

_Item = TypeVar("_Item")
_END = object()
#: Seconds between two looks at whether anybody still wants the items.
_PATIENCE = 0.1


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _has_put(waiting: queue.Queue[Any], item: Any) -> bool:
    try:
        waiting.put(item, timeout=_PATIENCE)
    except queue.Full:
        return False
    return True


def read_ahead(items: Iterator[_Item], depth: int = 1) -> Iterator[_Item]:
    """The items in their order; a thread makes the next ones meanwhile.

    Parameters
    ----------
    items : generator
        Run in a thread of its own, and closed there.
    depth : int
        How many items may wait; one more is being made, so that ``depth + 2`` are in memory at most.

    Raises
    ------
    Exception
        What the generator raised, behind the items before.
    """
    waiting: queue.Queue[Any] = queue.Queue(depth)
    unwanted = threading.Event()

    def put(item: Any) -> None:
        while not unwanted.is_set() and not _has_put(waiting, item):
            pass

    def fill() -> None:
        try:
            for item in items:
                put(item)
                if unwanted.is_set():
                    return
        except BaseException as error:
            put(_Failure(error))
        else:
            put(_END)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=fill, name="numba-nlp reads ahead", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is _END:
                return
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        unwanted.set()
        thread.join()
