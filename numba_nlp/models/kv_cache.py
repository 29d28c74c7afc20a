"""Keys and values of the tokens read so far, in arrays that are allocated once.

A model adds the tokens of one call in three moves::

    window = cache.extend(rows, width, mask)                 # once per call: where the tokens go, what they see
    keys, values = cache.store(layer, keys, values, window)  # once per layer: kept, and what to attend to
    context = attend_to_cache(query, keys, values, window)            # numba_nlp.models.layers.cached_attention

and ``cache.reorder(parents)`` follows a beam search. The keys and values of an encoder's output are filled in once
per source sentence (`set_source`, `store_source`) and shared by all beams of the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from numba_nlp.models.parents import take_parents

__all__ = ["KVCache", "Window"]


@dataclass(frozen=True)
class Window:
    """Where the tokens of one call lie in the cache, and what they may look at.

    Attributes
    ----------
    slots : Tensor
        int64 [width]: column of each token in the cache; the same for all rows.
    positions : Tensor
        int64 [given, width]: how many real tokens precede each token in its row, which is its position for models
        that number positions. At padding, that of the token before it, or 0.
    visible : Tensor or None
        bool, broadcasts to [given, 1, width, keys]: which columns each token attends to. None: all of them, or, if
        `causal`, all up to its own.
    causal : bool
        The tokens begin the rows and see what precedes them; only ever true with ``visible=None``.
    keys : int
        Number of columns attended to.
    begin : int or None
        First column, where the host knows it; None in a static cache, whose column only the device knows.
    fresh : bool
        The cache was empty: the tokens attend to each other, not to the arrays of the cache.
    """

    slots: Tensor
    positions: Tensor
    visible: Tensor | None
    causal: bool
    keys: int
    begin: int | None
    fresh: bool


class KVCache:
    """Keys and values of a decoder, preallocated.

    Parameters
    ----------
    layers, rows, heads, positions, head_width : int
        Shape of ``keys`` and ``values``. A beam search has ``rows = sentences * beams``, the beams of a sentence side
        by side.
    sentences, source_positions : int, default 0
        Shape of ``source_keys`` and ``source_values`` of an encoder-decoder: ``[layers, sentences, heads,
        source_positions, head_width]``. 0: a decoder alone.
    dtype, device :
        Of keys and values.
    static : bool, default False
        True: every call with one token per row runs the same operations on the same shapes and addresses, whatever
        was read before, so that it can be captured as a CUDA graph; it attends over all `positions` under a mask.
        False: attends over what is filled.

    Attributes
    ----------
    keys, values : Tensor
        [layers, rows, heads, positions, head_width].
    position : Tensor
        int64 scalar on the device: columns filled so far.
    next_position : Tensor
        int64 [rows]: real tokens of each row so far; padding is not counted.
    visible : Tensor
        bool [rows, positions]: columns that hold a real token.
    length : int
        Columns filled as far as the host ran the calls; replays of a CUDA graph advance `position` alone.

    Notes
    -----
    Columns are added at the same place in all rows, so that a step writes one column. Rows of unlike length are
    padded on the left: their positions count real tokens only.
    """

    #: So many columns before its own a step writes anew.
    _rewritten = 0
    #: Whether it is of a model that reads the last token of each row again.
    holds_last_tokens = False

    def __init__(
        self,
        *,
        layers: int,
        rows: int,
        heads: int,
        positions: int,
        head_width: int,
        sentences: int = 0,
        source_positions: int = 0,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        static: bool = False,
    ) -> None:
        for name, value in (("rows", rows), ("positions", positions)):
            if value < 1:
                raise ValueError(f"KVCache: {name}={value}; a cache holds at least one")
        if sentences and rows % sentences:
            raise ValueError(
                f"KVCache: rows={rows} is no multiple of sentences={sentences}: beams of a sentence are rows"
            )
        self.rows, self.positions, self.static = rows, positions, static
        self.sentences, self.source_positions = sentences, source_positions
        # Zeros, not whatever the memory held: a masked column still takes part in the product with weight 0, and
        # 0 * NaN is NaN.
        shape = (layers, rows, heads, positions, head_width)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self._spare = torch.empty(shape[1:], dtype=dtype, device=device)
        self.position = torch.zeros((), dtype=torch.int64, device=device)
        self.next_position = torch.zeros(rows, dtype=torch.int64, device=device)
        self.visible = torch.zeros(rows, positions, dtype=torch.bool, device=device)
        self._columns = torch.arange(positions, device=device)
        source_shape = (layers, sentences, heads, source_positions, head_width)
        self.source_keys = torch.zeros(source_shape, dtype=dtype, device=device)
        self.source_values = torch.zeros(source_shape, dtype=dtype, device=device)
        self._source_visible = torch.zeros(sentences, 1, 1, source_positions, dtype=torch.bool, device=device)
        self.source_length = 0
        self._source_padded = False
        self.length = 0
        self._padded = False
        self._shared = 0
        self._beams = 1

    @property
    def dtype(self) -> torch.dtype:
        """Element type of keys and values."""
        return self.keys.dtype

    @property
    def device(self) -> torch.device:
        """Where the arrays lie."""
        return self.keys.device

    @property
    def nbytes(self) -> int:
        """Bytes of all keys and values, with the spare layer."""
        held = (self.keys, self.values, self.source_keys, self.source_values, self._spare)
        return sum(array.numel() * array.element_size() for array in held)

    def __repr__(self) -> str:
        layers, rows, heads, positions, head_width = self.keys.shape
        source = f", source {self.sentences} x {self.source_length}/{self.source_positions}" if self.sentences else ""
        return (
            f"KVCache({self.length}/{positions} positions, {rows} rows, {layers} layers, {heads} heads of {head_width}"
            f"{source}, {self.dtype}, {self.device}{', static' if self.static else ''})"
        )

    # --- the rows themselves

    def clear(self) -> None:
        """Forget the rows, so that the next call begins them; the source stays. Addresses stay as well."""
        self.position.zero_()
        self.next_position.zero_()
        self.visible.zero_()
        self.length = 0
        self._padded = False
        self._shared = 0
        self._beams = 1

    def extend(self, given: int, width: int, mask: Tensor | None = None, numbered: Tensor | None = None) -> Window:
        """Take the next `width` columns.

        Parameters
        ----------
        given : int
            Rows of the call. Fewer than those of the cache are allowed for the first call: then each is computed once
            and stored for ``rows // given`` rows side by side, as the beams of a sentence begin alike.
        width : int
            Tokens of each row.
        mask : Tensor, optional
            [given, width], true or 1 at real tokens. None: all are real.
        numbered : Tensor, optional
            bool [given, width], true at tokens that have a position. None: those of the mask.

        Returns
        -------
        Window

        Raises
        ------
        ValueError
            More columns than the cache has left, rows that do not fit, or no source where there should be one. The
            cache is as it was then.
        """
        beams, rest = divmod(self.rows, given) if given else (0, 1)
        if rest or (beams > 1 and self.length):
            may = f"{self.rows}" if self.length else f"{self.rows}, or a number that divides it,"
            raise ValueError(f"the cache has {self.rows} rows: a call with {given} rows does not fit; pass {may} rows")
        if width < 1 or self.length + width > self.positions:
            raise ValueError(
                f"the cache holds {self.positions} positions and {self.length} are filled: {width} more do not fit; "
                "make a cache with more positions, or clear() it"
            )
        if self.sentences:
            self._check_source()
            if given % self.sentences:
                raise ValueError(
                    f"the cache holds {self.sentences} sentences: a call with {given} rows does not fit; pass as many "
                    f"for each sentence, {self.sentences} to {self.rows} rows"
                )
        begin, fresh = self.length, self.length == 0
        slots = self.position + self._columns[:width]
        seen = self.next_position[::beams, None]
        if mask is not None:
            mask = mask.to(torch.bool)
            self._padded = True
        numbered = mask if numbered is None else numbered
        if numbered is None:
            positions = seen + self._columns[:width]
        else:
            counted = numbered.cumsum(1)
            positions = (seen + counted - 1).clamp_(min=0)
        self._mark(mask, slots, beams, width)
        window = self._window(mask, slots, positions, width, begin, fresh)
        if beams > 1:
            self._shared, self._beams = width - self._rewritten, beams
        self.next_position += width if numbered is None else _repeated(counted[:, -1], beams)
        self.position += width
        self.length += width
        return window

    def _mark(self, mask: Tensor | None, slots: Tensor, beams: int, width: int) -> None:
        """Note which of the new columns hold real tokens."""
        if self.static:
            if mask is None:
                self.visible.index_fill_(1, slots, True)
            else:
                self.visible.index_copy_(1, slots, _repeated(mask, beams))
        else:
            columns = self.visible[:, self.length : self.length + width]
            if mask is None:
                columns.fill_(True)
            else:
                columns.copy_(_repeated(mask, beams))

    def _window(
        self, mask: Tensor | None, slots: Tensor, positions: Tensor, width: int, begin: int, fresh: bool
    ) -> Window:
        keys = width if fresh else self.positions if self.static else begin + width
        visible: Tensor | None = None
        if fresh:
            if mask is not None:
                visible = mask[:, None, None, :]
        elif self.static or self._padded:
            visible = self.visible[:, None, None, :keys]
        causal = width > 1 and fresh and visible is None
        if width > 1 and not causal:
            ordered = self._columns[:keys] <= slots[:, None] if not fresh else _lower_triangle(self._columns[:width])
            visible = ordered if visible is None else visible & ordered
        return Window(
            slots=slots,
            positions=positions,
            visible=visible,
            causal=causal,
            keys=keys,
            begin=None if self.static else begin,
            fresh=fresh,
        )

    def store(self, layer: int, keys: Tensor, values: Tensor, window: Window) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of one call, and return those that its queries attend to.

        Parameters
        ----------
        layer : int
        keys, values : Tensor
            [given, heads, width, head_width].
        window : Window
            What `extend` returned for this call.

        Returns
        -------
        keys, values : Tensor
            [given, heads, window.keys, head_width]; views of the cache unless ``window.fresh``.
        """
        held_keys, held_values = self.keys[layer], self.values[layer]
        self._write(held_keys, keys, window)
        self._write(held_values, values, window)
        if window.fresh:
            return keys, values
        return held_keys[:, :, : window.keys], held_values[:, :, : window.keys]

    def _write(self, held: Tensor, new: Tensor, window: Window) -> None:
        given, heads, width, head_width = new.shape
        beams = self.rows // given
        if window.begin is None:
            held.index_copy_(2, window.slots, _repeated(new, beams))
            return
        columns = held[:, :, window.begin : window.begin + width]
        # Broadcast over the beams of a sentence: no copy of the prompt per beam beside the one in the cache.
        columns.view(given, beams, heads, width, head_width).copy_(new[:, None])

    def reorder(self, parents: Any) -> None:
        """Continue row ``parents[r]`` in row r.

        Parameters
        ----------
        parents : array-like or Tensor
            Whole numbers [rows]. When the first call gave each sentence once for its beams, a parent must be a row of
            the same sentence; sources are never moved, so the same holds for encoder-decoders. A tensor is not looked
            at where it is on a CUDA device, or the cache is static.

        Raises
        ------
        ValueError
            The shape is another, a parent is no row, or one of another sentence. The cache is as it was then.
        TypeError
            They are no whole numbers.

        Notes
        -----
        Each layer is gathered into one spare layer and copied back: nothing is allocated, and addresses stay, as a
        CUDA graph needs. Columns that a sentence's beams share, and columns not yet filled, are left out on the CPU.
        """
        group = self.rows if not self.sentences else self.rows // self.sentences
        if self._shared:
            group = self._beams
        self._reorder(take_parents(parents, self.rows, group, self.device, static=self.static))

    def _reorder(self, parents: Tensor) -> None:
        begin, end = (0, self.positions) if self.static else (self._shared, self.length)
        spare = self._spare[:, :, begin:end]
        for layer in range(self.keys.shape[0]):
            for held in (self.keys[layer], self.values[layer]):
                columns = held[:, :, begin:end]
                torch.index_select(columns, 0, parents, out=spare)
                columns.copy_(spare)
        self.visible.copy_(self.visible.index_select(0, parents))
        self.next_position.copy_(self.next_position.index_select(0, parents))

    def keep(self, prompts: Tensor, per_prompt: int) -> None:
        """Go on with the rows of some prompts, and forget the others.

        Parameters
        ----------
        prompts : Tensor
            int64, ascending: which of those at present.
        per_prompt : int
            Rows of each, side by side; of an encoder-decoder, ``rows // sentences``.

        Raises
        ------
        ValueError
            The cache is static: its shapes stay as they are.
        """
        if self.static:
            raise ValueError("a static cache keeps all of its rows; make one with static=False")
        rows = (prompts[:, None] * per_prompt + torch.arange(per_prompt, device=prompts.device)).flatten()
        self._keep_rows(rows)
        if self.sentences:
            self.sentences = prompts.shape[0]
            for name in ("source_keys", "source_values"):
                setattr(self, name, _moved(getattr(self, name), prompts, self.source_length))
            self._source_visible = self._source_visible.index_select(0, prompts)

    def _keep_rows(self, rows: Tensor) -> None:
        self.rows = rows.shape[0]
        self.keys = _moved(self.keys, rows, self.length)
        self.values = _moved(self.values, rows, self.length)
        self._spare = self._spare[: self.rows]
        self.visible = self.visible.index_select(0, rows)
        self.next_position = self.next_position.index_select(0, rows)

    # --- the source of an encoder-decoder

    def set_source(self, width: int, mask: Tensor | None = None) -> None:
        """Announce the sources, and forget the rows.

        Parameters
        ----------
        width : int
            Columns of the encoder's output.
        mask : Tensor, optional
            [sentences, width], true or 1 at real tokens. None: all are real.

        Raises
        ------
        ValueError
            The cache has no room for the source.
        """
        if not self.sentences:
            raise ValueError("the cache was made without sentences= and source_positions=: it holds no source")
        if not 1 <= width <= self.source_positions:
            raise ValueError(
                f"the cache holds sources of up to {self.source_positions} tokens, not {width}; make a cache with "
                "more source_positions"
            )
        self.clear()
        self.source_length = width
        self._source_visible.zero_()
        columns = self._source_visible[:, 0, 0, :width]
        if mask is None:
            columns.fill_(True)
        else:
            # as `padding_mask`: a row without any token sees all, and stays finite
            columns.copy_(mask | ~mask.any(-1, keepdim=True))
        self._source_padded = mask is not None

    def store_source(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Keep keys and values [sentences, heads, source_length, head_width] of the encoder's output in one layer."""
        self.source_keys[layer][:, :, : self.source_length] = keys
        self.source_values[layer][:, :, : self.source_length] = values

    def _check_source(self) -> None:
        if self.source_length == 0:
            raise ValueError("the cache holds no source yet: call encode_source before the first step")

    def source(self, layer: int) -> tuple[Tensor, Tensor, Tensor | None]:
        """Keys, values and mask of the source in one layer.

        Returns
        -------
        keys, values : Tensor
            [sentences, heads, columns, head_width], views.
        visible : Tensor or None
            bool [sentences, 1, 1, columns]; None when all columns hold real tokens.
        """
        self._check_source()
        columns = self.source_positions if self.static else self.source_length
        masked = self._source_padded or self.static
        visible = self._source_visible[..., :columns] if masked else None
        return self.source_keys[layer][:, :, :columns], self.source_values[layer][:, :, :columns], visible


def _repeated(array: Tensor, beams: int) -> Tensor:
    """Each row `beams` times, side by side."""
    return array if beams == 1 else array.repeat_interleave(beams, dim=0)


def _moved(held: Tensor, rows: Tensor, filled: int) -> Tensor:
    """Some rows of ``[layers, rows, heads, columns, head_width]`` at the front, layer by layer; a view of them."""
    for layer in held:
        columns = layer[:, :, :filled]
        columns[: rows.shape[0]] = columns.index_select(0, rows)
    return held[:, : rows.shape[0]]


def _lower_triangle(columns: Tensor) -> Tensor:
    return columns <= columns[:, None]
