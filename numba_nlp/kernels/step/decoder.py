"""One step of a decoder: a token in each row in, logits out; all families, all layers, in one call.

Threads run the same call together. Each keeps hidden states and packed rows of its own, which costs little for few
rows, and takes its share of the panels of a product and of the heads of attention; what they make of it lies in arrays
of all, and they wait for each other where one reads what another wrote. Shares do not change sums, so results do not
depend on the number of threads.

Twin: ``numba_nlp.reference.step.decoder``.
"""

from __future__ import annotations

from numba_nlp._jit import kernel
from numba_nlp.kernels.step.activations import activate
from numba_nlp.kernels.step.any_kind import multiply_any, pack_any
from numba_nlp.kernels.step.norms import normalize_rows
from numba_nlp.kernels.step.products import PackedRows, columns_of
from numba_nlp.kernels.step.row_attention import attend_to_rows
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.kernels.step.source_attention import attend_to_sources
from numba_nlp.kernels.step.team import wait_for_team

__all__ = [
    "activate_panels",
    "decoder_step",
    "embed_rows",
    "enter_part",
    "leave_part",
    "multiply_share",
    "share",
    "share_of_panels",
    "write_logits",
]

_OF_ROWS, _OF_SOURCE, _OF_FEED = 0, 1, 2


@kernel
def embed_rows(tokens, weights, memory, hidden):
    """Write the embeddings of tokens and positions.

    Parameters
    ----------
    tokens : int64[n]
    weights : DecoderWeights
    memory : RowMemory
        Its ``positions`` say which.
    hidden : float32[m, width]
        The first ``n`` rows are written.
    """
    n_rows, width = tokens.size, hidden.shape[1]
    for row in range(n_rows):
        for i in range(width):
            hidden[row, i] = weights.tokens[tokens[row], i] * weights.embedding_scale
        if weights.positions.shape[0]:
            for i in range(width):
                hidden[row, i] += weights.positions[memory.positions[row], i]
    if weights.begin:
        edge = weights.edge_norms[0]
        normalize_rows(hidden, n_rows, edge[0], edge[1], weights.epsilon, weights.centred, hidden)


@kernel
def enter_part(hidden, normal, n_rows, part, weights, layer):
    """What goes into a part of a layer.

    Parameters
    ----------
    hidden, normal : float32[m, width]
        Hidden states, and room for their norms.
    n_rows, part : int64
        Number of rows, and which norm.
    weights : DecoderWeights
    layer : int64

    Returns
    -------
    float32[m, width]
        One of the two arrays.
    """
    if not weights.norm_first:
        return hidden
    norm = weights.norms[layer, part]
    normalize_rows(hidden, n_rows, norm[0], norm[1], weights.epsilon, weights.centred, normal)
    return normal


@kernel
def leave_part(hidden, change, n_rows, part, weights, layer):
    """Add what a part gives.

    Parameters
    ----------
    hidden : float32[m, width]
        Changed in place.
    change : float32[m, columns]
        What is added.
    n_rows, part : int64
        Number of rows, and which norm.
    weights : DecoderWeights
    layer : int64
    """
    width = hidden.shape[1]
    for row in range(n_rows):
        for i in range(width):
            hidden[row, i] += change[row, i]
    if not weights.norm_first:
        norm = weights.norms[layer, part]
        normalize_rows(hidden, n_rows, norm[0], norm[1], weights.epsilon, weights.centred, hidden)


