"""Pieces of tokenizers of different kinds, in a form in which they can be compared."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from numba_nlp.errors import UnknownTokenError
from numba_nlp.kernels.segment.character_bpe_memory import UNKNOWN_ID
from numba_nlp.tokenizer import Tokenizer

__all__ = ["piece_texts", "unknown_id"]

_UNKNOWN = 1
_SINGLE_BYTE = 5
_BYTE = re.compile("<0x([0-9A-F]{2})>")


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
    """Text of every piece: what its id decodes to between two others.

    So ``Ġthe`` of GPT-2, ``▁the`` of SentencePiece and ``the`` of BERT are all ``b" the"``, while ``##ing`` is
    ``b"ing"``, and ``the</w>`` is ``b"the "``.

    Parameters
    ----------
    tokenizer : Tokenizer

    Returns
    -------
    dict of int to bytes
        By id; without special and other added tokens, the unknown token, and pieces that decode to nothing.
    """
    left_out = {*tokenizer.special_tokens.values(), unknown_id(tokenizer)}
    around = _neighbour(tokenizer, left_out)
    texts: dict[int, bytes] = {}
    for number in range(tokenizer.vocab_size):
        if number in left_out:
            continue
        try:
            text = _between(tokenizer, number, around)
        except UnknownTokenError:  # an id that the vocabulary leaves unused
            continue
        if text:
            texts[number] = text
    return texts


def _neighbour(tokenizer: Tokenizer, left_out: set[int]) -> int | None:
    """Id of a letter, which no decoder changes; None where no letter is a piece."""
    for letter in "eaiotn":
        try:
            found = tokenizer.token_to_id(letter)
        except UnknownTokenError:
            continue
        if found not in left_out:
            return found
    return None


def _between(tokenizer: Tokenizer, number: int, around: int | None) -> bytes:
    alone = tokenizer.id_to_bytes(number)
    byte = _BYTE.fullmatch(tokenizer.id_to_token(number))
    if byte is not None and tokenizer.vocabulary["piece_kinds"][number] == _SINGLE_BYTE:
        return bytes([int(byte[1], 16)])
    if around is None:
        return alone
    before = tokenizer.decode_bytes([around])
    behind = tokenizer.decode_bytes([around, around])[len(before) :]
    whole = tokenizer.decode_bytes([around, number, around])
    # the clean-up of decoded text may take the space before the last one
    for end in (behind, behind.strip()):
        if whole.startswith(before) and whole[len(before) :].endswith(end):
            return whole[len(before) : len(whole) - len(end)]
    return alone
