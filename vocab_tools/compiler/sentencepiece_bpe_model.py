"""The tables of merging of a SentencePiece model of type bpe, and how its texts may be cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.sentencepiece_bpe_memory import PREFIX_SYMBOL
from numba_nlp.kernels.segment.unigram_chunks import SPLIT_BEFORE_EACH, SPLIT_BEFORE_RUNS
from vocab_tools.compiler.sentencepiece_bpe import ESCAPED_SPACE, build_scored_arrays
from vocab_tools.compiler.unigram_pieces import pieces_split_at_spaces
from vocab_tools.formats.description import KIND_NORMAL, KIND_USER_DEFINED
from vocab_tools.formats.sentencepiece_model import KIND_UNUSED, SentencePieceModel

__all__ = ["bpe_arrays"]


def bpe_arrays(model: SentencePieceModel, *, has_spaces: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile the pieces of a model.

    Parameters
    ----------
    model : SentencePieceModel
        Of type bpe.
    has_spaces : bool
        Whether there are bytes that the normaliser makes a space whatever stands around them.

    Returns
    -------
    arrays : dict of str to ndarray
        The fields of ``SentencePieceBpeTables``.
    metadata : dict
        ``pattern``, how raw text is cut (:mod:`numba_nlp.kernels.segment.sentencepiece_bpe_rows`), and
        ``cuts_before_spaces``, whether no piece reaches over the beginning of a word.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`vocab_tools.compiler.sentencepiece_bpe.build_scored_arrays`.
    """
    spec = model.normalizer
    arrays = build_scored_arrays(
        [piece.decode() for piece in model.pieces],
        model.scores,
        model.kinds,
        byte_fallback=model.byte_fallback,
        escape_whitespaces=spec.escape_whitespaces,
        add_dummy_prefix=spec.add_dummy_prefix,
    )
    cuts = _starts_at_spaces(model, arrays)
    pattern = "whole"
    if spec.escape_whitespaces and not spec.whitespace_as_suffix:
        if spec.charsmap is None and not spec.remove_extra_whitespaces:
            knows_space = _symbol(arrays, ESCAPED_SPACE) == _symbol(arrays, " ")
            if knows_space and (not spec.add_dummy_prefix or arrays["flags"][PREFIX_SYMBOL] >= 0):
                pattern = "bridged"
        elif spec.remove_extra_whitespaces and has_spaces and cuts:
            pattern = "spaced"
    return arrays, {"pattern": pattern, "cuts_before_spaces": cuts}


def _symbol(arrays: dict[str, NDArray[Any]], character: str) -> int:
    code_point = ord(character)
    block = int(arrays["character_index"][code_point >> 7])
    return int(arrays["character_symbols"][block << 7 | (code_point & 127)])


def _starts_at_spaces(model: SentencePieceModel, arrays: dict[str, NDArray[Any]]) -> bool:
    """Whether no piece reaches over the beginning of a word, and the space is a piece, so never unknown."""
    if arrays["symbol_ids"][_symbol(arrays, ESCAPED_SPACE)] < 0:
        return False
    in_text = np.flatnonzero(np.isin(model.kinds, (KIND_NORMAL, KIND_USER_DEFINED, KIND_UNUSED)))
    split = pieces_split_at_spaces(model.pieces[i] for i in in_text.tolist())
    return split in (SPLIT_BEFORE_EACH, SPLIT_BEFORE_RUNS)
