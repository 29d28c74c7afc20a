"""Arrays of a decoder's step: its weights, what its rows have read, and what it works with.

Twin: ``numba_nlp.reference.step.decoder``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp.kernels.step.any_kind import AnyMatrices

__all__ = ["BLOCK", "DecoderWeights", "RowMemory", "SourceMemory", "StepScratch", "padded"]

#: Scores of attention are multiples of it: exponentials are computed by so many.
BLOCK = 64


def padded(n: int) -> int:
    """The next multiple of `BLOCK`."""
    return -(-n // BLOCK) * BLOCK


class DecoderWeights(NamedTuple):
    """A decoder with L layers, of any of our families.

    Attributes
    ----------
    layers, heads, head_width : int64
    norm_first : bool
        Whether what goes into a part is normalised; else the sums are.
    centred : bool
        Whether norms subtract the mean.
    gated : bool
        Whether what is activated in the feed-forward part is a gate of its first map.
    with_source : bool
        Whether there is attention to a source.
    begin, end : bool
        Whether embeddings are normalised, and what comes out of the last layer.
    activation : int64
        Of ``activations.CODES``.
    epsilon : float64
        Of norms.
    embedding_scale, output_scale : float32
        Factors of embeddings, and of what goes into the output.
    position_offset : int64
        Row of ``positions`` for a token before which no other counts.
    position_padding : int64
        Token that has no position, but the row of ``positions`` of its own number; -1: none.
    tokens, positions : float32[V, D], float32[P, D]
        Embeddings; ``P`` is 0 where there are no positions.
    scales : float32[L]
        Factors of the products of queries and keys.
    distances : float32[H, F] or float32[H, 0]
        What is added to these products, by the distance of the key; the last number stands for all that are farther.
    edge_norms : float32[2, 2, D]
        Weights and bias of the norm of the embeddings, and of that at the end.
    norms : float32[L, 3, 2, D]
        Of the norms of self-attention, of attention to the source and of the feed-forward part.
    qkv, joined, query, source_joined, inner, gate, outer : AnyMatrices
        Of each layer: queries, keys and values of self-attention, and what joins its heads; the same of attention to
        the source; the maps of the feed-forward part. What a family lacks is empty.
    logits, last_logits : AnyMatrices
        The output, whole panels, and the rest of fewer columns; one of them may be empty.
    """

    layers: int
    heads: int
    head_width: int
    norm_first: bool
    centred: bool
    gated: bool
    with_source: bool
    begin: bool
    end: bool
    activation: int
    epsilon: float
    embedding_scale: np.float32
    output_scale: np.float32
    position_offset: int
    position_padding: int
    tokens: np.ndarray
    positions: np.ndarray
    scales: np.ndarray
    distances: np.ndarray
    edge_norms: np.ndarray
    norms: np.ndarray
    qkv: AnyMatrices
    joined: AnyMatrices
    query: AnyMatrices
    source_joined: AnyMatrices
    inner: AnyMatrices
    gate: AnyMatrices
    outer: AnyMatrices
    logits: AnyMatrices
    last_logits: AnyMatrices


class RowMemory(NamedTuple):
    """What R rows of B prompts have read: P columns of the prompt, N of new tokens, W numbers in each.

    Keys and values of prompts are held once, whatever the number of rows that continue them; those of new tokens stay
    where they were written. Which of them a row sees is a list that each step makes of the tokens' writers.

    Attributes
    ----------
    prompt_rows, prompt_columns, rows : int64
        B, P and R, as they were at the beginning.
    keys, values : float32[L, (P * B + N * R) * W]
        Column ``c`` of prompt ``b`` begins at ``(c * B + b) * W``; the token that row ``r`` read ``n``-th after the
        prompt at ``(P * B + n * R + r) * W``.
    prompt_places : int32[B, P]
        Columns of each prompt that hold a token, ascending.
    prompt_lengths : int64[B]
        Number of them.
    writers : int32[2, R, N]
        Row that read the ``n``-th new token of each row. Steps read one half and write the other.
    counted : int64[2, R]
        Tokens so far that have positions, in the same way.
    offsets : int64[R, P + N]
        Beginnings of keys and values that each row sees, those of its own token the last.
    columns : int32[R, P + N]
        Their columns.
    lengths, positions : int64[R]
        Number of them, and row of the table of positions.
    """

    prompt_rows: int
    prompt_columns: int
    rows: int
    keys: np.ndarray
    values: np.ndarray
    prompt_places: np.ndarray
    prompt_lengths: np.ndarray
    writers: np.ndarray
    counted: np.ndarray
    offsets: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray
    positions: np.ndarray


class SourceMemory(NamedTuple):
    """Keys and values of B sources of up to S tokens, a multiple of `BLOCK`, in panels as products read them.

    Matrix ``(layer * B + source) * H + head`` of keys has as many columns as the source has tokens (with those that
    fill a block), and so many rows that of values, whose columns are those of a head.

    Attributes
    ----------
    sources, width : int64
        B and S.
    keys : float32[L * B * H * S * head width]
    values : float32[L * B * H * S * columns of a head]
        Those of a head with those that fill a panel.
    lengths : int64[B]
        Tokens of each source.
    no_sums : int32[0]
        What such matrices lack.
    """

    sources: int
    width: int
    keys: np.ndarray
    values: np.ndarray
    lengths: np.ndarray
    no_sums: np.ndarray


class StepScratch(NamedTuple):
    """What a step of up to R rows works with; arrays with T as their first size are one thread's each.

    Attributes
    ----------
    hidden, normal : float32[T, R, D]
        Hidden states, and what goes into a part.
    floats : float32[T, k]
    codes : uint8[T, k]
    steps : float32[T, R]
        Packed rows; see ``PackedRows``.
    scores : float32[T, k]
        Of attention.
    heads : float32[T, k]
        Queries and results of a head, of the rows of a prompt.
    qkv : float32[R, columns]
        Queries, keys and values, or queries alone, of all threads.
    context : float32[R, W]
        What heads give.
    change : float32[R, columns]
        What a part adds.
    inner, gate : float32[R, columns]
        Within the feed-forward part.
    last : float32[R, columns]
        Logits of ``DecoderWeights.last_logits``.
    """

    hidden: np.ndarray
    normal: np.ndarray
    floats: np.ndarray
    codes: np.ndarray
    steps: np.ndarray
    scores: np.ndarray
    heads: np.ndarray
    qkv: np.ndarray
    context: np.ndarray
    change: np.ndarray
    inner: np.ndarray
    gate: np.ndarray
    last: np.ndarray
