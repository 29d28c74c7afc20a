"""Samples for the self-test of SentencePiece models: texts, with the pieces that a model gives for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from numba_nlp.kernels.segment.normalize_charsmap import WHOLE_ROW, normalize, normalized_room
from numba_nlp.kernels.segment.normalizer_tables import NormalizerTables
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.compiler.charsmap import normalizer_tables
from vocab_tools.compiler.sentencepiece import build_arrays
from vocab_tools.formats.sentencepiece_model import SentencePieceModel

__all__ = ["with_self_test"]


def with_self_test(model: SentencePieceModel, texts: Sequence[str]) -> SentencePieceModel:
    """Add texts with their pieces, by which who loads the file can see that it encodes as it should.

    Parameters
    ----------
    model : SentencePieceModel
        That parses and compiles.
    texts : sequence of str

    Returns
    -------
    SentencePieceModel
        Characters without a piece stand in the samples as they are, several in a row together.

    Raises
    ------
    ValueError
        A text holds U+0000 or a lone surrogate, which no sample can hold.
    """
    tokenizer = Tokenizer(Vocabulary(*build_arrays(model)))
    tables = normalizer_tables(model.normalizer, model.user_defined())
    samples = []
    for text in texts:
        if "\0" in text or any(0xD800 <= ord(character) < 0xE000 for character in text):
            raise ValueError(f"`self_test`: {text!r} holds U+0000 or a lone surrogate")
        pieces = _written(model, tokenizer.encode(text).tolist(), _normalized(tables, text.encode()))
        samples.append((text.encode(), b" ".join(pieces)))
    return replace(model, self_test=tuple(samples))


def _normalized(tables: NormalizerTables, text: bytes) -> bytes:
    out = np.zeros(int(normalized_room(tables, len(text))), np.uint8)
    none = np.zeros(0, np.int32)
    data = np.frombuffer(text, np.uint8)
    n = int(normalize(tables, data, 0, data.size, WHOLE_ROW, out, none, none))
    return out[:n].tobytes()


def _written(model: SentencePieceModel, ids: list[int], text: bytes) -> list[bytes]:
    """Pieces of some ids; for the unknown one the part of the normalised text that no neighbour covers."""
    made: list[bytes] = []
    left = text
    for i, number in enumerate(ids):
        piece = model.pieces[number]
        if number != model.unk_id:
            made.append(piece)
            left = left[1 if piece.startswith(b"<0x") and not left.startswith(piece) else len(piece) :]
            continue
        behind = model.pieces[ids[i + 1]] if i + 1 < len(ids) else b""
        characters = left.decode()
        n = 1
        while n < len(characters) and (not behind or not characters[n:].encode().startswith(behind)):
            n += 1
        made.append(characters[:n].encode())
        left = characters[n:].encode()
    return made
