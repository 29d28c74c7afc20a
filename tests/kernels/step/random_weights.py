"""Random weights for the kernels of a decoder's step."""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp.generation.packing import pack_matrices
from numba_nlp.kernels.step.activations import CODES
from numba_nlp.kernels.step.any_kind import AnyMatrices, of_any_kind
from numba_nlp.kernels.step.decoder_memory import DecoderWeights
from numba_nlp.kernels.step.products import Matrices
from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["FLAGS", "HEADS", "LAYERS", "SIZE", "VOCABULARY", "WIDTH", "draw_weights", "plain_matrices", "plain_weights"]

LAYERS, HEADS, SIZE, WIDTH, INNER, VOCABULARY = 2, 3, 5, 20, 9, COLUMNS + 7
#: Arguments of :func:`draw_weights` beside the kind and the activation.
FLAGS = ("norm_first", "centred", "gated", "with_source", "begin", "end", "bias")


def draw_weights(random: np.random.Generator, kind: str, activation: str, **flags: Any) -> DecoderWeights:
    """A random decoder."""

    def array(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.5).astype(np.float32)

    def matrices(outputs: int, depth: int, count: int = LAYERS) -> AnyMatrices:
        biases = [array(outputs) for _ in range(count)] if flags["bias"] else None
        return of_any_kind(pack_matrices([array(outputs, depth) for _ in range(count)], biases, kind), kind)

    def empty() -> AnyMatrices:
        like = matrices(1, 1, 1)
        return AnyMatrices(like.kind, like.panels[:0], like.scales[:0], like.sums[:0], like.bias[:0], 0, 0)

    deep = -(-INNER // COLUMNS) * COLUMNS
    outer = [np.pad(array(WIDTH, INNER), ((0, 0), (0, deep - INNER))) for _ in range(LAYERS)]
    biases = [array(WIDTH) for _ in range(LAYERS)] if flags["bias"] else None
    whole = VOCABULARY // COLUMNS * COLUMNS
    return DecoderWeights(
        layers=LAYERS,
        heads=HEADS,
        head_width=SIZE,
        norm_first=flags["norm_first"],
        centred=flags["centred"],
        gated=flags["gated"],
        with_source=flags["with_source"],
        begin=flags["begin"],
        end=flags["end"],
        activation=CODES[activation],
        epsilon=1e-5,
        embedding_scale=np.float32(1.5),
        output_scale=np.float32(0.5 if flags["end"] else 1.0),
        position_offset=2,
        position_padding=1 if flags["begin"] else -1,
        tokens=array(VOCABULARY, WIDTH),
        positions=array(30 if flags["centred"] else 0, WIDTH),
        scales=np.abs(array(LAYERS)),
        distances=array(HEADS, 0 if flags["centred"] else 4),
        edge_norms=array(2, 2, WIDTH),
        norms=array(LAYERS, 3, 2, WIDTH),
        qkv=matrices(3 * HEADS * SIZE, WIDTH),
        joined=matrices(WIDTH, HEADS * SIZE),
        query=matrices(HEADS * SIZE, WIDTH) if flags["with_source"] else empty(),
        source_joined=matrices(WIDTH, HEADS * SIZE) if flags["with_source"] else empty(),
        inner=matrices(INNER, WIDTH),
        gate=matrices(INNER, WIDTH) if flags["gated"] else empty(),
        outer=of_any_kind(pack_matrices(outer, biases, kind), kind),
        logits=matrices(whole, WIDTH, 1),
        last_logits=matrices(VOCABULARY - whole, WIDTH, 1),
    )


def plain_matrices(matrices: AnyMatrices, kind: str) -> Matrices:
    """Matrices of a kind, as twins take them."""
    dtype = {"float32": np.float32, "int8": np.int8, "int16": np.int16}.get(kind, np.uint16)
    return Matrices(matrices.panels.view(dtype), *matrices[2:])


def plain_weights(weights: DecoderWeights, kind: str) -> DecoderWeights:
    """The same weights, as twins take them."""
    return DecoderWeights(*(plain_matrices(part, kind) if isinstance(part, AnyMatrices) else part for part in weights))
