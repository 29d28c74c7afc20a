"""Schemas of WordPiece, and of BPE with marks, behind general stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp._schemas.character_bpe import SYMBOL_ARRAYS, SYMBOL_LIMITS, SYMBOL_SIZES, check_symbols
from numba_nlp._schemas.fields import ArrayField, Arrays, MetadataField, Schema, fail
from numba_nlp._schemas.normalizer import NORMALIZER_ARRAYS
from numba_nlp._schemas.staged import PIECES, STAGED_LIMITS, STAGED_METADATA, STAGED_SIZES, STAGES, WORDS, check_stages
from numba_nlp._schemas.wordpiece import check_model

__all__ = ["STAGED_MARKED_BPE", "STAGED_WORDPIECE"]


def _check_wordpiece(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    check_stages(file, arrays, metadata)
    check_model(file, arrays, sizes["ids"])
    _check_unknown(file, metadata, int(arrays["wordpiece"][0]))


def _check_marked(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    check_stages(file, arrays, metadata)
    check_symbols(file, arrays, "whole", sizes)
    _check_unknown(file, metadata, int(arrays["flags"][0]))


def _check_unknown(file: str, metadata: Mapping[str, Any], unknown: int) -> None:
    if metadata["unknown_id"] != unknown:
        fail(file, f"metadata `unknown_id` is {metadata['unknown_id']}, but the model has {unknown} for unknown text")


STAGED_WORDPIECE = Schema(
    arrays=(
        *PIECES,
        ArrayField("trie_units", "uint32"),
        ArrayField("wordpiece", "int64", length=3),
        *STAGES,
    ),
    metadata=(*STAGED_METADATA, MetadataField("prefix", str)),
    sizes=STAGED_SIZES,
    limits=STAGED_LIMITS,
    size="ids",
    check=_check_wordpiece,
    groups=(NORMALIZER_ARRAYS, WORDS),
)

STAGED_MARKED_BPE = Schema(
    arrays=(*PIECES, *SYMBOL_ARRAYS, *STAGES),
    metadata=(
        *STAGED_METADATA,
        MetadataField("ignore_merges", bool),
        MetadataField("prefix", str),
        MetadataField("suffix", str),
    ),
    sizes={**STAGED_SIZES, **SYMBOL_SIZES},
    limits={**STAGED_LIMITS, **SYMBOL_LIMITS},
    size="ids",
    check=_check_marked,
    groups=(NORMALIZER_ARRAYS, WORDS),
)
