"""From a SentencePiece model to the flat arrays that the kernels read.

The arrays and the metadata are those of ``docs/data_contracts.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import FORMAT_VERSION
from numba_nlp._schemas.sentencepiece import MAX_GROWTH
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import SOLID, SPACE
from numba_nlp.kernels.segment.unigram_chunks import SPLIT_BEFORE_EACH, SPLIT_BEFORE_RUNS
from vocab_tools.compiler.charsmap import CharsmapSummary, flags_of, summarize, symbol_units
from vocab_tools.compiler.double_array import build_double_array
from vocab_tools.compiler.flat_arrays import flatten, special_arrays
from vocab_tools.compiler.sentencepiece_bpe_model import bpe_arrays
from vocab_tools.compiler.unigram_pieces import pieces_split_at_spaces
from vocab_tools.formats.charsmap import Charsmap
from vocab_tools.formats.description import KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED, AddedToken
from vocab_tools.formats.sentencepiece_model import NormalizerSpec, SentencePieceModel

__all__ = ["ALGORITHMS", "build_arrays"]

#: By the type of the model; a type that is not here is refused.
ALGORITHMS = {
    "unigram": "unigram",
    "bpe": "sentencepiece_bpe",
    "word": "sentencepiece_word",
    "char": "sentencepiece_char",
}


def build_arrays(
    model: SentencePieceModel, special_policy: str = "plain"
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile a model.

    Parameters
    ----------
    model : SentencePieceModel
    special_policy : {"plain", "match", "raise"}
        What is done with control pieces written in the text.

    Returns
    -------
    arrays : dict of str to ndarray
        One-dimensional, C-contiguous, as ``docs/data_contracts.md`` lists them.
    metadata : dict
        JSON values; without ``payload_digest``, which belongs to the file.

    Raises
    ------
    UnsupportedFeatureError
        The type of the model is not one of ``ALGORITHMS``, or a rule makes more than ``MAX_GROWTH`` characters of one
        byte.
    """
    algorithm = ALGORITHMS.get(model.model_type)
    if algorithm is None:
        known = ", ".join(ALGORITHMS)
        raise UnsupportedFeatureError(
            f"{model.name}: SentencePiece models of type {model.model_type!r} are not supported by this version, which "
            f"reads those of type {known}"
        )
    symbols = model.user_defined()
    facts = summarize(model.normalizer, symbols)
    # ids of a byte, those of the space before the text, and the mark before the ids of a chunk
    ids_per_byte = facts.growth + 3 + 1 if model.byte_fallback else facts.characters + 1 + 1
    growth = facts.growth
    denormalizer_growth = 1 if model.denormalizer is None else summarize(model.denormalizer).growth
    if max(growth, ids_per_byte, denormalizer_growth) > MAX_GROWTH:
        raise UnsupportedFeatureError(
            f"{model.name}: a rule of the normaliser makes more than {MAX_GROWTH} bytes of one byte of text"
        )
    pieces = flatten(list(model.pieces))
    found = _pieces_in_text(model)
    keys = sorted(found)
    charsmap_units, charsmap_text = _rules(model.normalizer.charsmap)
    denormalizer_units, denormalizer_text = _rules(model.denormalizer.charsmap if model.denormalizer else None)
    arrays: dict[str, NDArray[Any]] = {
        "piece_bytes": pieces.data,
        "piece_offsets": pieces.offsets,
        "piece_scores": np.ascontiguousarray(model.scores),
        "piece_kinds": np.ascontiguousarray(model.kinds),
        "trie_units": build_double_array(keys, [found[key] for key in keys]),
        "charsmap_units": charsmap_units,
        "charsmap_text": charsmap_text,
        "symbol_units": symbol_units(symbols),
        "denormalizer_units": denormalizer_units,
        "denormalizer_text": denormalizer_text,
        "byte_traits": (facts.spaces * SPACE + facts.solid * SOLID).astype(np.uint8),
        **special_arrays(_control_pieces(model)),
        "template_single": np.zeros(0, np.int32),
    }
    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "algorithm": algorithm,
        "name": model.name,
        "source_format": "sentencepiece",
        "source_digest": model.source_digest,
        "reference": "sentencepiece",
        "unicode_version": "that of the model's own rules",
        "pattern": "spaced" if model.model_type != "bpe" and _cuts_before_spaces(model, facts) else "whole",
        "normalizer": model.normalizer.name,
        "normalizer_flags": flags_of(model.normalizer),
        "growth": growth,
        "ids_per_byte": ids_per_byte,
        "denormalizer_flags": 0 if model.denormalizer is None else flags_of(model.denormalizer),
        "denormalizer_growth": denormalizer_growth,
        "byte_fallback": model.byte_fallback,
        "unk_surface": model.unk_surface.decode(),
        **{f"{name}_id": getattr(model, f"{name}_id") for name in ("unk", "bos", "eos", "pad")},
        "special_policy": special_policy,
        **({"pad": model.pad_id} if model.pad_id >= 0 else {}),
    }
    if model.model_type == "bpe":
        merging, cutting = bpe_arrays(model, has_spaces=bool(facts.spaces.any()))
        arrays.update(merging)
        metadata.update(cutting)
        if metadata["pattern"] == "bridged":
            # no character becomes more than its bytes, and a space comes before the text
            metadata["ids_per_byte"] = 2
    return arrays, metadata


def _pieces_in_text(model: SentencePieceModel) -> dict[bytes, int]:
    """Pieces that text is compared with, and their ids."""
    wanted = np.flatnonzero(np.isin(model.kinds, (KIND_NORMAL, KIND_USER_DEFINED)))
    return {model.pieces[i]: i for i in wanted.tolist()}


def _cuts_before_spaces(model: SentencePieceModel, facts: CharsmapSummary) -> bool:
    """Whether text may be cut into chunks before spaces, each normalised and segmented by itself."""
    spec: NormalizerSpec = model.normalizer
    if not (spec.remove_extra_whitespaces and spec.escape_whitespaces) or spec.whitespace_as_suffix:
        return False
    # unknown words in a row become one token
    if model.model_type == "word" or not facts.spaces.any():
        return False
    split = pieces_split_at_spaces(_pieces_in_text(model))
    return split in (SPLIT_BEFORE_EACH, SPLIT_BEFORE_RUNS)


def _rules(charsmap: Charsmap | None) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    if charsmap is None:
        return np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    return np.ascontiguousarray(charsmap.units), np.ascontiguousarray(charsmap.strings)


def _control_pieces(model: SentencePieceModel) -> tuple[AddedToken, ...]:
    """Control pieces, which text never gives unless they are matched."""
    wanted = np.flatnonzero(model.kinds == KIND_CONTROL)
    return tuple(AddedToken(model.pieces[i].decode(), i) for i in wanted.tolist())
