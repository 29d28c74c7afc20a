"""Encoders: one class for each algorithm that a vocabulary can name."""

from __future__ import annotations

import importlib

from numba_nlp._encoders.cached import CachedEncoder
from numba_nlp._fastcall import Watched
from numba_nlp.vocabulary import Vocabulary

__all__ = ["ENCODERS", "new_encoder"]

#: Module and class of the encoder of each algorithm; imported when a vocabulary asks for it.
ENCODERS = {
    "byte_bpe": ("byte_bpe", "ByteBpeEncoder"),
    "wordpiece": ("wordpiece", "WordPieceEncoder"),
    "unigram": ("sentencepiece", "SentencePieceEncoder"),
    "sentencepiece_word": ("sentencepiece", "SentencePieceEncoder"),
    "sentencepiece_char": ("sentencepiece", "SentencePieceEncoder"),
    "sentencepiece_bpe": ("sentencepiece_bpe", "SentencePieceBpeEncoder"),
    "character_bpe": ("character_bpe", "CharacterBpeEncoder"),
    "staged_bpe": ("staged", "StagedBpeEncoder"),
    "staged_unigram": ("staged", "StagedUnigramEncoder"),
    "staged_wordpiece": ("staged_word_models", "StagedWordPieceEncoder"),
    "staged_marked_bpe": ("staged_word_models", "StagedMarkedBpeEncoder"),
}


def new_encoder(vocabulary: Vocabulary, watched: Watched) -> CachedEncoder:
    """The encoder of a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
        Special tokens, and what else leaves single texts to the general way.
    """
    module, name = ENCODERS[vocabulary.metadata["algorithm"]]
    encoder: CachedEncoder = getattr(importlib.import_module(f"numba_nlp._encoders.{module}"), name)(
        vocabulary, watched
    )
    return encoder
