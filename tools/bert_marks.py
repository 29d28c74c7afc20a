"""Marks that accent stripping of BERT's normaliser leaves, and that it may put into another order.

Where it does, tokenizers gives a character the place of another one, so that its spans are not to be compared with;
``tests/reference_parity/test_wordpiece_parity.py`` shows one.
"""

from __future__ import annotations

import numpy as np

from numba_nlp.kernels.segment.normalize_bert import LETTER, SEVERAL
from vocab_tools.compiler.bert_characters import BertCharacters, bert_characters

__all__ = ["kept_marks", "units_of_all"]


def units_of_all(characters: BertCharacters) -> np.ndarray:
    """Unit of every code point."""
    return characters.normal_blocks.reshape(-1, 128)[characters.normal_index].reshape(-1)


def kept_marks() -> frozenset[str]:
    """Characters that are, or become, marks that stay when accents are stripped."""
    characters = bert_characters(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    units = units_of_all(characters)
    marks = set(np.flatnonzero((units & 7 == LETTER) & (units >> 24 != 0)).tolist())
    for point in np.flatnonzero(units & 7 == SEVERAL).tolist():
        first = int(units[point] >> 3 & 0x1FFFFF)
        if (characters.normal_several[first : first + int(units[point] >> 24)] >> 24 != 0).any():
            marks.add(point)
    return frozenset(map(chr, marks))
