"""SentencePiece models, as the classes of transformers look at them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from vocab_tools.checkpoints.settings import AddedTokenOptions
from vocab_tools.formats import sentencepiece_model
from vocab_tools.formats.reading import read_source

__all__ = ["NORMAL", "USER_DEFINED", "ScoredVocab", "SpmFile", "read_spm"]

#: Types of pieces that matter here, by their number in the file.
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
_UNIGRAM = 1

ScoredVocab: TypeAlias = list[tuple[str, float]]


@dataclass(frozen=True)
class SpmFile:
    """What a SentencePiece model says, as far as the classes of transformers look at it.

    Attributes
    ----------
    path : Path
    vocab : list of (str, float)
        Pieces and scores by id.
    types : tuple of int
        By id: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
    is_unigram : bool
    unk_id, bos_id, eos_id : int
        As the training command asked for them, whatever the pieces say; -1 for none.
    unk_piece, bos_piece, eos_piece : str
    byte_fallback : bool
    charsmap : bytes or None
    add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces : bool
    """

    path: Path
    vocab: ScoredVocab = field(repr=False)
    types: tuple[int, ...] = field(repr=False)
    is_unigram: bool
    unk_id: int
    bos_id: int
    eos_id: int
    unk_piece: str
    bos_piece: str
    eos_piece: str
    byte_fallback: bool
    charsmap: bytes | None = field(repr=False)
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool

    def added_tokens(self) -> list[AddedTokenOptions]:
        """Control pieces, which are special tokens, and user-defined ones, which are not."""
        return [
            AddedTokenOptions(piece, normalized=False, special=kind == CONTROL)
            for (piece, _), kind in zip(self.vocab, self.types, strict=True)
            if kind in (CONTROL, USER_DEFINED)
        ]


def read_spm(path: Path) -> SpmFile:
    """Read and check a SentencePiece model.

    Raises
    ------
    SourceFormatError
        As :func:`vocab_tools.formats.sentencepiece_model.parse`.
    OSError
    """
    content = read_source(path)
    sentencepiece_model.parse(content, name=path.stem, where=path)
    model = sentencepiece_model.message_of(content, path)
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    return SpmFile(
        path=path,
        vocab=[(piece.piece.decode(), piece.score) for piece in model.pieces],
        types=tuple(piece.type for piece in model.pieces),
        is_unigram=trainer.model_type == _UNIGRAM,
        unk_id=trainer.unk_id,
        bos_id=trainer.bos_id,
        eos_id=trainer.eos_id,
        unk_piece=trainer.unk_piece.decode(),
        bos_piece=trainer.bos_piece.decode(),
        eos_piece=trainer.eos_piece.decode(),
        byte_fallback=trainer.byte_fallback,
        charsmap=normalizer.precompiled_charsmap or None,
        add_dummy_prefix=normalizer.add_dummy_prefix,
        remove_extra_whitespaces=normalizer.remove_extra_whitespaces,
        escape_whitespaces=normalizer.escape_whitespaces,
    )
