"""Decoders: one class for each algorithm that a vocabulary can name."""

from __future__ import annotations

import importlib

from numba_nlp._decoders.decoder import Decoder
from numba_nlp.vocabulary import Vocabulary

__all__ = ["DECODERS", "new_decoder"]

#: Module and class of the decoder of each algorithm; imported when a vocabulary asks for it.
DECODERS = {
    "byte_bpe": ("byte_bpe", "ByteBpeDecoder"),
    "wordpiece": ("wordpiece", "WordPieceDecoder"),
    "unigram": ("sentencepiece", "SentencePieceDecoder"),
    "sentencepiece_word": ("sentencepiece", "SentencePieceDecoder"),
    "sentencepiece_char": ("sentencepiece", "SentencePieceDecoder"),
    "sentencepiece_bpe": ("sentencepiece", "SentencePieceDecoder"),
    "character_bpe": ("character_bpe", "CharacterBpeDecoder"),
    "staged_bpe": ("staged", "StagedDecoder"),
    "staged_unigram": ("staged", "StagedDecoder"),
    "staged_wordpiece": ("staged", "StagedDecoder"),
    "staged_marked_bpe": ("staged", "StagedDecoder"),
}


def new_decoder(vocabulary: Vocabulary) -> Decoder:
    """The decoder of a vocabulary."""
    module, name = DECODERS[vocabulary.metadata["algorithm"]]
    if "piece_ids" in vocabulary:
        module, name = "renumbered", "RenumberedDecoder"
    decoder: Decoder = getattr(importlib.import_module(f"numba_nlp._decoders.{module}"), name)(vocabulary)
    return decoder
