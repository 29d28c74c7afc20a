"""What a model's weights were when they were packed, to see that they have changed since."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from numba_nlp.models.encoder import EncoderModel

__all__ = ["WeightsSeen", "look_at_weights"]

#: Numbers of each tensor that are compared with what they were.
_LOOKED_AT = 16


class WeightsSeen:
    """What a look at a model found. It keeps no tensor alive: only that none is taken for one that is gone.

    Parameters
    ----------
    tensors : list of Tensor
        Parameters and buffers.
    others : tuple
        What else the packed weights depend on.
    """

    def __init__(self, tensors: list[Tensor], others: tuple[Any, ...]) -> None:
        self._found = [*map(_look, tensors), *others]
        # A new tensor may get the address of one that was freed, its count of writes and nearly all of its numbers.
        # A dead weak reference is no tensor. That to a storage frees its numbers, yet not what `_cdata` is the
        # address of, as long as the reference is there: the address is of no other storage.
        self._tensors = [weakref.ref(tensor) for tensor in tensors]
        self._storages = [StorageWeakRef(tensor.untyped_storage()) for tensor in tensors]

    def still_holds(self, tensors: list[Tensor], others: tuple[Any, ...]) -> bool:
        """Whether a look finds the same now.

        Parameters
        ----------
        tensors, others
            As they are now.
        """
        return (
            len(tensors) == len(self._tensors)
            and all(kept() is tensor for kept, tensor in zip(self._tensors, tensors, strict=True))
            and all(
                kept.cdata == tensor.untyped_storage()._cdata
                for kept, tensor in zip(self._storages, tensors, strict=True)
            )
            and [*map(_look, tensors), *others] == self._found
        )


def look_at_weights(model: Any) -> tuple[list[Tensor], tuple[Any, ...]]:
    """What `WeightsSeen` is made from and compared with: tensors, and settings and activations beside them.

    Parameters
    ----------
    model : DecoderModel, EncoderDecoder or EncoderModel
    """
    stack = model.encoder if isinstance(model, EncoderModel) else model.decoder
    activations = (block.feed_forward.activation for block in stack.blocks)
    return [*model.parameters(), *model.buffers()], (model.settings, *activations)


def _look(tensor: Tensor) -> tuple[int, tuple[int, ...], int, bytes]:
    """Address, strides, count of writes, some numbers.

    Writes by way of ``.data`` or of NumPy are not counted, so some numbers of each tensor are looked at too.
    """
    # tensors made in inference mode count nothing
    written = 0 if tensor.is_inference() else tensor._version
    found = tensor.detach()
    # NumPy, which has no bfloat16, takes half the time of torch for so little
    array = (found.view(torch.int16) if found.dtype == torch.bfloat16 else found).numpy()
    flat = array.reshape(-1)
    return tensor.data_ptr(), array.strides, written, flat[:: max(1, flat.size // _LOOKED_AT)].tobytes()
