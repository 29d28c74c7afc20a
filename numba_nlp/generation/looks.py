"""How often a model is looked at before it computes: for each batch, or once for all batches of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["look", "looked_at_once"]

#: What was found within the block; of each thread, and of each task of asyncio, its own.
_found: ContextVar[dict[Any, Any] | None] = ContextVar("numba_nlp_looks", default=None)


@contextmanager
def looked_at_once() -> Iterator[None]:
    """Within the block a model is looked at by its first batch alone; after it, anew.

    For loops over batches that run none of the caller's code in between: who changes a model while it computes is not
    promised that it is seen.
    """
    before = _found.set({})
    try:
        yield
    finally:
        _found.reset(before)


def look(key: Any, find: Callable[[], Any]) -> Any:
    """What a look at a model finds, or what an earlier one found within the same block.

    Parameters
    ----------
    key : hashable
        The model, and what is asked about it.
    find : callable
        The look. What it raises is not kept.
    """
    found = _found.get()
    if found is None:
        return find()
    if key not in found:
        found[key] = find()
    return found[key]
