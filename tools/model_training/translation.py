"""Encoder-decoders: batches of pairs of texts, their loss, and what a model makes of a source."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from numba_nlp.tokenizer import Tokenizer

__all__ = ["PairBatches", "encode_sources", "pair_loss", "translate"]

#: Batches that are made at once and sorted by length. More of them would save more padding, but each batch would be of
#: one kind of pairs.
_POOL = 4
#: Not a token: targets with it do not count in the loss.
_NOTHING = -100

#: ``(source ids, source mask, decoder ids, targets)``, int64, of one number of rows.
Batch = tuple[Tensor, Tensor, Tensor, Tensor]


def encode_sources(
    tokenizer: Tokenizer, sources: Sequence[str], padding: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids of sources with the token that ends them, padded at the right, and their mask."""
    return tokenizer.encode_batch(list(sources), add_special_tokens=True, num_threads=1).to_padded(padding)


class PairBatches:
    """Batches of pairs of texts that are made when they are needed.

    Rows of a batch are of about the same length, so that little of it is padding: the pairs of some batches are drawn
    together and sorted.

    Parameters
    ----------
    draw : callable
        Makes a pair of texts from a source of random numbers.
    source, target : Tokenizer
        The latter for target texts.
    padding, start : int
        Ids of the padding token and of that with which the decoder begins.
    rows : int
        Of a batch.
    seed : int
    """

    def __init__(
        self,
        draw: Callable[[random.Random], tuple[str, str]],
        source: Tokenizer,
        target: Tokenizer,
        *,
        padding: int,
        start: int,
        rows: int,
        seed: int,
    ) -> None:
        self.draw = draw
        self.source = source
        self.target = target
        self.padding = padding
        self.start = start
        self.rows = rows
        self.seed = seed
        self._pool: list[list[tuple[str, str]]] = []
        self._number = -1

    def __getitem__(self, step: int) -> Batch:
        """The batch of a step; the same at every call."""
        number, place = divmod(step, _POOL)
        if number != self._number:
            self._pool, self._number = self._draw_pool(number), number
        return self.batch(self._pool[place])

    def _draw_pool(self, number: int) -> list[list[tuple[str, str]]]:
        rng = random.Random(f"{self.seed} {number}")
        pairs = [self.draw(rng) for _ in range(_POOL * self.rows)]
        pairs.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
        batches = [pairs[first : first + self.rows] for first in range(0, len(pairs), self.rows)]
        rng.shuffle(batches)
        return batches

    def batch(self, pairs: Sequence[tuple[str, str]]) -> Batch:
        """Ids of pairs of texts; the decoder reads the target behind its first token."""
        ids, mask = encode_sources(self.source, [source for source, _ in pairs], self.padding)
        targets = [target for _, target in pairs]
        wanted, counts = self.target.encode_batch(targets, add_special_tokens=True, num_threads=1).to_padded(0)
        read = np.full_like(wanted, self.padding)
        read[:, 0] = self.start
        read[:, 1:] = np.where(counts[:, 1:] == 1, wanted[:, :-1], self.padding)
        wanted[counts == 0] = _NOTHING
        return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(read), torch.from_numpy(wanted)


def pair_loss(model: Any, batch: Batch) -> Tensor:
    """Mean loss of the target tokens.

    Padding stands at the right of what the decoder reads, where no token looks at it, so it needs no mask.
    """
    ids, mask, read, wanted = batch
    logits = model(ids, mask, read).logits
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=_NOTHING)


def translate(
    model: Any,
    source: Tokenizer,
    texts: Sequence[str],
    *,
    longest: int,
    rows: int = 128,
    decode: Tokenizer | None = None,
) -> list[str]:
    """What a model makes of sources, the likeliest token each time.

    Parameters
    ----------
    model : Model
    source : Tokenizer
    texts : sequence of str
    longest : int
        Most tokens of a result.
    rows : int
        Sources at once.
    decode : Tokenizer, optional
        Of results; by default `source`, as Marian's vocabularies decode both.
    """
    s = model.settings
    end = s.end_ids[0]
    results: dict[int, list[int]] = {}
    # of about the same length together, so that little is padding
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for first in range(0, len(order), rows):
        chosen = order[first : first + rows]
        ids, mask = encode_sources(source, [texts[row] for row in chosen], s.padding_id)
        cache = model.new_cache(rows=len(chosen), positions=longest, source_positions=ids.shape[1])
        model.encode_source(ids, mask, cache)
        logits = model.prompt([[s.start_id]] * len(chosen), None, cache)
        columns: list[Tensor] = []
        ended = torch.zeros(len(chosen), dtype=torch.bool)
        while True:
            columns.append(logits.argmax(-1))
            ended |= columns[-1] == end
            if bool(ended.all()) or len(columns) == longest:
                break
            logits = model.step(columns[-1], cache)
        for row, written in zip(chosen, torch.stack(columns, 1).tolist(), strict=True):
            results[row] = written[: written.index(end)] if end in written else written
    tokenizer = source if decode is None else decode
    return tokenizer.decode_batch([results[row] for row in range(len(texts))], skip_special_tokens=True)
