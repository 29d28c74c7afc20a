"""Weights of an encoder alone as the Numba kernels read them."""

from __future__ import annotations

import numpy as np

from numba_nlp.generation.packed_parts import activation_code, feed_forward_of, matrices_of, no_matrices, norms_of
from numba_nlp.generation.packing import WeightKind
from numba_nlp.kernels.step.decoder_memory import DecoderWeights
from numba_nlp.models.encoder import EncoderModel

__all__ = ["encoder_weights"]


def encoder_weights(model: EncoderModel, kind: WeightKind) -> DecoderWeights:
    """The blocks of BERT and its kin; torch embeds the tokens.

    Parameters
    ----------
    model : EncoderModel
    kind : {"float32", "float16", "bfloat16", "int8"}
        How matrices are kept.
    """
    s, blocks, nothing = model.settings, list(model.encoder.blocks), no_matrices(kind)
    size = s.width // s.heads
    inner, gate, outer = feed_forward_of(blocks, kind, kind, None)
    norms = norms_of(
        [norm for block in blocks for norm in (block.attention_norm, None, block.feed_forward_norm)], s.width
    )
    return DecoderWeights(
        layers=len(blocks),
        heads=s.heads,
        head_width=size,
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
        scales=np.full(len(blocks), size**-0.5, np.float32),
        distances=np.zeros((s.heads, 0), np.float32),
        edge_norms=norms_of([None, None], s.width),
        norms=norms.reshape(-1, 3, 2, s.width),
        qkv=matrices_of([block.attention.qkv for block in blocks], kind),
        joined=matrices_of([block.attention.output for block in blocks], kind),
        query=nothing,
        source_joined=nothing,
        inner=inner,
        gate=gate,
        outer=outer,
        logits=nothing,
        last_logits=nothing,
    )
