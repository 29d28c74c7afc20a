"""Pieces of tokenizers of different kinds, in a form in which they can be compared."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._decoders import new_decoder
from numba_nlp.errors import UnknownTokenError
from numba_nlp.kernels.segment.character_bpe_memory import UNKNOWN_ID
from numba_nlp.tokenizer import Tokenizer

__all__ = ["piece_texts", "unknown_id"]

_UNKNOWN = 1
_SINGLE_BYTE = 5
_ABSENT = 255
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
    vocabulary = tokenizer.vocabulary
    kinds = vocabulary["token_kinds"] if "token_kinds" in vocabulary else vocabulary["piece_kinds"]
    left_out = {*tokenizer.special_tokens.values(), unknown_id(tokenizer)}
    numbers = np.array([i for i in np.flatnonzero(kinds != _ABSENT).tolist() if i not in left_out], np.int32)
    around = _neighbour(tokenizer, left_out)
    if around is None:
        alone = dict(zip(numbers.tolist(), _decoded(tokenizer, numbers[:, None]), strict=True))
        return {number: text for number, text in alone.items() if text}
    before, twice = (tokenizer.decode_bytes([around] * n) for n in (1, 2))
    # the clean-up of decoded text may take the space before the last one
    behind = twice[len(before) :], twice[len(before) :].strip()
    rows = np.full((numbers.size, 3), around, np.int32)
    rows[:, 1] = numbers
    texts: dict[int, bytes] = {}
    for number, whole in zip(numbers.tolist(), _decoded(tokenizer, rows), strict=True):
        end = next((end for end in behind if whole.endswith(end)), None)
        if kinds[number] == _SINGLE_BYTE and (byte := _BYTE.fullmatch(tokenizer.id_to_token(number))):
            text = bytes([int(byte[1], 16)])
        elif end is None or not whole.startswith(before):
            text = tokenizer.id_to_bytes(number)
        else:
            text = whole[len(before) : len(whole) - len(end)]
        if text:
            texts[number] = text
    return texts


def _decoded(tokenizer: Tokenizer, rows: NDArray[np.int32]) -> list[bytes]:
    """Bytes of rows of ids, also where they are no text."""
    values = rows.ravel()
    offsets = np.arange(rows.shape[0] + 1) * rows.shape[1]
    values.flags.writeable = offsets.flags.writeable = False
    data, ends = new_decoder(tokenizer.vocabulary).text_of_rows(values, offsets, False, False)
    content = data.tobytes()
    return [content[start:end] for start, end in pairwise(ends.tolist())]


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
