"""One side of an encoder-decoder: positions, blocks, norms."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from numba_nlp.models.kv_cache import KVCache, Window
from numba_nlp.models.layers.masks import causal_mask, padding_mask
from numba_nlp.models.layers.positions import Positions
from numba_nlp.models.layers.relative_bias import RelativeBias
from numba_nlp.models.layers.source_block import Block, BlockShape, Source

__all__ = ["Run", "Stack"]


class Run(NamedTuple):
    """What comes out of a stack.

    Attributes
    ----------
    hidden : Tensor
        ``[rows, width, model width]``.
    states : tuple of Tensor or None
        If wanted: what goes into the first block, what comes out of each, the last one normalised.
    weights, source_weights : tuple of Tensor or None
        If wanted: of self-attention and of that to the source, for each block.
    """

    hidden: Tensor
    states: tuple[Tensor, ...] | None
    weights: tuple[Tensor, ...] | None
    source_weights: tuple[Tensor, ...] | None


class Stack(nn.Module):
    """The blocks of an encoder or of a decoder, and what precedes and follows them.

    Parameters
    ----------
    shape : BlockShape
    blocks : int
        Their number.
    positions : Positions or None
        What is added to the embeddings of tokens.
    relative : RelativeBias or None
        What is added to the products of queries and keys, the same in each block.
    norm_begin, norm_end : bool
        Whether the embeddings are normalised, and what comes out of the last block.
    decoder : bool
        Whether tokens attend to those before them only, and to a source.
    """

    def __init__(
        self,
        shape: BlockShape,
        blocks: int,
        *,
        positions: Positions | None,
        relative: RelativeBias | None,
        norm_begin: bool,
        norm_end: bool,
        decoder: bool,
    ) -> None:
        super().__init__()
        self.positions = positions
        self.relative = relative
        self.begin = shape.norm() if norm_begin else nn.Identity()
        self.blocks = nn.ModuleList(Block(shape, with_source=decoder) for _ in range(blocks))
        self.end = shape.norm() if norm_end else nn.Identity()

    def fill_tables(self) -> None:
        """Compute what checkpoints need not hold."""
        for part in (self.positions, self.relative):
            if part is not None:
                part.fill_tables()

    def encode(
        self,
        ids: Tensor,
        embedded: Tensor,
        mask: Tensor | None,
        *,
        want_hidden: bool = False,
        want_weights: bool = False,
    ) -> Run:
        """Run an encoder.

        Parameters
        ----------
        ids : Tensor
            int64 ``[rows, width]``.
        embedded : Tensor
            ``[rows, width, model width]``: their embeddings.
        mask : Tensor or None
            ``bool[rows, width]``, True for tokens that count.
        want_hidden, want_weights : bool
            What to give besides.
        """
        positions = None if self.positions is None else self.positions.of_source(ids, mask)
        added = self._with_bias(padding_mask(mask, embedded.dtype), ids.shape[1], embedded.device)
        return self._run(self._enter(embedded, positions), added, None, False, want_hidden, want_weights)

    def decode(
        self,
        ids: Tensor,
        embedded: Tensor,
        mask: Tensor | None,
        source: Tensor,
        source_mask: Tensor | None,
        *,
        want_hidden: bool = False,
        want_weights: bool = False,
    ) -> Run:
        """Run a decoder over whole rows; parameters as of :meth:`encode`, and what an encoder gave with its mask.

        Padding has no position: behind it, a row goes on as it would alone.
        """
        width = ids.shape[1]
        positions = None if self.positions is None else self.positions.of_rows(ids, mask)
        added = None
        if mask is not None or self.relative is not None:
            added = causal_mask(mask, width, embedded.dtype, embedded.device)
            added = self._with_bias(added, width, embedded.device)
        seen_mask = padding_mask(source_mask, source.dtype)
        hidden = self._enter(embedded, positions)
        return self._run(hidden, added, (source, seen_mask), added is None, want_hidden, want_weights)

    def extend(self, ids: Tensor, embedded: Tensor, mask: Tensor | None, cache: KVCache) -> Tensor:
        """Hidden states ``[rows, width, model width]`` of new tokens, whose keys and values the cache keeps."""
        numbered = None if self.positions is None else self.positions.numbered(ids, mask)
        window = cache.extend(ids.shape[0], ids.shape[1], mask, numbered)
        positions = None if self.positions is None else self.positions.of_new(ids, window.positions)
        if self.relative is not None:
            window = self._biased(window)
        hidden = self._enter(embedded, positions)
        for layer, block in enumerate(self.blocks):
            hidden = block.extend(hidden, cache, layer, window)
        return self.end(hidden)

    def store_source(self, source: Tensor, cache: KVCache) -> None:
        """Compute the keys and values of what an encoder gave, which the cache keeps."""
        for layer, block in enumerate(self.blocks):
            cache.store_source(layer, *block.source_attention.project_source(source))

    def _enter(self, embedded: Tensor, positions: Tensor | None) -> Tensor:
        if positions is not None:
            assert self.positions is not None
            embedded = embedded + self.positions(positions)
        return self.begin(embedded)

    def _with_bias(self, added: Tensor | None, width: int, device: torch.device) -> Tensor | None:
        if self.relative is None:
            return added
        places = torch.arange(width, device=device)
        bias = self.relative(places, places)
        return bias if added is None else bias + added

    def _biased(self, window: Window) -> Window:
        """The window with what is added to scores in place of what is visible, made once for all blocks."""
        assert self.relative is not None
        keys = torch.arange(window.keys, device=window.slots.device)
        visible = keys <= window.slots[:, None] if window.causal else window.visible
        bias = self.relative(window.slots, keys)
        if visible is not None:
            bias = bias.masked_fill(~visible, float("-inf"))
        return replace(window, visible=bias, causal=False)

    def _run(
        self,
        hidden: Tensor,
        added: Tensor | None,
        source: tuple[Tensor, Tensor | None] | None,
        causal: bool,
        want_hidden: bool,
        want_weights: bool,
    ) -> Run:
        states, weights, source_weights = [hidden], [], []
        for block in self.blocks:
            # Keys and values of one block at a time: those of all would take as much memory as a cache.
            seen = None
            if source is not None:
                keys, values = block.source_attention.project_source(source[0])
                seen = Source(keys, values, source[1])
            hidden, own, others = block(hidden, added, causal=causal, want_weights=want_weights, source=seen)
            if want_hidden:
                states.append(hidden)
            if want_weights:
                weights.append(own)
                source_weights.append(others)
        hidden = self.end(hidden)
        return Run(
            hidden,
            (*states[:-1], hidden) if want_hidden else None,
            tuple(weights) if want_weights else None,
            tuple(source_weights) if want_weights and source is not None else None,
        )
