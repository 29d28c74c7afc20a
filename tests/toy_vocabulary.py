"""A small valid byte-level BPE vocabulary, built without any compiler, for tests of what stands on vocabularies."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.tables import hashing
from numba_nlp.kernels.tables.merge_table import new_merge_table
from numba_nlp.vocabulary import Vocabulary

#: Merges in order of rank; each product is a token.
MERGES: tuple[tuple[bytes, bytes], ...] = (
    (b"t", b"h"),
    (b"th", b"e"),
    (b" ", b"the"),
    (b"a", b"n"),
    (b"an", b"d"),
    (b"\xc3", b"\xa9"),
)
#: Added tokens, sorted by content.
SPECIALS: tuple[bytes, ...] = (b"<|end|>", b"<|pad|>")

_CLASSES = {"Lu": 3, "Lt": 3, "Ll": 4, "Lm": 5, "Lo": 5}
_MAJOR_CLASSES = {"P": 1, "S": 2, "M": 6, "N": 7}


def toy_vocabulary(
    merges: Sequence[tuple[bytes, bytes]] = MERGES, specials: Sequence[bytes] = SPECIALS, **metadata: Any
) -> Vocabulary:
    """Vocabulary of the 256 bytes (ids 0..255), one token a merge, then the special tokens."""
    return Vocabulary(toy_arrays(merges, specials), toy_metadata(**metadata))


def toy_metadata(**changes: Any) -> dict[str, Any]:
    """Metadata of the toy vocabulary, with changes."""
    return {
        "format_version": 1,
        "algorithm": "byte_bpe",
        "name": "toy",
        "source_format": "gpt2",
        "source_digest": "0" * 64,
        "reference": "tokenizers",
        "unicode_version": unicodedata.unidata_version,
        "pattern": "gpt2",
        "pattern_regex": r"\S+|\s+",
        "add_prefix_space": False,
        "trim_offsets": False,
        "whole_pieces": False,
        "unique_products": True,
        "special_policy": "match",
        **changes,
    }


def toy_arrays(
    merges: Sequence[tuple[bytes, bytes]] = MERGES, specials: Sequence[bytes] = SPECIALS
) -> dict[str, NDArray[Any]]:
    """Fresh, writeable arrays of the toy vocabulary."""
    pieces = [bytes([byte]) for byte in range(256)] + [left + right for left, right in merges]
    n_model = len(pieces)
    symbols = {piece: symbol for symbol, piece in enumerate(pieces)}
    everything = [*pieces, *specials]
    piece_offsets = _offsets(everything)
    piece_bytes = np.frombuffer(b"".join(everything), np.uint8).copy()
    kinds = np.array([5] * 256 + [0] * len(merges) + [2] * len(specials), np.uint8)

    lookup = np.full(_table_size(n_model), -1, np.int32)
    hashing.fill_piece_lookup(piece_bytes, piece_offsets, np.arange(n_model, dtype=np.int32), lookup)
    lefts = np.array([symbols[left] for left, _ in merges], np.int32)
    rights = np.array([symbols[right] for _, right in merges], np.int32)
    merge_table, merge_pairs = new_merge_table(lefts, rights)
    pair_merges = np.full(65536, -1, np.int32)
    for number, (left, right) in enumerate(zip(lefts.tolist(), rights.tolist(), strict=True)):
        if left < 256 and right < 256:
            pair_merges[left << 8 | right] = number
    class_index, class_blocks = _class_tables()
    return {
        "piece_bytes": piece_bytes,
        "piece_offsets": piece_offsets,
        "piece_kinds": kinds,
        "piece_lookup": lookup,
        "byte_symbols": np.arange(256, dtype=np.int32),
        "symbol_ids": np.arange(n_model, dtype=np.int32),
        "pair_merges": pair_merges,
        "merge_table": merge_table,
        "merge_pairs": merge_pairs,
        "merge_symbols": np.arange(256, n_model, dtype=np.int32),
        "class_index": class_index.copy(),
        "class_blocks": class_blocks.copy(),
        "special_bytes": np.frombuffer(b"".join(specials), np.uint8).copy(),
        "special_offsets": _offsets(specials),
        "special_ids": np.arange(n_model, n_model + len(specials), dtype=np.int32),
        "special_flags": np.ones(len(specials), np.uint8),
        "template_single": np.zeros(0, np.int32),
    }


def _offsets(pieces: Sequence[bytes]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, pieces)], dtype=np.int64)


def _table_size(n_entries: int) -> int:
    return 1 << max(1, (2 * n_entries - 1).bit_length())


@lru_cache(maxsize=1)
def _class_tables() -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Character classes of U+0000 to U+07FF from this Python; all later code points are class 0."""
    classes = np.zeros(0x800, np.uint8)
    for code_point in range(0x800):
        character = chr(code_point)
        category = unicodedata.category(character)
        if character in "\r\n":
            classes[code_point] = 9
        elif character.isspace() and not 0x1C <= code_point <= 0x1F:
            classes[code_point] = 8
        else:
            classes[code_point] = _CLASSES.get(category, _MAJOR_CLASSES.get(category[0], 0))
    index = np.full(0x110000 >> 7, 16, np.uint16)
    index[:16] = np.arange(16)
    return index, np.concatenate([classes, np.zeros(128, np.uint8)])
