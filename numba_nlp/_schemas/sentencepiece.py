"""Schema of SentencePiece's Unigram, word and character models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import (
    COMMON_METADATA,
    ArrayField,
    Arrays,
    MetadataField,
    Schema,
    check_special_tokens,
    fail,
)
from numba_nlp._schemas.renumbered import RENUMBERED_ARRAYS, check_renumbered, number_of_ids
from numba_nlp.kernels.segment.unigram_memory import MAX_SCORE
from numba_nlp.kernels.tables import darts, double_array

__all__ = ["MAX_GROWTH", "SENTENCEPIECE", "check_rules"]

#: Bytes, or ids, that one byte of text may make at most.
MAX_GROWTH = 4096
_UNKNOWN, _BYTE = 1, 5
_BYTE_PIECE = re.compile(rb"<0x[0-9A-F]{2}>")
_FLAGS = 16


def _check_sentencepiece(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What the field declarations cannot say."""
    lengths = np.diff(arrays["piece_offsets"])
    if not lengths.all():
        fail(file, f"array `piece_offsets` holds an empty piece, id {int(np.argmin(lengths))}")
    kinds = arrays["piece_kinds"]
    n_unknown = int(np.count_nonzero(kinds == _UNKNOWN))
    if n_unknown != 1:
        fail(file, f"array `piece_kinds` holds {n_unknown} unknown pieces (1), expected one")
    _check_byte_pieces(file, arrays)
    is_unigram = metadata["algorithm"] == "unigram"
    if is_unigram and not (kinds == 0).any():
        fail(file, "array `piece_kinds` holds no normal piece (0)")
    scores = arrays["piece_scores"]
    wrong = np.flatnonzero(~(np.abs(scores) <= MAX_SCORE))
    if wrong.size:
        fail(file, f"array `piece_scores` holds {scores[wrong[0]]} at index {int(wrong[0])}, expected numbers")

    units = arrays["trie_units"]
    sound = double_array.check_units(units, sizes["pieces"]) == double_array.UNITS_SOUND
    if not sound or double_array.check_lengths(units, lengths, np.empty(units.size, np.int32)) < 0:
        fail(file, "array `trie_units` is no sound double array of the pieces")
    check_rules(file, "charsmap", arrays)
    check_rules(file, "denormalizer", arrays)
    _check_darts(file, "symbol_units", arrays["symbol_units"], 1 << 31)
    if (arrays["byte_traits"][0x80:] & 1).any():
        fail(file, "array `byte_traits` takes a byte beyond ASCII for a space")
    check_special_tokens(file, arrays)
    check_renumbered(file, arrays, metadata, sizes["ids"])
    for name, most in (
        ("normalizer_flags", _FLAGS),
        ("denormalizer_flags", _FLAGS),
        ("growth", MAX_GROWTH + 1),
        ("denormalizer_growth", MAX_GROWTH + 1),
        ("ids_per_byte", MAX_GROWTH + 1),
    ):
        if not (0 if name.endswith("flags") else 1) <= metadata[name] < most:
            fail(file, f"metadata `{name}` is {metadata[name]}, expected a number below {most}")
    if not is_unigram and metadata["algorithm"] == "sentencepiece_word" and metadata["pattern"] != "whole":
        fail(file, f"metadata `pattern` is {metadata['pattern']!r}, expected 'whole' for this algorithm")


def _check_byte_pieces(file: str, arrays: Arrays) -> None:
    ids = np.flatnonzero(arrays["piece_kinds"] == _BYTE)
    content, offsets = arrays["piece_bytes"], arrays["piece_offsets"]
    pieces = {content[offsets[i] : offsets[i + 1]].tobytes() for i in ids.tolist()}
    if ids.size and (ids.size != 256 or len(pieces) != 256 or not all(map(_BYTE_PIECE.fullmatch, pieces))):
        fail(file, "array `piece_kinds` holds byte pieces (5) that are not <0x00> to <0xFF>")


def check_rules(file: str, name: str, arrays: Arrays) -> None:
    """Check the rules of a normaliser: ``<name>_units`` and ``<name>_text``."""
    units, text = arrays[f"{name}_units"], arrays[f"{name}_text"]
    if units.size and (not text.size or text[-1] != 0):
        fail(file, f"array `{name}_text` does not end with 0")
    _check_darts(file, f"{name}_units", units, text.size)


def _check_darts(file: str, name: str, units: NDArray[Any], n_values: int) -> None:
    bad = int(darts.first_bad_unit(units, n_values)) if units.size else -1
    if bad >= 0:
        fail(file, f"array `{name}` leads outside of itself or of its values at index {bad}")


SENTENCEPIECE = Schema(
    arrays=(
        ArrayField("piece_bytes", "uint8"),
        ArrayField("piece_offsets", "int64", offsets_into="piece_bytes"),
        ArrayField("piece_scores", "float32", length="pieces"),
        ArrayField("piece_kinds", "uint8", length="pieces", among=(0, 1, 2, 3, 4, 5)),
        ArrayField("trie_units", "uint32"),
        ArrayField("charsmap_units", "uint32"),
        ArrayField("charsmap_text", "uint8"),
        ArrayField("symbol_units", "uint32"),
        ArrayField("denormalizer_units", "uint32"),
        ArrayField("denormalizer_text", "uint8"),
        ArrayField("byte_traits", "uint8", length=256, low=0, high=4),
        ArrayField("special_bytes", "uint8"),
        ArrayField("special_offsets", "int64", offsets_into="special_bytes"),
        ArrayField("special_ids", "int32", length="special_tokens", low=0, high="ids"),
        ArrayField("special_flags", "uint8", length="special_tokens", low=0, high=32),
        ArrayField("template_single", "int32", low=-1, high="ids"),
    ),
    metadata=(
        *COMMON_METADATA,
        MetadataField("reference", str, ("sentencepiece", "transformers")),
        MetadataField("pattern", str, ("spaced", "whole")),
        MetadataField("normalizer_flags", int),
        MetadataField("growth", int),
        MetadataField("ids_per_byte", int),
        MetadataField("denormalizer_flags", int),
        MetadataField("denormalizer_growth", int),
        MetadataField("unk_surface", str),
        MetadataField("special_policy", str, ("raise", "match", "plain")),
    ),
    sizes={
        "pieces": lambda arrays: arrays["piece_offsets"].size - 1,
        "ids": number_of_ids,
        "special_tokens": lambda arrays: arrays["special_offsets"].size - 1,
    },
    # larger numbers are marks among the numbers of pieces, which ids may stand behind
    limits={"pieces": (1, 2**29), "ids": (1, 2**29 - 1), "special_tokens": (0, 2**31 - 1)},
    size="ids",
    check=_check_sentencepiece,
    groups=(RENUMBERED_ARRAYS,),
)
