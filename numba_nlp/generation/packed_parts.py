"""Parts of a model as the Numba kernels read them: linear maps packed, norms stacked, activations by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from numba_nlp.generation.packing import WeightKind, pack_matrices
from numba_nlp.kernels.step.activations import CODES
from numba_nlp.kernels.step.any_kind import AnyMatrices, of_any_kind
from numba_nlp.kernels.step.decoder_memory import DecoderWeights
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.models.layers.activations import ACTIVATIONS
from numba_nlp.models.layers.norms import RmsNorm

__all__ = [
    "activation_code",
    "array_of",
    "block_norms",
    "feed_forward_of",
    "lone_stack",
    "matrices_of",
    "no_matrices",
    "norms_of",
]


def array_of(tensor: Tensor) -> np.ndarray:
    """Values as float32; a view where they are."""
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()


def no_matrices(kind: WeightKind) -> AnyMatrices:
    """No matrix, of the same types."""
    like = of_any_kind(pack_matrices([np.zeros((1, 1), np.float32)], None, kind), kind)
    return AnyMatrices(like.kind, like.panels[:0], like.scales[:0], like.sums[:0], like.bias[:0], 0, 0)


def matrices_of(
    linears: Sequence[Any],
    kind: WeightKind,
    rows: slice = slice(None),
    *,
    deeper: bool = False,
    columns: Sequence[np.ndarray] | None = None,
) -> AnyMatrices:
    """The matrices of linear maps, some rows of them; ``deeper``: for input that fills whole panels.

    ``columns``: of each, what its columns are multiplied with.
    """
    if not linears:
        return no_matrices(kind)
    weights = [array_of(linear.weight[rows]) for linear in linears]
    if columns is not None:
        weights = [matrix * factors for matrix, factors in zip(weights, columns, strict=True)]
    more = -weights[0].shape[1] % COLUMNS
    if deeper and more:
        weights = [np.pad(matrix, ((0, 0), (0, more))) for matrix in weights]
    biases = None if linears[0].bias is None else [array_of(linear.bias[rows]) for linear in linears]
    return of_any_kind(pack_matrices(weights, biases, kind), kind)


def norms_of(norms: Sequence[Any], width: int) -> np.ndarray:
    """Weights and bias of each, float32 ``[norms, 2, width]``; zeros for what is none."""
    found = np.zeros((len(norms), 2, width), np.float32)
    for place, norm in zip(found, norms, strict=True):
        if isinstance(norm, RmsNorm | nn.LayerNorm):
            place[0] = array_of(norm.weight)
            if isinstance(norm, nn.LayerNorm):
                place[1] = array_of(norm.bias)
    return found


def block_norms(blocks: Sequence[Any], width: int) -> np.ndarray:
    """Norms of self-attention, of attention to a source and of the feed-forward part, ``[blocks, 3, 2, width]``."""
    norms = [
        norm
        for block in blocks
        for norm in (block.attention_norm, getattr(block, "source_norm", None), block.feed_forward_norm)
    ]
    return norms_of(norms, width).reshape(-1, 3, 2, width)


def activation_code(activation: Any) -> int:
    """Number of an activation function, under whatever name config.json has it."""
    return next(code for name, code in CODES.items() if ACTIVATIONS[name] is activation)


def feed_forward_of(
    blocks: Sequence[Any], kind: WeightKind, wider: WeightKind, columns: Sequence[np.ndarray] | None
) -> tuple[AnyMatrices, AnyMatrices, AnyMatrices]:
    """Inner map, gate and outer map of each block, the last one of another kind."""
    parts = [block.feed_forward for block in blocks]
    if parts[0].gated:
        half = parts[0].inner.weight.shape[0] // 2
        inner = [part.inner for part in parts]
        first = matrices_of(inner, kind, slice(half, None), columns=columns)
        gate = matrices_of(inner, kind, slice(0, half), columns=columns)
    else:
        first, gate = matrices_of([part.inner for part in parts], kind, columns=columns), no_matrices(kind)
    return first, gate, matrices_of([part.output for part in parts], wider, deeper=True)


def lone_stack(
    blocks: Sequence[Any],
    s: Any,
    kind: WeightKind,
    *,
    scales: np.ndarray,
    norms: np.ndarray,
    for_qkv: Sequence[np.ndarray] | None = None,
    for_inner: Sequence[np.ndarray] | None = None,
) -> DecoderWeights:
    """The blocks of a stack that reads no source, normalised after each sum; without embeddings and without an output.

    ``s``: settings of an encoder or a decoder alone. ``norms``: of :func:`block_norms`. ``for_qkv``, ``for_inner``:
    what the columns of these maps are multiplied with.
    """
    nothing = no_matrices(kind)
    inner, gate, outer = feed_forward_of(blocks, kind, kind, for_inner)
    return DecoderWeights(
        layers=len(blocks),
        heads=s.heads,
        head_width=s.width // s.heads,
        norm_first=False,
        centred=True,
        gated=False,
        with_source=False,
        begin=False,
        end=False,
        activation=activation_code(blocks[0].feed_forward.activation),
        epsilon=s.norm_epsilon,
        embedding_scale=np.float32(1),
        output_scale=np.float32(1),
        position_offset=0,
        position_padding=-1,
        tokens=np.zeros((0, s.width), np.float32),
        positions=np.zeros((0, s.width), np.float32),
        scales=scales,
        distances=np.zeros((s.heads, 0), np.float32),
        edge_norms=norms_of([None, None], s.width),
        norms=norms,
        qkv=matrices_of([block.attention.qkv for block in blocks], kind, columns=for_qkv),
        joined=matrices_of([block.attention.output for block in blocks], kind),
        query=nothing,
        source_joined=nothing,
        inner=inner,
        gate=gate,
        outer=outer,
        logits=nothing,
        last_logits=nothing,
    )
