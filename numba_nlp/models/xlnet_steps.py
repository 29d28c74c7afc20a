"""XLNet token by token, as transformers generates with it.

The query stream asks for the token behind the row; the content stream of a prompt looks both ways. With a new token,
the one before it is read again, since contents see each other both ways, and both then stay as they are. (Everything
would have to be read again to give what whole rows give: what was generated depends on how it was cut into calls.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numba_nlp.models.kv_cache import KVCache, Window
from numba_nlp.models.layers.permutation_masks import causal_order, stream_masks
from numba_nlp.models.layers.two_streams import CachedStreams
from numba_nlp.models.steps import check_cache, take_prompt, take_step

if TYPE_CHECKING:
    from numba_nlp.models.xlnet import Xlnet

__all__ = ["XlnetCache", "make_cache", "read_prompt", "read_step"]


class XlnetCache(KVCache):
    """A cache that also holds the last token of each row, and the keys of relative positions.

    Attributes
    ----------
    last_tokens : Tensor
        int64 [rows].
    position_keys : Tensor
        [layers, heads, positions + 3, head_width]: of the distances from ``positions + 1`` down to -1.
    """

    _rewritten = 1
    holds_last_tokens = True

    def __init__(self, *, position_keys: Tensor, **shape: Any) -> None:
        super().__init__(**shape)
        self.position_keys = position_keys
        self.last_tokens = torch.zeros(self.rows, dtype=torch.int64, device=self.device)

    def _reorder(self, parents: Tensor) -> None:
        super()._reorder(parents)
        self.last_tokens.copy_(self.last_tokens.index_select(0, parents))

    def _keep_rows(self, rows: Tensor) -> None:
        super()._keep_rows(rows)
        self.last_tokens = self.last_tokens.index_select(0, rows)

    def positions_before(self, slot: Tensor, begin: int | None, width: int, columns: int) -> Tensor:
        """Keys of positions for `width` queries of which the last lies at a column, to be shifted.

        Parameters
        ----------
        slot : Tensor
            int64 [1]: the column of the last query.
        begin : int or None
            The same number, where the host knows it.
        width, columns : int
            Numbers of queries and keys.

        Returns
        -------
        Tensor
            [layers, heads, width + columns, head_width]: of the distances from ``slot + 1`` downwards.
        """
        distances = width + columns
        last = self.position_keys.shape[2] - 1
        if begin is not None:
            return self.position_keys[:, :, last - 2 - begin : last - 2 - begin + distances]
        # Distances below -1 belong to columns that are not filled yet and masked: any key will do.
        rows = (last - 2 - slot + torch.arange(distances, device=slot.device)).clamp_(max=last)
        return self.position_keys.index_select(2, rows)


def make_cache(model: Xlnet, rows: int, positions: int, *, static: bool) -> XlnetCache:
    """See `Xlnet.new_cache`."""
    s = model.settings
    if s.remember_first is not None:
        raise ValueError(
            f"the model remembers only the first {s.remember_first} tokens of a call (`reuse_len`), with which no text "
            "can be generated"
        )
    if s.causal and s.same_length:
        raise ValueError(
            "`same_length` of config.json hides from a token what a call reads first, so that it sees equally many "
            "whatever the call: with it no text can be generated token by token"
        )
    if s.memory is not None and positions > s.memory:
        raise ValueError(f"positions={positions}: the model remembers {s.memory} tokens (`mem_len`)")
    sinusoids = model.sinusoids(positions + 1, -2)
    return XlnetCache(
        position_keys=torch.stack([block.attention.position_keys(sinusoids) for block in model.blocks]),
        **model.cache_shape(),
        rows=rows,
        positions=positions,
        static=static,
    )


def _check(model: Xlnet, cache: XlnetCache) -> None:
    """Refuse, before anything is written, what cannot give a next token."""
    if model.output is None:
        raise ValueError(
            f"a model with the head {model.head!r} gives no next token; load it with head='language_model'"
        )
    check_cache(cache, model.cache_shape(), source=False, longest=model.settings.memory, kind=XlnetCache)


def read_prompt(model: Xlnet, input_ids: Any, attention_mask: Any, cache: XlnetCache) -> Tensor:
    """See `Xlnet.prompt`."""
    _check(model, cache)
    ids, mask = take_prompt(model, input_ids, attention_mask)
    if cache.length:
        raise ValueError(
            f"the cache holds {cache.length} tokens: XLNet reads a prompt as a whole; clear() the cache, and give the "
            "prompt with what precedes it"
        )
    rows, width = ids.shape
    window = cache.extend(rows, width, mask)
    cache.last_tokens.copy_(ids[:, -1].repeat_interleave(cache.rows // rows))
    order = None
    if model.settings.causal:
        order = causal_order(width, 0, same_length=False, device=ids.device)[None]
    # The queries of contents begin at column 0, that of the next token lies behind them all.
    contents, query = model.sinusoids(width, -width), model.sinusoids(width + 1, 0)
    attentions = [block.attention for block in model.blocks]
    streams = CachedStreams(
        content_positions=[attention.position_keys(contents) for attention in attentions],
        query_positions=[attention.position_keys(query) for attention in attentions],
        content_mask=stream_masks(mask, order, 0, model.dtype)[0],
        query_mask=stream_masks(mask, None, 0, model.dtype)[1],
    )
    return _next_token(model, ids, cache, window, streams)


def read_step(model: Xlnet, tokens: Tensor, cache: XlnetCache) -> Tensor:
    """See `Xlnet.step`."""
    _check(model, cache)
    taken = take_step(tokens, cache, model.settings.vocabulary)
    if cache.length == 0:
        raise ValueError("the cache is empty: XLNet reads a prompt before the first step")
    window = cache.extend(cache.rows, 1)
    ids = torch.cat([cache.last_tokens[:, None], taken], dim=1)
    cache.last_tokens.copy_(taken[:, 0])
    begin, columns, slot = window.begin, window.keys, window.slots
    query_mask = _added(window.visible, model.dtype)
    content_mask = query_mask
    # The token before is written anew: the window begins one column earlier.
    window = replace(window, slots=torch.cat([slot - 1, slot]), begin=None if begin is None else begin - 1)
    if model.settings.causal:
        ordered = torch.arange(columns, device=slot.device) <= window.slots[:, None]
        content_mask = _added(ordered if window.visible is None else window.visible & ordered, model.dtype)
    streams = CachedStreams(
        content_positions=cache.positions_before(slot, begin, 2, columns),
        query_positions=cache.positions_before(slot + 1, None if begin is None else begin + 1, 1, columns),
        content_mask=content_mask,
        query_mask=query_mask,
    )
    return _next_token(model, ids, cache, window, streams)


def _next_token(model: Xlnet, ids: Tensor, cache: KVCache, window: Window, streams: CachedStreams) -> Tensor:
    """Both streams through all layers: logits [given, vocabulary] of the token behind."""
    assert model.output is not None
    content, query = model.tokens(ids), model.query_start.expand(ids.shape[0], 1, -1)
    for layer, block in enumerate(model.blocks):
        content, query = block.extend(content, query, cache, layer, window, streams)
    return model.output(query[:, 0], model.tokens.weight)


def _added(visible: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """What is added to scores: 0 or minus infinity."""
    if visible is None:
        return None
    return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill_(~visible, float("-inf"))
