"""Pieces of tokenizers of different kinds, in a form in which they can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp.errors import UnknownTokenError
from numba_nlp.kernels.segment.character_bpe_memory import UNKNOWN_ID
from numba_nlp.tokenizer import Tokenizer

__all__ = ["piece_texts", "unknown_id"]

_UNKNOWN = 1


def unknown_id(tokenizer: Tokenizer) -> int:
    """Id of text that a tokenizer has no pieces for, -1 where every text has pieces."""
    vocabulary = tokenizer.vocabulary
    metadata: Any = vocabulary.metadata
    for key in ("unknown_token_id", "unknown_id"):
        if key in metadata:
            return int(metadata[key])
    algorithm: str = metadata["algorithm"]
    if algorithm == "wordpiece":
        return int(vocabulary["wordpiece"][0])
    if algorithm == "character_bpe":
        return int(vocabulary["flags"][UNKNOWN_ID])
    found = np.flatnonzero(vocabulary["piece_kinds"] == _UNKNOWN)
    return int(found[0]) if found.size else -1


def piece_texts(tokenizer: Tokenizer) -> dict[int, bytes]:
    """Text of every piece: what its id decodes to in the middle of a text.

    So ``Ġthe`` of GPT-2, ``▁the`` of SentencePiece and ``the`` of BERT are all ``b" the"``, while ``##ing`` is
    ``b"ing"``.

    Parameters
    ----------
    tokenizer : Tokenizer

    Returns
    -------
    dict of int to bytes
        By id; without special and other added tokens, the unknown token, and pieces that decode to nothing.
    """
    left_out = {*tokenizer.special_tokens.values(), unknown_id(tokenizer)}
    texts: dict[int, bytes] = {}
    for number in range(tokenizer.vocab_size):
        if number in left_out:
            continue
        try:
            text = tokenizer.id_to_bytes(number)
        except UnknownTokenError:  # an id that the vocabulary leaves unused
            continue
        if text:
            texts[number] = text
    return texts
