"""What generation is given: prompts, tokens and caches, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numba_nlp.models.inputs import as_tensor, take_ids, take_mask
from numba_nlp.models.kv_cache import KVCache
from numba_nlp.models.layers.masks import may_look
from numba_nlp.models.parents import out_of_range

if TYPE_CHECKING:
    from numba_nlp.models.model import Model

__all__ = ["check_cache", "take_prompt", "take_step"]


def check_cache(
    cache: Any, shape: Mapping[str, Any], *, source: bool, longest: int | None, kind: type[KVCache] = KVCache
) -> None:
    """Refuse a cache that was made for another model.

    Parameters
    ----------
    cache : KVCache
    shape : mapping
        ``layers``, ``heads``, ``head_width``, ``dtype`` and ``device`` of a cache that fits.
    source : bool
        Whether the model reads a source.
    longest : int or None
        Positions of the model, where they end.
    kind : type
        `KVCache`, or the model's own.

    Raises
    ------
    TypeError
        It is no cache.
    ValueError
        It does not fit.
    """
    if not isinstance(cache, KVCache):
        raise TypeError(f"`cache` must be what new_cache makes, got {type(cache).__name__}")
    layers, _, heads, _, head_width = cache.keys.shape
    held = {
        "layers": layers,
        "heads": heads,
        "head_width": head_width,
        "dtype": cache.dtype,
        "device": cache.device,
    }
    unlike = [f"{name}={held[name]}, not {wanted}" for name, wanted in shape.items() if held[name] != wanted]
    if (cache.sentences > 0) != source:
        unlike.append("a source, which this model has not" if cache.sentences else "no source, which this model reads")
    if longest is not None and cache.positions > longest:
        unlike.append(f"{cache.positions} positions, of which the model has {longest}")
    if not isinstance(cache, kind) or (kind is KVCache and cache.holds_last_tokens):
        unlike.append(f"the type {type(cache).__name__}")
    if unlike:
        raise ValueError(f"the cache was made for another model: it has {', '.join(unlike)}; make one with new_cache")


def take_prompt(
    model: Model, input_ids: Any, attention_mask: Any, size: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """Ids and mask of a prompt; see `take_ids` and `take_mask`.

    Parameters
    ----------
    model : Model
    input_ids, attention_mask
        As given.
    size : int, optional
        Each id must be below it; by default the vocabulary of the model.

    Raises
    ------
    ValueError
        Also: a row ends in padding.
    """
    ids = take_ids(input_ids, model.settings.vocabulary if size is None else size, model.device)
    mask = take_mask(attention_mask, ids)
    if mask is not None and may_look(mask):
        wrong = mask.any(1) & ~mask[:, -1]
        if bool(wrong.any()):
            raise ValueError(
                f"row {int(wrong.nonzero()[0, 0])} of the prompt ends in padding, after which no token can follow; "
                "pad prompts on the left"
            )
    return ids, mask


def take_step(tokens: Any, cache: KVCache, size: int) -> Tensor:
    """Tokens of a step as int64 ``[rows, 1]``, on the device of the cache.

    Parameters
    ----------
    tokens : array-like or Tensor
        ``[rows]``. A tensor for a static cache, or on a CUDA device, is not looked at.
    cache : KVCache
    size : int
        Each token must be below it.

    Raises
    ------
    ValueError
        The cache has another number of rows, or a token is not in ``[0, size)``.
    TypeError
        They are no whole numbers.
    """
    taken = as_tensor(tokens, "tokens")
    if taken.shape != (cache.rows,):
        raise ValueError(f"a step takes one token for each of the {cache.rows} rows, got the shape {list(taken.shape)}")
    if taken.dtype == torch.bool or taken.is_floating_point() or taken.is_complex():
        raise TypeError(f"`tokens` must be whole numbers, got {taken.dtype}")
    if may_look(taken) and not (cache.static and isinstance(tokens, Tensor)):
        row = out_of_range(taken, size)
        if row is not None:
            raise ValueError(f"`tokens` must be from 0 to {size - 1}, the model has no {int(taken[row])} (row {row})")
    return taken.to(cache.device, torch.int64)[:, None]
