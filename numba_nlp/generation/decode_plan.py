"""Weights of a model as the Numba kernels read them: packed once for each kind, and kept with the model."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Sequence
from threading import Lock
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn

from numba_nlp.generation.balance import channel_scales
from numba_nlp.generation.packed_parts import (
    activation_code,
    array_of,
    block_norms,
    feed_forward_of,
    lone_stack,
    matrices_of,
    no_matrices,
    norms_of,
)
from numba_nlp.generation.packing import WeightKind, pack_matrices
from numba_nlp.generation.weights_seen import WeightsSeen, look_at_weights
from numba_nlp.kernels.step.any_kind import AnyMatrices, of_any_kind
from numba_nlp.kernels.step.decoder_memory import DecoderWeights
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.models.decoder import DecoderModel
from numba_nlp.models.encoder import EncoderModel
from numba_nlp.models.encoder_decoder import EncoderDecoder
from numba_nlp.models.layers.positions import CountedSines, LearnedPositions

__all__ = ["Plan", "Weights", "check_weights", "forget_packed", "has_step", "plan_of"]

Weights = Literal["auto", "float32", "float16", "bfloat16", "int8"]


class Plan(NamedTuple):
    """The packed weights of a model.

    Attributes
    ----------
    kind : {"float32", "float16", "bfloat16", "int8"}
        How matrices are kept.
    decoder : DecoderWeights
        Of a decoder, or of an encoder alone.
    encoder : DecoderWeights or None
        Of the encoder beside a decoder.
    source_maps : AnyMatrices or None
        For each layer of the decoder, keys and values of what the encoder gives.
    """

    kind: WeightKind
    decoder: DecoderWeights
    encoder: DecoderWeights | None
    source_maps: AnyMatrices | None

    @property
    def nbytes(self) -> int:
        """Bytes of all packed matrices."""
        parts: list[Any] = [*self.decoder, self.source_maps, *(self.encoder or ())]
        return sum(array.nbytes for part in parts if isinstance(part, AnyMatrices) for array in part[1:5])


#: By model: what its weights were when they were packed, and their plans by what was asked for.
_plans: weakref.WeakKeyDictionary[nn.Module, tuple[WeightsSeen, dict[Weights | WeightKind, Plan]]] = (
    weakref.WeakKeyDictionary()
)
_lock = Lock()


def has_step(model: Any) -> bool:
    """Whether a model's decoder has a Numba step: all but XLNet, which reads each token by two streams."""
    return isinstance(model, DecoderModel | EncoderDecoder)


def check_weights(weights: Weights) -> None:
    """Refuse a name that is of no kind of weights.

    Parameters
    ----------
    weights : {"auto", "float32", "float16", "bfloat16", "int8"}

    Raises
    ------
    ValueError
        It is none of these.
    """
    if weights not in get_args(Weights):
        raise ValueError(f"`weights` must be one of {', '.join(map(repr, get_args(Weights)))}, got {weights!r}")


def plan_of(model: Any, weights: Weights = "auto") -> Plan:
    """The weights of a model, packed at the first call and again after they have changed.

    Parameters
    ----------
    model : Model
        One that `has_step`, or an encoder.
    weights : {"auto", "float32", "float16", "bfloat16", "int8"}
        How they are kept. "auto": by as few bits as hold all of them exactly, 16 if the checkpoint had such numbers.

    Raises
    ------
    ValueError
        There is no such kind, or a weight is not finite, or too large for it.
    """
    check_weights(weights)
    found = look_at_weights(model)
    with _lock:
        known = _plans.get(model)
        if known is None or not known[0].still_holds(*found):
            known = _plans[model] = (WeightsSeen(*found), {})
        plans = known[1]
        if weights not in plans:
            kind = _fewest_bits(model) if weights == "auto" else weights
            if kind not in plans:
                _refuse_weights(model, kind)
                plans[kind] = _pack(model, kind)
            plans[weights] = plans[kind]
        return plans[weights]


def _refuse_weights(model: Any, kind: WeightKind) -> None:
    """Refuse weights that a kind does not hold.

    What an encoder gives is looked at by those who ask it: in float32 it may be no number.
    """
    if isinstance(model, EncoderModel) and kind == "float32":
        return
    most = 65504.0 if kind == "float16" else torch.finfo(torch.float32).max
    for name, tensor in model.named_parameters():
        largest = float(tensor.detach().abs().max()) if tensor.numel() else 0.0
        if not largest <= most:  # NaN is not either
            found = f"{name} has a weight of magnitude {largest}"
            if math.isfinite(largest):
                raise ValueError(f"{found}, which {kind} does not hold; take other `weights`")
            raise ValueError(f"{found}: the model gives logits that are no numbers; look at its weights")


