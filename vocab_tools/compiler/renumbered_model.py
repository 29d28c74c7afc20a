"""From a SentencePiece model whose pieces another file numbers to the flat arrays that the kernels read.

The arrays and the metadata are those of ``docs/data_contracts.md``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.renumbered import ABSENT, BYTE, FOREIGN, KEPT, SILENT, SPECIAL, TEXT, UNKNOWN
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment.decode_sentencepiece import DROP_FIRST_SPACE, DROP_FIRST_SPACES
from vocab_tools.compiler import sentencepiece
from vocab_tools.compiler.double_array import build_double_array
from vocab_tools.compiler.flat_arrays import flatten, special_arrays
from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED
from vocab_tools.formats.renumbered_model import RenumberedModel
from vocab_tools.formats.sentencepiece_model import KIND_UNKNOWN, SentencePieceModel

__all__ = ["build_arrays"]

_OPENING, _CLOSING = ">>", "<<"
#: Kinds that the reference looks up before others of their spelling, and what they are as tokens.
_RESERVED = {KIND_UNKNOWN: UNKNOWN, KIND_CONTROL: SILENT, KIND_BYTE: BYTE}


def build_arrays(described: RenumberedModel) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile a model.

    Parameters
    ----------
    described : RenumberedModel

    Returns
    -------
    arrays : dict of str to ndarray
        One-dimensional, C-contiguous, as ``docs/data_contracts.md`` lists them.
    metadata : dict
        JSON values; without ``payload_digest``, which belongs to the file.

    Raises
    ------
    UnsupportedFeatureError
        As :func:`vocab_tools.compiler.sentencepiece.build_arrays`; a model with a denormaliser.
    """
    if described.decoding.denormalizer is not None:
        raise UnsupportedFeatureError(
            f"{described.decoding.name}: the model has a denormaliser, which is not supported where another file "
            "numbers the pieces"
        )
    model = dataclasses.replace(described.model, denormalizer=None, unk_surface=described.decoding.unk_surface)
    arrays, metadata = sentencepiece.build_arrays(model, described.special_policy)
    tokens = flatten([b"" if token is None else token.encode() for token in described.tokens])
    ids = described.ids
    piece_ids = np.array([ids.get(piece.decode(), described.unknown) for piece in model.pieces], np.int32)
    # unknown text goes by its own spelling, never by that of the piece
    piece_ids[model.unk_id] = described.unknown
    arrays.update(
        special_arrays(described.added_tokens),
        template_single=np.array(described.inputs.template_single, np.int32),
        piece_ids=piece_ids,
        unknown_units=_units(_unknown_texts(model, ids, described.unknown)),
        code_units=_units(_codes(ids) if described.language_codes else {}),
        token_bytes=tokens.data,
        token_offsets=tokens.offsets,
        token_kinds=_token_kinds(described),
    )
    spec = described.decoding.normalizer
    drop = DROP_FIRST_SPACES if spec.remove_extra_whitespaces else DROP_FIRST_SPACE if spec.add_dummy_prefix else 0
    metadata.update(
        name=described.name,
        source_format=described.source_format,
        source_digest=described.source_digest,
        reference="transformers",
        special_search="transformers",
        unknown_token_id=described.unknown,
        decoder_drop=drop,
        language_codes=described.language_codes,
        special_suffix=described.special_suffix,
        marks_are_spaces=described.marks_are_spaces,
        **({"clean_up": True} if described.clean_up else {}),
        **described.inputs.metadata(),
    )
    for name in ("unk_id", "bos_id", "eos_id", "pad_id"):
        # numbers of pieces, which nobody sees
        del metadata[name]
    return arrays, metadata


def _units(found: Mapping[str, int]) -> NDArray[np.uint32]:
    """Double array from texts to ids."""
    keys = sorted(text.encode() for text in found)
    return build_double_array(keys, [found[key.decode()] for key in keys]) if keys else np.zeros(0, np.uint32)


def _unknown_texts(model: SentencePieceModel, ids: Mapping[str, int], unknown: int) -> dict[str, int]:
    """Tokens that may stand in a text as a run of characters which the model does not know.

    Such a run is spelled as it stands, and then looked for among the tokens. A word model does so with words.
    """
    if model.byte_fallback:
        return {}
    in_text = np.flatnonzero(np.isin(model.kinds, (KIND_NORMAL, KIND_USER_DEFINED)))
    known = {model.pieces[number].decode() for number in in_text.tolist()}
    if model.model_type == "word":
        return {token: number for token, number in ids.items() if token and token not in known and number != unknown}
    return {token: number for token, number in ids.items() if token and number != unknown and known.isdisjoint(token)}


def _codes(ids: Mapping[str, int]) -> dict[str, int]:
    """Tokens that a text may begin with as a code of a language."""
    return {
        token: number
        for token, number in ids.items()
        if token.startswith(_OPENING) and token.find(_CLOSING) == len(token) - len(_CLOSING) > 1
    }


def _token_kinds(described: RenumberedModel) -> NDArray[np.uint8]:
    """What each id is for the decoder: special, a piece of the decoding model, or no piece of it."""
    model = described.decoding
    of_piece = dict.fromkeys((piece.decode() for piece in model.pieces), TEXT)
    for kind, made in _RESERVED.items():
        for number in np.flatnonzero(model.kinds == kind).tolist():
            of_piece[model.pieces[number].decode()] = made
    kinds = np.full(len(described.tokens), ABSENT, np.uint8)
    for number, token in enumerate(described.tokens):
        if token is not None:
            is_special = token in described.special
            kind_of_special = SPECIAL if number in described.skipped else KEPT
            kinds[number] = kind_of_special if is_special else of_piece.get(token, FOREIGN)
    return kinds