@kernel
def share(n, thread, n_threads):
    """Beginning and end of the part of ``thread``, one of ``n_threads``, of ``n`` pieces."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@kernel
def share_of_panels(matrices, thread, n_threads):
    """The same of the panels of each of ``matrices``, for ``thread`` of ``n_threads``."""
    return share(columns_of(matrices) // COLUMNS, thread, n_threads)


@kernel
def multiply_share(x, n_rows, matrices, which, packed, thread, n_threads, out):
    """Pack rows, and multiply them with a thread's share of the panels of a matrix.

    Parameters
    ----------
    x : float32[m, depth]
        C-contiguous.
    n_rows : int64
    matrices : AnyMatrices
    which : int64
        Number of the matrix.
    packed : PackedRows
        The thread's own work space.
    thread, n_threads : int64
    out : float32[m, columns]
        Columns of these panels are written.
    """
    pack_any(matrices.kind, x, n_rows, packed)
    first, last = share_of_panels(matrices, thread, n_threads)
    multiply_any(packed, n_rows, matrices, which, first, last, out)


@kernel
def activate_panels(inner, gate, n_rows, first, last, weights):
    """Activate some panels of the feed-forward part, or their gates, which let through what is within.

    Parameters
    ----------
    inner, gate : float32[m, columns]
        ``inner`` is changed in place; ``gate`` is looked at where there are gates.
    n_rows, first, last : int64
        Number of rows, and which panels.
    weights : DecoderWeights
    """
    values = gate if weights.gated else inner
    flat, stride = values.reshape(values.size), values.shape[1]
    begin, end = first * COLUMNS, last * COLUMNS
    for row in range(n_rows):
        activate(weights.activation, flat, row * stride + begin, row * stride + end)
        if weights.gated:
            for i in range(begin, end):
                inner[row, i] *= gate[row, i]


@kernel
def write_logits(thread, n_threads, team, hidden, n_rows, weights, scratch, logits):
    """Compute logits from what comes out of the last layer.

    Parameters
    ----------
    thread, n_threads, team
        As of :func:`decoder_step`.
    hidden : float32[m, width]
        Every thread may have its own, or all the same.
    n_rows : int64
    weights : DecoderWeights
    scratch : StepScratch
    logits : float32[m, V]
        The first ``n_rows`` rows are written.

    Returns
    -------
    int64
        As of :func:`decoder_step`.
    """
    packed = PackedRows(scratch.floats[thread], scratch.codes[thread], scratch.steps[thread])
    scaled = hidden
    if weights.output_scale != 1:
        scaled = scratch.normal[thread]
        for row in range(n_rows):
            for i in range(hidden.shape[1]):
                scaled[row, i] = hidden[row, i] * weights.output_scale
    pack_any(weights.logits.kind, scaled, n_rows, packed)
    first, last = share_of_panels(weights.logits, thread, n_threads)
    multiply_any(packed, n_rows, weights.logits, 0, first, last, logits)
    rest = weights.last_logits.outputs
    if rest and thread == n_threads - 1:
        multiply_any(packed, n_rows, weights.last_logits, 0, 0, 1, scratch.last)
        done = logits.shape[1] - rest
        for row in range(n_rows):
            for i in range(rest):
                logits[row, done + i] = scratch.last[row, i]
    return wait_for_team(team, n_threads)


@kernel
def decoder_step(thread, n_threads, team, tokens, prompts, per_prompt, weights, memory, source, scratch, logits):
    """Read one token in each row, and compute the logits of the next.

    Parameters
    ----------
    thread, n_threads : int64
        Which of the threads this is, and their number.
    team : int64[64]
        See :func:`~numba_nlp.kernels.step.team.wait_for_team`.
    tokens : int64[n]
        Of the vocabulary.
    prompts : int32[p]
        Prompt of each group of ``per_prompt`` rows; ``n = p * per_prompt``.
    per_prompt : int64
    weights : DecoderWeights
    memory : RowMemory
        After ``list_places``; keys and values of the tokens are written.
    source : SourceMemory
        Without any source for a decoder alone.
    scratch : StepScratch
    logits : float32[m, V]
        The first ``n`` rows are written.

    Returns
    -------
    int64
        0, or 1: another thread gave up, and nothing of what was written counts.
    """
    n_rows = tokens.size
    hidden, normal = scratch.hidden[thread], scratch.normal[thread]
    packed = PackedRows(scratch.floats[thread], scratch.codes[thread], scratch.steps[thread])
    scores, work = scratch.scores[thread], scratch.heads[thread]
    qkv, change, inner = scratch.qkv, scratch.change, scratch.inner
    embed_rows(tokens, weights, memory, hidden)
    for layer in range(weights.layers):
        given = enter_part(hidden, normal, n_rows, _OF_ROWS, weights, layer)
        multiply_share(given, n_rows, weights.qkv, layer, packed, thread, n_threads, qkv)
        if wait_for_team(team, n_threads):
            return 1
        first, last = share(n_rows * weights.heads, thread, n_threads)
        attend_to_rows(qkv, layer, first, last, weights, memory, scores, scratch.context)
        if wait_for_team(team, n_threads):
            return 1
        multiply_share(scratch.context, n_rows, weights.joined, layer, packed, thread, n_threads, change)
        if wait_for_team(team, n_threads):
            return 1
        leave_part(hidden, change, n_rows, _OF_ROWS, weights, layer)
        if weights.with_source:
            given = enter_part(hidden, normal, n_rows, _OF_SOURCE, weights, layer)
            multiply_share(given, n_rows, weights.query, layer, packed, thread, n_threads, qkv)
            if wait_for_team(team, n_threads):
                return 1
            first, last = share(prompts.size * weights.heads, thread, n_threads)
            attend_to_sources(
                qkv, layer, first, last, prompts, per_prompt, weights, source, packed, scores, work, scratch.context
            )
            if wait_for_team(team, n_threads):
                return 1
            multiply_share(scratch.context, n_rows, weights.source_joined, layer, packed, thread, n_threads, change)
            if wait_for_team(team, n_threads):
                return 1
            leave_part(hidden, change, n_rows, _OF_SOURCE, weights, layer)
        pack_any(weights.inner.kind, enter_part(hidden, normal, n_rows, _OF_FEED, weights, layer), n_rows, packed)
        first, last = share_of_panels(weights.inner, thread, n_threads)
        multiply_any(packed, n_rows, weights.inner, layer, first, last, inner)
        if weights.gated:
            multiply_any(packed, n_rows, weights.gate, layer, first, last, scratch.gate)
        activate_panels(inner, scratch.gate, n_rows, first, last, weights)
        if wait_for_team(team, n_threads):
            return 1
        multiply_share(inner, n_rows, weights.outer, layer, packed, thread, n_threads, change)
        if wait_for_team(team, n_threads):
            return 1
        leave_part(hidden, change, n_rows, _OF_FEED, weights, layer)
    if weights.end:
        edge = weights.edge_norms[1]
        normalize_rows(hidden, n_rows, edge[0], edge[1], weights.epsilon, weights.centred, hidden)
    return write_logits(thread, n_threads, team, hidden, n_rows, weights, scratch, logits)
