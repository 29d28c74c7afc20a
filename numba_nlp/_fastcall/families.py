"""The families of tokenizers that encode by address."""

from __future__ import annotations

import importlib
from functools import cache

from numba_nlp._fastcall.control import Family

__all__ = [
    "byte_bpe",
    "character_bpe",
    "make_all",
    "sentencepiece",
    "sentencepiece_bpe",
    "staged_bpe",
    "staged_marked_bpe",
    "staged_unigram",
    "staged_wordpiece",
    "staged_words",
    "wordpiece",
]


@cache
def byte_bpe() -> Family:
    """Byte-level BPE."""
    from numba_nlp.kernels.segment.bpe import FILLS, encode_unseen
    from numba_nlp.kernels.segment.bpe_memory import ByteBpeTables, Scratch

    return Family("byte_bpe", ByteBpeTables, Scratch, encode_unseen, FILLS)


@cache
def sentencepiece() -> Family:
    """SentencePiece's Unigram, word and character models."""
    from numba_nlp.kernels.segment.fill_spaced import begin_row
    from numba_nlp.kernels.segment.sentencepiece_unigram import FILLS, encode_unseen
    from numba_nlp.kernels.segment.sentencepiece_unigram_memory import SentencePieceScratch, SentencePieceTables
    from numba_nlp.kernels.segment.unigram_settling import settle_function

    hooks = {"spaced": {"begin_row": begin_row, "settle_function": settle_function}}
    return Family("sentencepiece", SentencePieceTables, SentencePieceScratch, encode_unseen, FILLS, hooks)


@cache
def sentencepiece_bpe() -> Family:
    """SentencePiece's BPE models."""
    from numba_nlp.kernels.segment.sentencepiece_bpe_rows import FILLS, HOOKS, encode_unseen
    from numba_nlp.kernels.segment.sentencepiece_bpe_rows_memory import (
        SentencePieceBpeRowScratch,
        SentencePieceBpeRowTables,
    )

    return Family(
        "sentencepiece_bpe", SentencePieceBpeRowTables, SentencePieceBpeRowScratch, encode_unseen, FILLS, HOOKS
    )


@cache
def character_bpe() -> Family:
    """Character BPE."""
    from numba_nlp.kernels.segment.character_bpe import FILLS, encode_unseen
    from numba_nlp.kernels.segment.character_bpe_memory import CharacterBpeScratch, CharacterBpeTables

    return Family("character_bpe", CharacterBpeTables, CharacterBpeScratch, encode_unseen, FILLS)


@cache
def wordpiece() -> Family:
    """WordPiece."""
    from numba_nlp.kernels.segment.window_words import fill_chunks
    from numba_nlp.kernels.segment.wordpiece import encode_unseen
    from numba_nlp.kernels.segment.wordpiece_memory import WordPieceScratch, WordPieceTables

    return Family("wordpiece", WordPieceTables, WordPieceScratch, encode_unseen, {"words": fill_chunks})


@cache
def staged_unigram() -> Family:
    """Unigram behind general stages."""
    from numba_nlp.kernels.segment.staged_memory import StagedUnigramScratch, StagedUnigramTables
    from numba_nlp.kernels.segment.staged_models import (
        UNIGRAM_FILLS,
        encode_unseen_staged_unigram,
        segment_unigram,
        solve_unigram,
    )

    return Family(
        "staged_unigram", StagedUnigramTables, StagedUnigramScratch, encode_unseen_staged_unigram, UNIGRAM_FILLS,
        segment=segment_unigram, solve=solve_unigram,
    )  # fmt: skip


@cache
def staged_bpe() -> Family:
    """BPE over characters behind general stages."""
    from numba_nlp.kernels.segment.staged_memory import StagedBpeScratch, StagedBpeTables
    from numba_nlp.kernels.segment.staged_models import BPE_FILLS, encode_unseen_staged_bpe, segment_bpe, solve_bpe

    return Family(
        "staged_bpe",
        StagedBpeTables,
        StagedBpeScratch,
        encode_unseen_staged_bpe,
        BPE_FILLS,
        segment=segment_bpe,
        solve=solve_bpe,
    )


@cache
def staged_wordpiece() -> Family:
    """WordPiece behind general stages."""
    from numba_nlp.kernels.segment.staged_word_memory import StagedWordPieceScratch, StagedWordPieceTables
    from numba_nlp.kernels.segment.staged_word_models import (
        FILLS,
        encode_unseen_staged_wordpiece,
        segment_wordpiece,
        solve_wordpiece,
    )

    return Family(
        "staged_wordpiece", StagedWordPieceTables, StagedWordPieceScratch, encode_unseen_staged_wordpiece, FILLS,
        segment=segment_wordpiece, solve=solve_wordpiece,
    )  # fmt: skip


@cache
def staged_marked_bpe() -> Family:
    """BPE with marks behind general stages."""
    from numba_nlp.kernels.segment.staged_word_memory import StagedMarkedScratch, StagedMarkedTables
    from numba_nlp.kernels.segment.staged_word_models import (
        FILLS,
        encode_unseen_staged_marked,
        segment_marked,
        solve_marked,
    )

    return Family(
        "staged_marked_bpe", StagedMarkedTables, StagedMarkedScratch, encode_unseen_staged_marked, FILLS,
        segment=segment_marked, solve=solve_marked,
    )  # fmt: skip


@cache
def staged_words() -> Family:
    """Words of raw text behind general stages."""
    from numba_nlp._fastcall.words import encode_unseen_word
    from numba_nlp.kernels.segment.row_firsts import FIRSTS
    from numba_nlp.kernels.segment.staged_words import WordScratch, WordTables, fill_words

    return Family("staged_words", WordTables, WordScratch, encode_unseen_word, {"words": fill_words}, {"words": FIRSTS})


def make_all() -> None:
    """Make the C functions of all families known to :func:`numba_nlp.warmup`; they compile when first used."""
    from numba_nlp import _fastcall

    if _fastcall.AVAILABLE:
        # what comes before the model in some tokenizers
        importlib.import_module("numba_nlp._fastcall.texts")
        importlib.import_module("numba_nlp._fastcall.stages").make_functions()
        byte_bpe()
        sentencepiece()
        sentencepiece_bpe()
        character_bpe()
        wordpiece()
        staged_unigram()
        staged_bpe()
        staged_wordpiece()
        staged_marked_bpe()
        staged_words()
