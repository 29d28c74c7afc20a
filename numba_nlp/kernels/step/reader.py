"""Many tokens of each row at once: an encoder, or the prompts of a decoder alone.

The tokens of all rows lie one behind the other, without padding. Threads share rows where there are many of them, else
the panels of products as in :mod:`numba_nlp.kernels.step.decoder`; attention is shared by heads of rows.

Twin: ``numba_nlp.reference.step.reader``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.step.any_kind import multiply_any, pack_any
from numba_nlp.kernels.step.decoder import (
    activate_panels,
    enter_part,
    leave_part,
    multiply_share,
    share,
    share_of_panels,
)
from numba_nlp.kernels.step.norms import normalize_rows
from numba_nlp.kernels.step.products import PackedRows
from numba_nlp.kernels.step.row_attention import BLOCK, exponentials
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.kernels.step.source_attention import score_panels, sum_panels
from numba_nlp.kernels.step.team import wait_for_team

__all__ = ["QUERIES", "ReadScratch", "attend_within", "keep_sources", "pack_head", "read_rows", "row_parts"]

#: Queries of a head that are multiplied at once.
QUERIES = 48
_OF_ROWS, _OF_FEED = 0, 2


class ReadScratch(NamedTuple):
    """What reading N tokens works with, of rows of up to S tokens; arrays with T as first size are one thread's each.

    Attributes
    ----------
    hidden, normal : float32[T, N, D]
        Hidden states of a thread's rows, and what goes into a part.
    floats, codes, steps
        As of ``StepScratch``.
    keys, values : float32[T, k]
        Those of a head of a row in panels.
    scores : float32[T, QUERIES * S]
    heads : float32[T, k]
        Queries and results of a head.
    qkv, context, change, inner, gate : float32[N, columns]
        As of ``StepScratch``.
    no_sums : int32[0]
        What panels of keys lack.
    """

    hidden: np.ndarray
    normal: np.ndarray
    floats: np.ndarray
    codes: np.ndarray
    steps: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    heads: np.ndarray
    qkv: np.ndarray
    context: np.ndarray
    change: np.ndarray
    inner: np.ndarray
    gate: np.ndarray
    no_sums: np.ndarray


@kernel
def row_parts(n_tokens, n_threads):
    """Into how many parts ``n_tokens`` are divided for ``n_threads``; threads of a part share panels.

    Each part has about `QUERIES` tokens at least, so that a panel is worth reading.
    """
    return max(1, min(n_threads, n_tokens // QUERIES))


@kernel
def pack_head(rows, start, length, key, value, size, seen, keys, values):
    """Put keys and values of a head into panels; see ``SourceMemory``.

    Parameters
    ----------
    rows : float32[n, k]
        Keys and values of tokens.
    start, length : int64
        First token, and their number.
    key, value : int64
        Columns at which those of the head begin.
    size : int64
        Numbers of a head.
    seen : int64
        ``length``, rounded up to a multiple of ``BLOCK``.
    keys, values : float32[p]
        Written from their beginning; zeros fill them up.
    """
    panels = (size + COLUMNS - 1) // COLUMNS
    for token in range(seen):
        there = token < length
        place = token // COLUMNS * size * COLUMNS + token % COLUMNS
        for i in range(size):
            keys[place + i * COLUMNS] = rows[start + token, key + i] if there else np.float32(0)
        for panel in range(panels):
            place = (panel * seen + token) * COLUMNS
            for i in range(COLUMNS):
                at = panel * COLUMNS + i
                values[place + i] = rows[start + token, value + at] if there and at < size else np.float32(0)


@kernel
def attend_within(qkv, layer, first, last, starts, columns, causal, weights, packed, work, context):
    """Attention of the tokens of each row to each other.

    Parameters
    ----------
    qkv : float32[n, k]
        Query, key and value of each token.
    layer : int64
    first, last : int64
        Which heads of rows: head ``i % heads`` of row ``i // heads``.
    starts : int64[rows + 1]
        First token of each row.
    columns : int32[n]
        Column of each token, which distances are counted by.
    causal : bool
        Whether tokens see those before them and themselves only.
    weights : DecoderWeights
        Without ``causal``, the middle one of ``distances`` stands for distance 0, and smaller ones are of keys before.
    packed : PackedRows
        Work space, for `QUERIES` rows of as many numbers as the longest row, or a head, has.
    work : tuple of float32[k]
        Work space: keys, values, scores and heads of ``ReadScratch``, and its ``no_sums``.
    context : float32[n, heads * head width]
        Written: what the heads give.
    """
    heads, size = weights.heads, weights.head_width
    width = heads * size
    keys, values, scores, some, none = work
    farthest = weights.distances.shape[1] // 2
    for item in range(first, last):
        row, head = item // heads, item % heads
        start, begin = starts[row], head * size
        length = starts[row + 1] - start
        seen = (length + BLOCK - 1) // BLOCK * BLOCK
        pack_head(qkv, start, length, width + begin, 2 * width + begin, size, seen, keys, values)
        for begun in range(0, length, QUERIES):
            n_rows = min(QUERIES, length - begun)
            first_row = start + begun
            scale = weights.scales[layer]
            score_panels(qkv, first_row, n_rows, begin, scale, keys, seen, size, none, packed, some, scores)
            for r in range(n_rows):
                at = r * seen
                sees = begun + r + 1 if causal else length
                if farthest:
                    for i in range(sees):
                        behind = columns[start + i] - columns[first_row + r]
                        scores[at + i] += weights.distances[head, min(max(behind, -farthest), farthest) + farthest]
                factor = np.float32(1) / exponentials(scores, at, sees)
                for i in range(sees):
                    scores[at + i] *= factor
                for i in range(sees, seen):
                    scores[at + i] = 0
            sum_panels(scores, first_row, n_rows, begin, values, seen, size, none, packed, some, context)


@kernel
def read_rows(thread, n_threads, team, starts, columns, prompts, causal, weights, memory, scratch, embedded):
    """Read the tokens of all rows.

    Parameters
    ----------
    thread, n_threads : int64
        Which of the threads this is, and their number.
    team : int64[64]
        See :func:`~numba_nlp.kernels.step.team.wait_for_team`.
    starts : int64[rows + 1]
        First token of each row; no row is empty.
    columns : int32[n]
        Column of each token.
    prompts : int32[rows]
        Number of each row in `memory`.
    causal : bool
        Whether tokens see those before them and themselves only: keys and values are kept then.
    weights : DecoderWeights
        Of an encoder, or of a decoder without a source.
    memory : RowMemory
        Where keys and values are kept; not looked at for an encoder.
    scratch : ReadScratch
    embedded : float32[n, width]
        Embeddings of the tokens; hidden states are written in their place.

    Returns
    -------
    int64
        0, or 1: another thread gave up, and nothing of what was written counts.
    """
    n_tokens, width, n_heads = embedded.shape[0], embedded.shape[1], weights.heads * (starts.size - 1)
    parts = row_parts(n_tokens, n_threads)
    part, panel_part, panel_parts = thread % parts, thread // parts, n_threads // parts
    begin, end = share(n_tokens, part, parts)
    n_rows = end - begin
    if panel_part >= panel_parts:
        n_rows = 0  # one thread more than parts of equal size need: it takes heads only
    hidden, normal = scratch.hidden[thread], scratch.normal[thread]
    packed = PackedRows(scratch.floats[thread], scratch.codes[thread], scratch.steps[thread])
    work = (
        scratch.keys[thread],
        scratch.values[thread],
        scratch.scores[thread],
        scratch.heads[thread],
        scratch.no_sums,
    )
    qkv, change = scratch.qkv[begin:end], scratch.change[begin:end]
    inner, gate = scratch.inner[begin:end], scratch.gate[begin:end]
    for row in range(n_rows):
        for i in range(width):
            hidden[row, i] = embedded[begin + row, i]
    if weights.begin and n_rows:
        edge = weights.edge_norms[0]
        normalize_rows(hidden, n_rows, edge[0], edge[1], weights.epsilon, weights.centred, hidden)
    for layer in range(weights.layers):
        if n_rows:
            given = enter_part(hidden, normal, n_rows, _OF_ROWS, weights, layer)
            multiply_share(given, n_rows, weights.qkv, layer, packed, panel_part, panel_parts, qkv)
        if wait_for_team(team, n_threads):
            return 1
        first, last = share(n_heads, thread, n_threads)
        attend_within(scratch.qkv, layer, first, last, starts, columns, causal, weights, packed, work, scratch.context)
        if causal and panel_part == 0:
            _keep(scratch.qkv, layer, begin, end, starts, columns, prompts, weights, memory)
        if wait_for_team(team, n_threads):
            return 1
        if n_rows:
            multiply_share(
                scratch.context[begin:end], n_rows, weights.joined, layer, packed, panel_part, panel_parts, change
            )
        if wait_for_team(team, n_threads):
            return 1
        if n_rows:
            leave_part(hidden, change, n_rows, _OF_ROWS, weights, layer)
            pack_any(weights.inner.kind, enter_part(hidden, normal, n_rows, _OF_FEED, weights, layer), n_rows, packed)
            first, last = share_of_panels(weights.inner, panel_part, panel_parts)
            multiply_any(packed, n_rows, weights.inner, layer, first, last, inner)
            if weights.gated:
                multiply_any(packed, n_rows, weights.gate, layer, first, last, gate)
            activate_panels(inner, gate, n_rows, first, last, weights)
        if wait_for_team(team, n_threads):
            return 1
        if n_rows:
            multiply_share(inner, n_rows, weights.outer, layer, packed, panel_part, panel_parts, change)
        if wait_for_team(team, n_threads):
            return 1
        if n_rows:
            leave_part(hidden, change, n_rows, _OF_FEED, weights, layer)
    if n_rows and panel_part == 0:
        if weights.end:
            edge = weights.edge_norms[1]
            normalize_rows(hidden, n_rows, edge[0], edge[1], weights.epsilon, weights.centred, hidden)
        for row in range(n_rows):
            for i in range(width):
                embedded[begin + row, i] = hidden[row, i]
    return wait_for_team(team, n_threads)


@kernel
def _keep(qkv, layer, begin, end, starts, columns, prompts, weights, memory):
    """Keep the keys and values of some tokens of prompts."""
    width = weights.heads * weights.head_width
    keys, values = memory.keys[layer], memory.values[layer]
    row = 0
    for token in range(begin, end):
        while token >= starts[row + 1]:
            row += 1
        place = (columns[token] * memory.prompt_rows + prompts[row]) * width
        for i in range(width):
            keys[place + i] = qkv[token, width + i]
            values[place + i] = qkv[token, 2 * width + i]


@kernel
def keep_sources(thread, n_threads, team, starts, prompts, n_layers, heads, matrices, source, scratch, hidden):
    """Keep the keys and values that a decoder attends to, of what an encoder gave.

    Parameters
    ----------
    thread, n_threads, team, starts
        As of :func:`read_rows`.
    prompts : int32[rows]
        Number of each row in `source`.
    n_layers, heads : int64
        Of the decoder.
    matrices : Matrices
        One for each layer of the decoder: keys of all heads, then values.
    source : SourceMemory
        Keys and values of these sources are written.
    scratch : ReadScratch
        Of the encoder; ``qkv`` has room for what a matrix gives.
    hidden : float32[n, width]

    Returns
    -------
    int64
        As of :func:`read_rows`.
    """
    n_tokens, width = hidden.shape[0], matrices.outputs // 2
    size = width // heads
    parts = row_parts(n_tokens, n_threads)
    part, panel_part, panel_parts = thread % parts, thread // parts, n_threads // parts
    begin, end = share(n_tokens, part, parts)
    packed = PackedRows(scratch.floats[thread], scratch.codes[thread], scratch.steps[thread])
    if panel_part < panel_parts:
        pack_any(matrices.kind, hidden[begin:end], end - begin, packed)
    panels = (size + COLUMNS - 1) // COLUMNS
    for layer in range(n_layers):
        if panel_part < panel_parts:
            first, last = share_of_panels(matrices, panel_part, panel_parts)
            multiply_any(packed, end - begin, matrices, layer, first, last, scratch.qkv[begin:end])
        if wait_for_team(team, n_threads):
            return 1
        first, last = share(prompts.size * heads, thread, n_threads)
        for item in range(first, last):
            row, head = item // heads, item % heads
            start, length = starts[row], starts[row + 1] - starts[row]
            seen = (length + BLOCK - 1) // BLOCK * BLOCK
            which = ((layer * source.sources + prompts[row]) * heads + head) * source.width
            keys, values = source.keys[which * size :], source.values[which * panels * COLUMNS :]
            pack_head(scratch.qkv, start, length, head * size, width + head * size, size, seen, keys, values)
            source.lengths[prompts[row]] = length
        if wait_for_team(team, n_threads):
            return 1
    return 0
