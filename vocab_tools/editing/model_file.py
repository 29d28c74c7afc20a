"""Changing SentencePiece ``.model`` files; everything that is not about the pieces stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError
from vocab_tools.editing.editable import (
    NO_PARTS,
    Editable,
    Edited,
    NewToken,
    last_merge,
    renumbering,
)
from vocab_tools.formats.description import KIND_NORMAL, KIND_USER_DEFINED
from vocab_tools.formats.sentencepiece_model import KIND_UNUSED, SentencePieceModel, message_of

__all__ = ["editable_model"]

_SPACE = "\u2581"
_CONTROL_TYPE, _USER_DEFINED_TYPE = 3, 4


def editable_model(model: SentencePieceModel, content: bytes, where: str) -> Editable:
    """A model for changing.

    Parameters
    ----------
    model : SentencePieceModel
    content : bytes
        Its file.
    where : str
        What errors call it.

    Returns
    -------
    Editable
        In a Unigram model the lowest and the highest scores stay: those of unknown text and of user-defined pieces
        are computed from them.
    """
    pieces = [piece.decode() for piece in model.pieces]
    normal = model.kinds == KIND_NORMAL
    droppable = normal & np.array([len(piece) > 1 for piece in pieces])
    if model.model_type == "unigram" and normal.any():
        numbers = np.flatnonzero(normal)
        droppable[numbers[[np.argmin(model.scores[numbers]), np.argmax(model.scores[numbers])]]] = False
    parts = np.full((len(pieces), 2), NO_PARTS, np.int32)
    if model.model_type == "bpe":
        parts = _parts(model, pieces)
    return Editable(
        present=np.ones(len(pieces), np.bool_),
        droppable=droppable,
        parts=parts,
        order=model.scores.astype(np.float64),
        cut=lambda kept: Edited({"": _cut(content, kept, where)}),
        extend=lambda tokens: _extend(content, pieces, tokens, where),
    )


def _parts(model: SentencePieceModel, pieces: Sequence[str]) -> NDArray[np.int32]:
    """What each piece of a BPE model is merged of: the highest score first, the leftmost among equals."""
    mergeable = np.isin(model.kinds, (KIND_NORMAL, KIND_USER_DEFINED, KIND_UNUSED))
    ids = {pieces[i]: i for i in np.flatnonzero(mergeable).tolist()}
    ranks = {piece: -float(model.scores[i]) for piece, i in ids.items()}
    parts: NDArray[np.int32] = np.full((len(pieces), 2), NO_PARTS, np.int32)
    for piece, i in ids.items():
        found = last_merge(piece, lambda left, right: ranks.get(left + right)) if len(piece) > 1 else None
        if found is not None:
            # a character without a piece of its own merges all the same
            parts[i] = [ids.get(part, NO_PARTS) for part in found]
    return parts


def _cut(content: bytes, kept: NDArray[np.int64], where: str) -> bytes:
    model = message_of(content, where)
    new = renumbering(kept, len(model.pieces)).tolist()
    staying = [model.pieces[i] for i in kept.tolist()]
    copies = type(model)()
    copies.pieces.extend(staying)
    del model.pieces[:]
    model.pieces.extend(copies.pieces)
    trainer = model.trainer_spec
    for key in ("unk_id", "bos_id", "eos_id"):
        number = getattr(trainer, key)
        if 0 <= number < len(new):
            setattr(trainer, key, new[number])
    # samples state pieces that may be gone
    model.ClearField("self_test_data")
    made: bytes = model.SerializeToString(deterministic=True)
    return made


def _extend(
    content: bytes, pieces: Sequence[str], tokens: Sequence[NewToken], where: str
) -> tuple[Edited, dict[str, int]]:
    model = message_of(content, where)
    taken = {piece: i for i, piece in enumerate(pieces)}
    ids: dict[str, int] = {}
    for token in tokens:
        piece = token.content.replace(" ", _SPACE)
        if piece in taken:
            raise SourceFormatError(
                f"{where}: the token {token.content!r} is there already, with the id {taken[piece]}"
            )
        taken[piece] = ids[token.content] = len(taken)
        entry = model.pieces.add()
        entry.piece = piece.encode()
        entry.score = 0.0
        entry.type = _CONTROL_TYPE if token.special else _USER_DEFINED_TYPE
    # samples may hold the new pieces as plain text
    model.ClearField("self_test_data")
    return Edited({"": model.SerializeToString(deterministic=True)}), ids
