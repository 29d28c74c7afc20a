"""What a step may not do: wait for the device, or do something else than the step before."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

__all__ = ["WatchedStep"]

#: Operations whose result has a shape, or is a Python number, that depends on the data: the host waits for it.
_WAITING = (
    "_local_scalar_dense",
    "nonzero",
    "masked_select",
    "equal",
    "is_nonzero",
    "unique",
    "_unique2",
    "unique_consecutive",
    "bincount",
    "repeat_interleave.Tensor",
    "allclose",
    "lift_fresh",  # a tensor made of Python's numbers: copied from the host, which a captured graph does not repeat
    "from_numpy",
)


class WatchedStep(TorchDispatchMode):
    """Refuses what makes a step unfit for a CUDA graph, and notes what it did.

    Attributes
    ----------
    done : list of tuple
        Each operation with the shapes and other arguments it had; two steps of a static cache have the same list.
    """

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[Any, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func).removeprefix("aten.")
        kwargs = kwargs or {}
        if any(name == waiting or name.startswith(f"{waiting}.") for waiting in _WAITING):
            raise AssertionError(f"a step runs {func}, which waits for the device")
        leaves = tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if name.startswith("index.") and any(leaf.dtype in (torch.bool, torch.uint8) for leaf in tensors[1:]):
            raise AssertionError("a step picks by a mask: the shape of what comes out depends on the data")
        devices = {leaf.device for leaf in tensors if leaf.dim()} | {d for d in leaves if isinstance(d, torch.device)}
        if len(devices) > 1:
            raise AssertionError(f"a step moves something between {devices}: {func}")
        plain = [tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.done.append((name, *plain))
        return func(*args, **kwargs)
