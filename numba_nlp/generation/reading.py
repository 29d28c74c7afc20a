"""Sources and prompts, read by Numba: many tokens at once, without padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from numba_nlp.generation.decode_plan import Plan
from numba_nlp.generation.packing import WeightKind
from numba_nlp.generation.prompts import Rows
from numba_nlp.generation.step_memory import new_read_scratch, new_row_memory, new_source_memory
from numba_nlp.generation.team import Team
from numba_nlp.kernels.step.decoder_memory import DecoderWeights, RowMemory, SourceMemory
from numba_nlp.kernels.step.products import columns_of
from numba_nlp.kernels.step.reader import ReadScratch, keep_sources, read_rows

__all__ = ["Reader"]

#: Tokens that are read at once; a longer row is read alone.
_TOKENS = 1024


class _Some(NamedTuple):
    """Rows that are read at once: their numbers, where each begins, columns of tokens, and which tokens they are."""

    rows: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    tokens: tuple[np.ndarray, np.ndarray]


class Reader:
    """What reads sources and prompts of a model.

    Parameters
    ----------
    model : Model
    plan : Plan
        Its packed weights.
    team : Team
    """

    def __init__(self, model: Any, plan: Plan, team: Team) -> None:
        self._model, self._plan, self._team = model, plan, team

    def sources(self, source: Rows) -> SourceMemory:
        """Run the encoder; gives the keys and values of each layer of the decoder.

        Parameters
        ----------
        source : Rows
            A row without any token counts as if all were.
        """
        weights, decoder, maps = self._plan.encoder, self._plan.decoder, self._plan.source_maps
        assert weights is not None
        assert maps is not None
        mask = source.mask_array()
        model = self._model
        ids, given = torch.from_numpy(source.ids), None if source.mask is None else torch.from_numpy(mask)
        embedded = model._embed(model.tokens, ids)
        positions = model.encoder.positions
        if positions is not None:
            embedded = embedded + positions(positions.of_source(ids, given))
        mask = mask | ~mask.any(1, keepdims=True)
        held = new_source_memory(decoder, mask)
        no_memory = new_row_memory(decoder, np.ones((0, 0), bool), 1, 0)
        for some, scratch in _chunks(mask, weights, self._plan.kind, self._team.n_threads, int(columns_of(maps))):
            hidden = _taken(embedded, some)
            self._read(some, False, weights, no_memory, scratch, hidden)
            self._team.run(
                keep_sources, self._team.state, some.starts, some.rows, decoder.layers, decoder.heads, maps, held,
                scratch, hidden,
            )  # fmt: skip
        return held

    def rows(self, embedded: torch.Tensor, mask: np.ndarray) -> torch.Tensor:
        """Hidden states of an encoder alone.

        Parameters
        ----------
        embedded : Tensor
            ``[rows, width, model width]``.
        mask : ndarray
            bool ``[rows, width]``: which tokens count; in a row without any all do.

        Returns
        -------
        Tensor
            float32 of the same shape; zeros for what does not count.
        """
        weights = self._plan.decoder
        mask = mask | ~mask.any(1, keepdims=True)
        found = np.zeros(embedded.shape, np.float32)
        no_memory = new_row_memory(weights, np.ones((0, 0), bool), 1, 0)
        for some, scratch in _chunks(mask, weights, self._plan.kind, self._team.n_threads):
            hidden = _taken(embedded, some)
            self._read(some, False, weights, no_memory, scratch, hidden)
            found[some.tokens] = hidden
        return torch.from_numpy(found)

    def prompts(self, prompts: Rows, memory: RowMemory) -> np.ndarray:
        """Read the prompts of a decoder alone.

        Parameters
        ----------
        prompts : Rows
        memory : RowMemory
            Keys and values are kept here, and the number of tokens that have positions.

        Returns
        -------
        ndarray
            float32 ``[prompts, width]``: hidden states of the last tokens.
        """
        weights, decoder = self._plan.decoder, self._model.decoder
        mask = prompts.mask_array()
        counted = mask.cumsum(1)
        # of padding: any, which nothing looks at
        positions = torch.from_numpy(np.maximum(counted - 1, 0))
        embedded = decoder.tokens(torch.from_numpy(prompts.ids)) + decoder.positions(positions)
        last = np.empty((len(mask), weights.tokens.shape[1]), np.float32)
        for some, scratch in _chunks(mask, weights, self._plan.kind, self._team.n_threads):
            hidden = _taken(embedded, some)
            self._read(some, True, weights, memory, scratch, hidden)
            last[some.rows] = hidden[some.starts[1:] - 1]
        memory.counted[0, : len(mask)] = counted[:, -1]
        return last

    def _read(
        self,
        some: _Some,
        causal: bool,
        weights: DecoderWeights,
        memory: RowMemory,
        scratch: ReadScratch,
        hidden: np.ndarray,
    ) -> None:
        self._team.run(
            read_rows, self._team.state, some.starts, some.columns, some.rows, causal, weights, memory, scratch,
            hidden,
        )  # fmt: skip


def _taken(embedded: torch.Tensor, some: _Some) -> np.ndarray:
    """Embeddings of some tokens, float32 ``[n, width]``."""
    rows, columns = (torch.from_numpy(places) for places in some.tokens)
    return embedded[rows, columns].float().numpy()


def _chunks(
    mask: np.ndarray, weights: DecoderWeights, kind: WeightKind, n_threads: int, kept: int = 0
) -> Iterator[tuple[_Some, ReadScratch]]:
    """Rows in their order, as many at once as have few tokens together, and what reading them works with."""
    lengths = mask.sum(1)
    groups: list[list[int]] = []
    for row, length in enumerate(lengths):
        if not groups or lengths[groups[-1]].sum() + length > _TOKENS:
            groups.append([])
        groups[-1].append(row)
    most = max(int(lengths[group].sum()) for group in groups)
    scratch = new_read_scratch(weights, most, int(lengths.max()), n_threads, kind, kept)
    for group in groups:
        rows, columns = np.nonzero(mask[group])
        starts = np.zeros(len(group) + 1, np.int64)
        np.cumsum(lengths[group], out=starts[1:])
        numbers = np.array(group, np.int32)
        yield _Some(numbers, starts, columns.astype(np.int32), (numbers[rows].astype(np.int64), columns)), scratch
