"""What a CUDA graph does, on the CPU: the operations of one call are noted without effect, then done again and again.

As there, memory stays where it is, and Python is not run again: what a step decides by a number of the host stays as it
was when it was noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

__all__ = ["capture_on_tape"]


def _tensors(*trees: Any) -> list[Any]:
    return [leaf for leaf in tree_leaves(trees) if isinstance(leaf, torch.Tensor)]


def _place(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


class _Tape(TorchDispatchMode):
    """Notes operations, and what the memory that they change held before."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[Any, Any, Any, Any]] = []
        self._before: dict[int, tuple[Any, Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = _tensors(args, kwargs)
        if func._schema.is_mutable:
            for tensor in given:
                storage = tensor.untyped_storage()
                self._before.setdefault(_place(tensor), (storage, storage.clone()))
        results = func(*args, **kwargs)
        self.done.append((func, args, kwargs, results))
        return results

    def take_back(self) -> None:
        """Put the memory as it was."""
        for storage, held in self._before.values():
            storage.copy_(held)

    def replay(self) -> None:
        """Do it."""
        for func, args, kwargs, results in self.done:
            for old, new in zip(_tensors(results), _tensors(func(*args, **kwargs)), strict=True):
                if _place(old) != _place(new):
                    old.copy_(new)


def capture_on_tape(function: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
    """A ``Capture`` of :mod:`numba_nlp.generation.device.repeated`."""
    tape = _Tape()
    with tape:
        result = function()
    tape.take_back()
    return tape.replay, result
