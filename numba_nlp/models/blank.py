"""Modules without memory and without initial weights, whose tensors have shapes only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["give_memory", "without_memory"]


class _WithoutInitialWeights(TorchFunctionMode):
    """Skips the functions of torch.nn.init.

    Drawing random numbers for a tensor without memory does nothing, but makes torch import its compiler, which takes
    seconds.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


@contextmanager
def without_memory() -> Iterator[None]:
    """Modules that are made in this context are on the device "meta"."""
    with torch.device("meta"), _WithoutInitialWeights():
        yield


def give_memory(module: Any, device: torch.device) -> None:
    """Memory on a device for all tensors of a module, with whatever it holds.

    ``Module.to_empty`` does this too; it asks for tensors like those on "meta", for which torch imports sympy.
    """
    module._apply(lambda tensor: torch.empty(tensor.shape, dtype=tensor.dtype, device=device))