def forget_packed(model: Any) -> None:
    """Give back the memory of packed weights; the next generation packs them again.

    Parameters
    ----------
    model : Model
    """
    with _lock:
        _plans.pop(model, None)


def _fewest_bits(model: Any) -> WeightKind:
    matrices = [tensor.detach() for tensor in model.parameters() if tensor.ndim == 2 and tensor.numel()]
    for kind, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        # matrix by matrix, the first that is not exact ends it
        if all(bool((matrix.to(dtype).to(matrix.dtype) == matrix).all()) for matrix in matrices):
            return kind  # type: ignore[return-value]
    return "float32"


def _balance(norms: np.ndarray, weights: Sequence[Tensor], kind: WeightKind) -> list[np.ndarray] | None:
    """Divide norms for int8, float32 ``[norms, 2, width]``; what the columns of those that read them get instead."""
    if kind != "int8":
        return None
    pairs = zip(norms, weights, strict=True)
    factors = [channel_scales(norm[0], norm[1], [array_of(weight)]) for norm, weight in pairs]
    norms /= np.stack(factors)[:, None]
    return factors


def _balance_blocks(
    norms: np.ndarray, blocks: Sequence[Any], kind: WeightKind
) -> tuple[list[np.ndarray] | None, list[np.ndarray] | None, list[np.ndarray] | None]:
    """The same for the norms before attention, attention to a source and feed-forward, ``[blocks, 3, 2, width]``.

    Only of blocks that begin with their norms: elsewhere other sums read what a norm gives.
    """
    with_source = [block.source_attention for block in blocks if getattr(block, "source_attention", None) is not None]
    return (
        _balance(norms[:, 0], [block.attention.qkv.weight for block in blocks], kind),
        _balance(norms[:, 1], [each.query.weight for each in with_source], kind) if with_source else None,
        _balance(norms[:, 2], [block.feed_forward.inner.weight for block in blocks], kind),
    )


def _logits(
    weight: Tensor, bias: np.ndarray | None, kind: WeightKind, columns: Sequence[np.ndarray] | None
) -> tuple[AnyMatrices, AnyMatrices]:
    """The output layer, cut where panels are whole, so that logits stand without gaps."""
    matrix, whole = array_of(weight), len(weight) // COLUMNS * COLUMNS
    if columns is not None:
        matrix = matrix * columns[0]
    parts = []
    for rows in (slice(0, whole), slice(whole, None)):
        biases = None if bias is None else [bias[rows]]
        some = pack_matrices([matrix[rows]], biases, kind) if len(matrix[rows]) else None
        parts.append(no_matrices(kind) if some is None else of_any_kind(some, kind))
    return parts[0], parts[1]


def _wider(kind: WeightKind, rms_norm: bool) -> WeightKind:
    """The kind of encoders, and of matrices that read what no norm has made even: with int8 int16 in T5.

    Its sums are not centred and grow from layer to layer, so that a few numbers of a row are far larger than others.
    """
    return "int16" if kind == "int8" and rms_norm else kind


def _pack(model: Any, kind: WeightKind) -> Plan:
    if isinstance(model, DecoderModel):
        return Plan(kind, _decoder(model, kind), None, None)
    if isinstance(model, EncoderModel):
        return Plan(kind, _encoder(model, kind), None, None)
    wider = _wider(kind, model.settings.decoder.rms_norm)
    maps = matrices_of([block.source_attention.kv for block in model.decoder.blocks], wider)
    return Plan(kind, _stack(model, kind, decoder=True), _stack(model, kind, decoder=False), maps)


