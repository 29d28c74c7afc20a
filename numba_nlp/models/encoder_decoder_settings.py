"""Settings of encoder-decoders, which say how the families differ.

=================  ==============  ==============  ===============  ===============  ===============  ===============
..                 BART            Marian          Pegasus          mBART            M2M100 (NLLB)    T5
=================  ==============  ==============  ===============  ===============  ===============  ===============
positions          learned, from   sines           sines            learned, from    sines of         relative, a
                   row 2                                            row 2            fairseq, from    bias of the
                                                                                     the pad id       scores
norms              after sums      after sums      before layers    before layers    before layers    before layers,
                                                                                                      mean square
norm of embedding  yes             no              no               yes              no               no
norm at the end    no              no              yes              yes              yes              yes
linear bias        yes             yes             yes              yes              yes              no
scaled products    yes             yes             yes              yes              yes              no
feed-forward       gelu            swish           relu             gelu             relu             relu, or gated
                                                                                                      gelu (v1.1)
embedding scale    by config       by config       by config        by config        by config        no
bias of logits     yes             yes             yes              yes              no               no
embeddings         one             one, or one a   one              one              one              one
                                   side
output             tied            tied to the     tied             tied             tied             tied, scaled;
                                   decoder's                                                          or its own
first token        eos             pad             pad              language         eos              pad
=================  ==============  ==============  ===============  ===============  ===============  ===============
"""

from __future__ import annotations

from dataclasses import dataclass

from numba_nlp.models.layers.source_block import BlockShape

__all__ = ["EncoderDecoderSettings"]


@dataclass(frozen=True)
class EncoderDecoderSettings:
    """Settings of an encoder-decoder.

    Attributes
    ----------
    vocabulary, decoder_vocabulary : int
        Numbers of tokens that have embeddings, on each side.
    shared : bool
        Whether both sides have the same embeddings.
    positions : int or None
        Number of positions; None: any, as positions are relative.
    encoder_blocks, decoder_blocks : int
        Numbers of layers.
    encoder, decoder : BlockShape
        Of their layers.
    position_kind : str
        "learned", "sines" or "counted_sines" where there are positions, "relative" where there are buckets.
    norm_begin, norm_end : bool
        Whether embeddings are normalised, and what comes out of the last layer.
    embedding_scale, output_scale : float
        Factor of the embeddings, and of what goes into the output layer.
    tied : bool
        Whether the output layer has the matrix of the decoder's embeddings.
    logits_bias : bool
        Whether there is one.
    padding_id, start_id : int or None
        Id of the padding token, and of that with which the decoder begins.
    end_ids : tuple of int
        Tokens that end a row; a classifier of rows looks at the last one.
    shifting_heads : tuple of str
        Heads whose decoder reads the source, shifted by one token, when it is given nothing.
    start_is_last : bool
        Whether such a row begins with its last token (mBART, where it is the language), not with ``start_id``.
    labels : int
        Of classifiers.
    encoder_only : bool
        Whether there is no decoder.
    buckets, farthest : int
        Of relative positions; see ``distance_buckets``.
    """

    vocabulary: int
    decoder_vocabulary: int
    shared: bool
    positions: int | None
    encoder_blocks: int
    decoder_blocks: int
    encoder: BlockShape
    decoder: BlockShape
    position_kind: str
    norm_begin: bool
    norm_end: bool
    embedding_scale: float
    output_scale: float
    tied: bool
    logits_bias: bool
    padding_id: int | None
    start_id: int | None
    end_ids: tuple[int, ...]
    shifting_heads: tuple[str, ...]
    start_is_last: bool
    labels: int
    encoder_only: bool = False
    buckets: int = 0
    farthest: int = 0
