"""Schema of byte-level BPE."""

from __future__ import annotations

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
    check_table_size,
    fail,
)
from numba_nlp._schemas.normalizer import NORMALIZER_ARRAYS, check_normalizer
from numba_nlp.kernels.segment.patterns import PATTERN_NAMES

__all__ = ["BYTE_BPE", "check_merges"]

_CODE_POINT_BLOCKS = 0x110000 >> 7
_N_BASE = 256


def _check_byte_bpe(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What the field declarations of byte-level BPE cannot say."""
    check_normalizer(file, arrays, metadata)
    check_merges(file, arrays["merge_table"], arrays["merge_pairs"], sizes["symbols"])
    if arrays["class_blocks"].size % 128:
        fail(file, f"array `class_blocks` has length {arrays['class_blocks'].size}, expected a multiple of 128")

    kinds = arrays["piece_kinds"]
    # One more place than there are ids, where the -1 of an empty slot points to.
    is_foreign = np.append((kinds != 0) & (kinds != 5), False)
    foreign = is_foreign[arrays["piece_lookup"]]
    if foreign.any():
        piece = int(arrays["piece_lookup"][np.argmax(foreign)])
        fail(file, f"array `piece_lookup` points to id {piece}, a piece of kind {int(kinds[piece])}, expected 0 or 5")

    if metadata["unique_products"]:
        products = arrays["merge_symbols"]
        wrong_at = np.flatnonzero(products != np.arange(_N_BASE, _N_BASE + products.size))
        if wrong_at.size:
            at = int(wrong_at[0])
            fail(
                file,
                f"array `merge_symbols` is {int(products[at])} at index {at}, expected {_N_BASE + at} "
                "since metadata `unique_products` is true",
            )

    check_special_tokens(file, arrays)


def check_merges(file: str, table: NDArray[Any], pairs: NDArray[Any], n_symbols: int) -> None:
    """Table of merges: each merge lies in it once; pairs are of symbols that exist."""
    check_table_size(file, "merge_table", table.size)
    number_bits = max(pairs.size - 1, 1).bit_length()
    numbers = table[table != 0] & np.uint32((1 << number_bits) - 1)
    if not np.array_equal(np.sort(numbers), np.arange(pairs.size)):
        fail(file, f"array `merge_table` does not hold each of the merge numbers 0 to {pairs.size - 1} once")
    if not pairs.size:
        return
    # `left << 20 | right`: the largest masked entry shows the largest field
    largest = (("left", int(pairs.max()) >> 20), ("right", int((pairs & np.uint64(0xFFFFF)).max())))
    for what, value in largest:
        if value >= n_symbols:
            fail(file, f"array `merge_pairs` holds {what} symbol {value}, expected less than {n_symbols}")


BYTE_BPE = Schema(
    arrays=(
        ArrayField("piece_bytes", "uint8"),
        ArrayField("piece_offsets", "int64", offsets_into="piece_bytes"),
        ArrayField("piece_kinds", "uint8", length="ids", among=(0, 2, 3, 5, 255)),
        ArrayField("piece_lookup", "int32", low=-1, high="ids", is_table=True),
        ArrayField("byte_symbols", "int32", length=256, low=0, high=_N_BASE),
        ArrayField("symbol_ids", "int32", low=0, high="ids"),
        ArrayField("pair_merges", "int32", length=65536, low=-1, high="merges"),
        ArrayField("merge_table", "uint32"),
        ArrayField("merge_pairs", "uint64", length="merges"),
        ArrayField("merge_symbols", "int32", low=0, high="symbols"),
        ArrayField("class_index", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="blocks"),
        ArrayField("class_blocks", "uint8", among=tuple(range(10))),
        ArrayField("special_bytes", "uint8"),
        ArrayField("special_offsets", "int64", offsets_into="special_bytes"),
        ArrayField("special_ids", "int32", length="special_tokens", low=0, high="ids"),
        ArrayField("special_flags", "uint8", length="special_tokens", low=0, high=32),
        ArrayField("template_single", "int32", low=-1, high="ids"),
    ),
    metadata=(
        *COMMON_METADATA,
        MetadataField("reference", str, ("tokenizers", "tiktoken")),
        MetadataField("pattern", str, (*PATTERN_NAMES, "regex", "whole")),
        MetadataField("pattern_regex", str),
        MetadataField("add_prefix_space", bool),
        MetadataField("trim_offsets", bool),
        MetadataField("whole_pieces", bool),
        MetadataField("unique_products", bool),
        MetadataField("special_policy", str, ("raise", "match", "plain")),
    ),
    sizes={
        "ids": lambda arrays: arrays["piece_offsets"].size - 1,
        "symbols": lambda arrays: arrays["symbol_ids"].size,
        "merges": lambda arrays: arrays["merge_symbols"].size,
        "special_tokens": lambda arrays: arrays["special_offsets"].size - 1,
        "blocks": lambda arrays: arrays["class_blocks"].size // 128,
    },
    # Pairs have 20 bits a symbol, of which the last one stands for "no symbol"; a key has 26 bits for a merge number.
    limits={
        "ids": (1, 2**31 - 1),
        "symbols": (_N_BASE, 2**20 - 1),
        "merges": (0, 2**24 - 1),
        "special_tokens": (0, 2**31 - 1),
        "blocks": (1, 65536),
    },
    size="ids",
    check=_check_byte_bpe,
    groups=(NORMALIZER_ARRAYS,),
)