def _encoder(model: EncoderModel, kind: WeightKind) -> DecoderWeights:
    """Of BERT and its kin; torch embeds the tokens."""
    s, blocks = model.settings, list(model.encoder.blocks)
    scales = np.full(len(blocks), (s.width // s.heads) ** -0.5, np.float32)
    return lone_stack(blocks, s, kind, scales=scales, norms=block_norms(blocks, s.width))


def _decoder(model: DecoderModel, kind: WeightKind) -> DecoderWeights:
    """Of GPT and its kin."""
    decoder, s = model.decoder, model.settings
    blocks = list(decoder.blocks)
    assert model.output is not None
    weight = decoder.tokens.weight if model.output.weight is None else model.output.weight
    bias = None if model.output.bias is None else array_of(model.output.bias)
    edge_norms, norms = norms_of([None, decoder.norm], s.width), block_norms(blocks, s.width)
    end = isinstance(decoder.norm, nn.LayerNorm)
    logits, last_logits = _logits(weight, bias, kind, _balance(edge_norms[1:], [weight], kind) if end else None)
    for_qkv, _, for_inner = _balance_blocks(norms, blocks, kind) if s.norm_first else (None, None, None)
    scales = np.array(s.scales, np.float32)
    stack = lone_stack(blocks, s, kind, scales=scales, norms=norms, for_qkv=for_qkv, for_inner=for_inner)
    return stack._replace(
        norm_first=s.norm_first,
        end=end,
        tokens=array_of(decoder.tokens.weight),
        positions=array_of(decoder.positions.weight),
        edge_norms=edge_norms,
        logits=logits,
        last_logits=last_logits,
    )


def _stack(model: EncoderDecoder, kind: WeightKind, *, decoder: bool) -> DecoderWeights:
    """Of one side of an encoder-decoder."""
    s = model.settings
    stack, shape = (model.decoder, s.decoder) if decoder else (model.encoder, s.encoder)
    assert stack is not None
    blocks = list(stack.blocks)
    wider = _wider(kind, shape.rms_norm)
    if not decoder:
        kind = wider
    edge_norms, norms = norms_of([stack.begin, stack.end], shape.width), block_norms(blocks, shape.width)
    for_qkv, for_query, for_inner = _balance_blocks(norms, blocks, kind) if shape.norm_first else (None, None, None)
    inner, gate, outer = feed_forward_of(blocks, kind, wider, for_inner)
    logits, last_logits = no_matrices(kind), no_matrices(kind)
    # torch embeds the tokens of a source
    tokens, positions, offset, padding = np.zeros((0, shape.width), np.float32), None, 0, -1
    if decoder:
        for_logits = _balance(edge_norms[1:], [_output_weight(model)], kind) if s.norm_end else None
        logits, last_logits = _output(model, kind, for_logits)
        tokens = array_of(_tokens(model).weight)
        positions, offset, padding = _positions(stack.positions)
    return DecoderWeights(
        layers=len(blocks),
        heads=shape.heads,
        head_width=shape.head_width,
        norm_first=shape.norm_first,
        centred=not shape.rms_norm,
        gated=shape.gated,
        with_source=decoder,
        begin=s.norm_begin,
        end=s.norm_end,
        activation=activation_code(blocks[0].feed_forward.activation),
        epsilon=shape.norm_epsilon,
        embedding_scale=np.float32(s.embedding_scale),
        output_scale=np.float32(s.output_scale),
        position_offset=offset,
        position_padding=padding,
        tokens=tokens,
        positions=np.zeros((0, shape.width), np.float32) if positions is None else positions,
        scales=np.full(len(blocks), shape.scale, np.float32),
        distances=_distances(stack.relative, shape.heads, both_sides=not decoder),
        edge_norms=edge_norms,
        norms=norms,
        qkv=matrices_of([block.attention.qkv for block in blocks], wider, columns=for_qkv),
        joined=matrices_of([block.attention.output for block in blocks], wider),
        query=matrices_of([block.source_attention.query for block in blocks if decoder], kind, columns=for_query),
        source_joined=matrices_of([block.source_attention.output for block in blocks if decoder], wider),
        inner=inner,
        gate=gate,
        outer=outer,
        logits=logits,
        last_logits=last_logits,
    )


def _output(
    model: EncoderDecoder, kind: WeightKind, columns: Sequence[np.ndarray] | None
) -> tuple[AnyMatrices, AnyMatrices]:
    assert model.output is not None
    biases = [array_of(bias).reshape(-1) for bias in (model.output.bias, model.logits_bias) if bias is not None]
    return _logits(_output_weight(model), np.sum(biases, axis=0) if biases else None, kind, columns)


def _output_weight(model: EncoderDecoder) -> Tensor:
    assert model.output is not None
    weight: Tensor = _tokens(model).weight if model.output.weight is None else model.output.weight
    return weight


def _tokens(model: EncoderDecoder) -> nn.Embedding:
    return model.tokens if model.decoder_tokens is None else model.decoder_tokens


def _positions(positions: Any) -> tuple[np.ndarray | None, int, int]:
    """Table of positions, its row for the first token, and the token that has none."""
    if positions is None:
        return None, 0, -1
    table = array_of(positions.weight)
    if isinstance(positions, CountedSines):
        return table, positions.padding + 1, positions.padding
    return table, positions.unused if isinstance(positions, LearnedPositions) else 0, -1


def _distances(relative: Any, heads: int, *, both_sides: bool) -> np.ndarray:
    """Numbers of each head by how far behind a key is, or for both sides from the farthest key before on."""
    if relative is None:
        return np.zeros((heads, 0), np.float32)
    buckets = relative.bucket_of if both_sides else relative.bucket_of[: relative.farthest + 1].flip(0)
    return np.ascontiguousarray(array_of(relative.weight)[buckets.cpu().numpy()].T)


def _renew_lock() -> None:
    """In a forked process, where a thread that held it is no more."""
    global _lock  # noqa: PLW0603
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
