"""Twin of ``numba_nlp.kernels.step.reader``: one row after another, all of its tokens at once, in float64."""

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

__all__ = ["keep_source", "read_row"]


def read_row(
    embedded: np.ndarray,
    columns: np.ndarray,
    causal: bool,
    weights: DecoderWeights,
    activation: str,
    kind: str,
    panel_columns: int,
) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Hidden states of a row's tokens, and for each layer their keys and values ``[tokens, heads, head width]``."""
    w, n = weights, len(embedded)

    def product(x: np.ndarray, matrices: Matrices, which: int) -> np.ndarray:
        return multiply(x.astype(np.float32), matrices, which, kind, panel_columns)

    def norm(x: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return normalize_rows(x, numbers[0], numbers[1], w.epsilon, w.centred)

    def part(x: np.ndarray, numbers: np.ndarray, change: np.ndarray) -> np.ndarray:
        return x + change if w.norm_first else norm(x + change, numbers)

    bias = np.zeros((w.heads, n, n))
    if w.distances.shape[1]:
        farthest = w.distances.shape[1] // 2
        behind = np.clip(columns[None, :] - columns[:, None], -farthest, farthest)
        bias = w.distances[:, behind + farthest].astype(np.float64)
    if causal:
        bias[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
    x = norm(embedded, w.edge_norms[0]) if w.begin else embedded.astype(np.float64)
    all_keys, all_values = [], []
    for layer in range(w.layers):
        before = norm(x, w.norms[layer, 0]) if w.norm_first else x
        queries, keys, values = product(before, w.qkv, layer).reshape(n, 3, w.heads, w.head_width).swapaxes(0, 1)
        all_keys.append(keys)
        all_values.append(values)
        context = [attend(queries[i], keys, values, w.scales[layer], bias[:, i]).reshape(-1) for i in range(n)]
        x = part(x, w.norms[layer, 0], product(np.array(context), w.joined, layer))
        before = norm(x, w.norms[layer, 2]) if w.norm_first else x
        inner = product(before, w.inner, layer)
        active = product(before, w.gate, layer) if w.gated else inner
        active = np.vectorize(FUNCTIONS[activation])(active)
        inner = active * inner if w.gated else active
        inner = np.pad(inner, ((0, 0), (0, w.outer.depth - inner.shape[1])))
        x = part(x, w.norms[layer, 2], product(inner, w.outer, layer))
    return norm(x, w.edge_norms[1]) if w.end else x, all_keys, all_values


def keep_source(
    hidden: np.ndarray, maps: Matrices, layers: int, heads: int, kind: str, panel_columns: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each layer keys and values ``[tokens, heads, head width]`` of what an encoder gave for a row."""
    both = [
        multiply(hidden, maps, layer, kind, panel_columns).reshape(len(hidden), 2, heads, -1) for layer in range(layers)
    ]
    return [each[:, 0] for each in both], [each[:, 1] for each in both]
