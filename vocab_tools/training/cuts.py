"""How text is cut into words before they are counted."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError
from numba_nlp.kernels.training.count_rows import WordRules
from vocab_tools.compiler.bert_characters import bert_characters
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.patterns import choose_pattern, pattern_names
from vocab_tools.formats.character_description import BertOptions

__all__ = ["CUTS", "METASPACE", "UNCASED", "Cut", "choose_cut"]

#: What begins each word of SentencePiece and Metaspace: U+2581.
METASPACE = "\u2581"
#: What ``cut="bert"`` stands for: the options of ``bert-base-uncased``.
UNCASED = BertOptions(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
#: Ways to cut besides the byte-level patterns.
CUTS = ("bert", "metaspace", "none", "sentencepiece", "spaces", "whitespace")


class Cut(NamedTuple):
    """A way to cut.

    Attributes
    ----------
    name : str
        Key of :data:`numba_nlp.kernels.training.count_rows.COUNT_ROWS`.
    rules : WordRules
    strips : bool
        Lines come without their ends.
    prefix : bytes
        What each word has before it.
    is_byte_level : bool
    """

    name: str
    rules: WordRules
    strips: bool
    prefix: bytes
    is_byte_level: bool


def choose_cut(cut: str | BertOptions) -> Cut:
    """Find a way to cut by its name.

    Parameters
    ----------
    cut : str or BertOptions
        As of :func:`vocab_tools.training.counts.count_words`.

    Raises
    ------
    SourceFormatError
        An unknown name.
    """
    if isinstance(cut, BertOptions):
        return Cut("bert", _bert_rules(cut), False, b"", False)
    if cut == "bert":
        return choose_cut(UNCASED)
    if cut in pattern_names():
        return Cut(choose_pattern(cut, "tokenizers").name, _class_rules(), False, b"", True)
    if cut not in CUTS:
        known = ", ".join(map(repr, (*CUTS, *pattern_names())))
        raise SourceFormatError(f"cut={cut!r} is not known; known are {known}, and BertOptions(...)")
    prefix = METASPACE.encode() if cut in ("metaspace", "sentencepiece") else b""
    return Cut(cut, _NO_RULES, cut in ("none", "sentencepiece"), prefix, False)


def _frozen_empty(dtype: type[np.generic]) -> NDArray[Any]:
    empty: NDArray[Any] = np.empty(0, dtype)
    empty.flags.writeable = False
    return empty


_NO_RULES = WordRules(
    _frozen_empty(np.uint16),
    _frozen_empty(np.uint8),
    _frozen_empty(np.uint16),
    _frozen_empty(np.uint32),
    _frozen_empty(np.uint32),
    _frozen_empty(np.uint8),
)


@lru_cache(maxsize=1)
def _class_rules() -> WordRules:
    classes = class_tables("tokenizers")
    return _NO_RULES._replace(class_index=classes.class_index, class_blocks=classes.class_blocks)


@lru_cache(maxsize=4)
def _bert_rules(options: BertOptions) -> WordRules:
    made = bert_characters(
        clean_text=options.clean_text,
        handle_chinese_chars=options.handle_chinese_chars,
        strip_accents=options.strip_accents,
        lowercase=options.lowercase,
    )
    return _NO_RULES._replace(**made._asdict())
