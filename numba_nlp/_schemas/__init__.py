"""What a compiled vocabulary must hold: one declarative schema per algorithm.

The checks are those that keep a kernel inside its arrays and let every probe end, so they also run for files that
were loaded with ``verify=False``. ``docs/data_contracts.md`` is the prose form of the declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp._schemas.byte_bpe import BYTE_BPE
from numba_nlp._schemas.character_bpe import CHARACTER_BPE
from numba_nlp._schemas.fields import COMMON_METADATA, MetadataField, Schema, check_metadata_field
from numba_nlp._schemas.sentencepiece import SENTENCEPIECE
from numba_nlp._schemas.sentencepiece_bpe import SENTENCEPIECE_BPE
from numba_nlp._schemas.staged import STAGED_BPE, STAGED_UNIGRAM
from numba_nlp._schemas.staged_words import STAGED_MARKED_BPE, STAGED_WORDPIECE
from numba_nlp._schemas.wordpiece import WORDPIECE

__all__ = ["SCHEMAS", "schema_of"]

#: The schema of every algorithm; a new algorithm adds its own here.
SCHEMAS: dict[str, Schema] = {
    "byte_bpe": BYTE_BPE,
    "wordpiece": WORDPIECE,
    "unigram": SENTENCEPIECE,
    "sentencepiece_word": SENTENCEPIECE,
    "sentencepiece_char": SENTENCEPIECE,
    "sentencepiece_bpe": SENTENCEPIECE_BPE,
    "character_bpe": CHARACTER_BPE,
    "staged_bpe": STAGED_BPE,
    "staged_unigram": STAGED_UNIGRAM,
    "staged_wordpiece": STAGED_WORDPIECE,
    "staged_marked_bpe": STAGED_MARKED_BPE,
}


def schema_of(file: str, metadata: Mapping[str, Any]) -> Schema:
    """Schema that the metadata asks for, after checking version, algorithm and every required entry.

    Raises
    ------
    VocabularyFormatError
        An entry is missing, has the wrong type, or a value that this version does not know.
    """
    check_metadata_field(file, metadata, COMMON_METADATA[0])
    check_metadata_field(file, metadata, MetadataField("algorithm", str, tuple(SCHEMAS)))
    schema = SCHEMAS[metadata["algorithm"]]
    for field in schema.metadata:
        check_metadata_field(file, metadata, field)
    return schema
