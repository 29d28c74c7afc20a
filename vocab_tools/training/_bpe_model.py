"""A trained BPE vocabulary as a SentencePiece model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED
from vocab_tools.formats.sentencepiece_model import (
    KIND_UNKNOWN,
    UNK_SURFACE,
    NormalizerSpec,
    SentencePieceModel,
    parse,
)
from vocab_tools.formats.sentencepiece_writer import serialize
from vocab_tools.formats.staged_json import BYTE_PIECES

__all__ = ["bpe_model_of"]


def bpe_model_of(
    name: str,
    vocabulary: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    *,
    unknown: str,
    control: Sequence[str],
    user_defined: Sequence[str],
    byte_fallback: bool,
) -> SentencePieceModel:
    """Pieces with scores by the order of merges, characters behind them, as sentencepiece's own trainer scores.

    Parameters
    ----------
    name : str
    vocabulary : Mapping of str to int
    merges : sequence of (str, str)
        In order of rank.
    unknown : str
    control, user_defined : sequence of str
        The unknown token may be among the control ones.
    byte_fallback : bool

    Returns
    -------
    SentencePieceModel
        Without rules of normalisation: text gets a space in front, and spaces become U+2581.
    """
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    made = {left + right: -float(rank) for rank, (left, right) in reversed(list(enumerate(merges)))}
    kind_of = dict.fromkeys(user_defined, KIND_USER_DEFINED) | dict.fromkeys(control, KIND_CONTROL)
    if byte_fallback:
        kind_of |= dict.fromkeys(BYTE_PIECES, KIND_BYTE)
    kind_of[unknown] = KIND_UNKNOWN
    scores: list[float] = []
    behind = len(merges)
    for piece in pieces:
        if kind_of.get(piece, KIND_NORMAL) != KIND_NORMAL:
            scores.append(0.0)
        elif piece in made:
            scores.append(made[piece])
        else:
            scores.append(-float(behind))
            behind += 1

    def id_of(piece: str) -> int:
        return vocabulary[piece] if kind_of.get(piece) == KIND_CONTROL else -1

    model = SentencePieceModel(
        name=name,
        source_digest="",
        model_type="bpe",
        pieces=tuple(piece.encode() for piece in pieces),
        scores=np.array(scores, np.float32),
        kinds=np.array([kind_of.get(piece, KIND_NORMAL) for piece in pieces], np.uint8),
        byte_fallback=byte_fallback,
        unk_id=vocabulary[unknown],
        bos_id=id_of("<s>"),
        eos_id=id_of("</s>"),
        pad_id=id_of("<pad>"),
        unk_piece=unknown,
        bos_piece="<s>",
        eos_piece="</s>",
        pad_piece="<pad>",
        unk_surface=UNK_SURFACE,
        normalizer=NormalizerSpec("identity", None, True, False, True, False),
        denormalizer=None,
        self_test=(),
    )
    # through the reader: its checks and its digest
    return parse(serialize(model), name=name)
