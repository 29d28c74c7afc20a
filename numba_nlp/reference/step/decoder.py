"""Twin of the kernels of a decoder's step: rows one by one, with lists of what each has read, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numba_nlp.reference.step.activations import FUNCTIONS
from numba_nlp.reference.step.norms import normalize_rows
from numba_nlp.reference.step.products import multiply
from numba_nlp.reference.step.row_attention import attend

if TYPE_CHECKING:
    from numba_nlp.kernels.step.decoder_memory import DecoderWeights
    from numba_nlp.kernels.step.products import Matrices

__all__ = ["Row", "Source", "decoder_step"]


class Source:
    """What rows of a prompt attend to: for each layer, keys and values ``[tokens, heads, head width]``."""

    def __init__(self, keys: list[np.ndarray], values: list[np.ndarray]) -> None:
        self.keys, self.values = keys, values


class Row:
    """What a row has read: for each layer lists of keys and values ``[heads, head width]``; the columns of tokens."""

    def __init__(self, layers: int, source: Source | None = None) -> None:
        self.keys: list[list[np.ndarray]] = [[] for _ in range(layers)]
        self.values: list[list[np.ndarray]] = [[] for _ in range(layers)]
        self.columns: list[int] = []
        self.counted = 0
        self.source = source

    def copy(self) -> Row:
        """Another row with the same past."""
        other = Row(0, self.source)
        other.keys, other.values = [list(k) for k in self.keys], [list(v) for v in self.values]
        other.columns, other.counted = list(self.columns), self.counted
        return other


def decoder_step(
    token: int, column: int, row: Row, weights: DecoderWeights, activation: str, kind: str, panel_columns: int
) -> np.ndarray:
    """Logits after a token that a row reads into a column; the row keeps it."""
    w = weights

    def product(x: np.ndarray, matrices: Matrices, which: int) -> np.ndarray:
        return multiply(x[None].astype(np.float32), matrices, which, kind, panel_columns)[0]

    def norm(x: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return normalize_rows(x[None], numbers[0], numbers[1], w.epsilon, w.centred)[0]

    def part(x: np.ndarray, numbers: np.ndarray, change: np.ndarray) -> np.ndarray:
        return x + change if w.norm_first else norm(x + change, numbers)

    x = w.tokens[token].astype(np.float64) * w.embedding_scale
    if len(w.positions):
        if token == w.position_padding:
            x = x + w.positions[w.position_padding]
        else:
            x = x + w.positions[w.position_offset + row.counted]
    row.counted += token != w.position_padding
    row.columns.append(column)
    if w.begin:
        x = norm(x, w.edge_norms[0])
    bias = np.zeros((w.heads, len(row.columns)))
    if w.distances.shape[1]:
        behind = np.minimum(column - np.array(row.columns), w.distances.shape[1] - 1)
        bias = w.distances[:, behind]
    for layer in range(w.layers):
        before = norm(x, w.norms[layer, 0]) if w.norm_first else x
        query, key, value = product(before, w.qkv, layer).reshape(3, w.heads, w.head_width)
        row.keys[layer].append(key)
        row.values[layer].append(value)
        context = attend(query, np.array(row.keys[layer]), np.array(row.values[layer]), w.scales[layer], bias)
        x = part(x, w.norms[layer, 0], product(context.reshape(-1), w.joined, layer))
        if row.source is not None:
            before = norm(x, w.norms[layer, 1]) if w.norm_first else x
            query = product(before, w.query, layer).reshape(w.heads, w.head_width)
            context = attend(query, row.source.keys[layer], row.source.values[layer], w.scales[layer])
            x = part(x, w.norms[layer, 1], product(context.reshape(-1), w.source_joined, layer))
        before = norm(x, w.norms[layer, 2]) if w.norm_first else x
        inner = product(before, w.inner, layer)
        active = product(before, w.gate, layer) if w.gated else inner
        active = np.array([FUNCTIONS[activation](float(value)) for value in active])
        inner = active * inner if w.gated else active
        inner = np.pad(inner, (0, w.outer.depth - inner.size))
        x = part(x, w.norms[layer, 2], product(inner, w.outer, layer))
    if w.end:
        x = norm(x, w.edge_norms[1])
    x = x * w.output_scale
    parts = [product(x, matrices, 0) for matrices in (w.logits, w.last_logits) if matrices.outputs]
    return np.concatenate(parts)
