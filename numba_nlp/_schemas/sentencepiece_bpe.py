"""Schema of SentencePiece's BPE models: that of the other models, and the tables of merging."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from numba_nlp._schemas.byte_bpe import check_merges
from numba_nlp._schemas.fields import ArrayField, Arrays, MetadataField, fail
from numba_nlp._schemas.sentencepiece import SENTENCEPIECE
from numba_nlp.kernels.tables import double_array

__all__ = ["SENTENCEPIECE_BPE"]

_CODE_POINT_BLOCKS = 0x110000 >> 7
_N_BASE = 256
#: Places in ``flags``, and the policies for unknown characters (numba_nlp.kernels.segment.sentencepiece_bpe_memory).
_UNKNOWN_ID, _POLICY, _FIRST_TIED, _UNIQUE_PRODUCTS, _PREFIX_SYMBOL = range(5)
_N_POLICIES, _BYTES = 3, 2


def _check_sentencepiece_bpe(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What the field declarations cannot say."""
    SENTENCEPIECE.check(file, arrays, metadata, sizes)
    check_merges(file, arrays["merge_table"], arrays["merge_pairs"], sizes["symbols"])
    if arrays["character_symbols"].size % 128:
        fail(file, f"array `character_symbols` has length {arrays['character_symbols'].size}, not a multiple of 128")
    ranks = arrays["merge_ranks"]
    if ranks.size not in (0, sizes["merges"]):
        fail(file, f"array `merge_ranks` has length {ranks.size}, expected 0 or {sizes['merges']}")
    if ranks.size and int(ranks.min()) < 0:
        fail(file, f"array `merge_ranks` holds {int(ranks.min())}, expected no negative number")
    _check_flags(file, arrays, sizes)
    _check_unused(file, arrays, sizes)
    # places before further bytes of characters are never cut
    within = arrays["bridge"].reshape(256, 4)[:, 2]
    if not (within == np.uint64(2**64 - 1)).all():
        fail(file, f"array `bridge` cuts within characters at index {4 * int(np.argmin(within)) + 2}")
    units = arrays["user_units"]
    if units.size and double_array.check_units(units, sizes["symbols"]) != double_array.UNITS_SOUND:
        fail(file, "array `user_units` is no sound double array of symbols")


def _check_flags(file: str, arrays: Arrays, sizes: Mapping[str, int]) -> None:
    flags: list[int] = arrays["flags"].tolist()
    bounds = {
        _UNKNOWN_ID: (0, sizes["pieces"]),
        _POLICY: (0, _N_POLICIES),
        _FIRST_TIED: (0, sizes["merges"] + 2),
        _UNIQUE_PRODUCTS: (0, 2),
        _PREFIX_SYMBOL: (-1, sizes["symbols"]),
    }
    for place, (low, high) in bounds.items():
        if not low <= flags[place] < high:
            fail(file, f"array `flags` holds {flags[place]} at index {place}, expected {low} <= value < {high}")
    products = arrays["merge_symbols"]
    if flags[_UNIQUE_PRODUCTS]:
        wrong_at = np.flatnonzero(products != np.arange(_N_BASE, _N_BASE + products.size))
        if wrong_at.size:
            at = int(wrong_at[0])
            fail(file, f"array `merge_symbols` is {int(products[at])} at index {at}, expected {_N_BASE + at}")
    byte_ids = arrays["byte_ids"]
    if flags[_POLICY] == _BYTES and int(byte_ids.min()) < 0:
        fail(file, f"array `byte_ids` holds {int(byte_ids.min())}, expected an id for each byte")
    ranks = arrays["merge_ranks"]
    if flags[_FIRST_TIED] < sizes["merges"] and not ranks.size:
        fail(file, "array `merge_ranks` is empty, but merges of one rank are announced in array `flags`")


def _check_unused(file: str, arrays: Arrays, sizes: Mapping[str, int]) -> None:
    """Unused pieces: offsets into the list of parts, which are symbols that have ids or are unknown."""
    offsets, parts, ids = arrays["unused_offsets"], arrays["unused_parts"], arrays["symbol_ids"]
    decreasing = bool((offsets[1:] < offsets[:-1]).any())
    if parts.size % 2 or int(offsets[0]) != 0 or decreasing or int(offsets[-1]) * 2 != parts.size:
        fail(file, "array `unused_offsets` does not divide array `unused_parts` into pairs")
    least = int(ids.min())
    if least < -1 - (offsets.size - 1):
        fail(file, f"array `symbol_ids` holds {least}, expected at least {-offsets.size}")
    symbols, lengths = parts[0::2], parts[1::2]
    if parts.size and not (0 <= int(symbols.min()) <= int(symbols.max()) < sizes["symbols"]):
        fail(file, f"array `unused_parts` holds symbols that are not below {sizes['symbols']}")
    if parts.size and int(lengths.min()) < 1:
        fail(file, f"array `unused_parts` holds a part of {int(lengths.min())} characters")
    if parts.size and int(ids[symbols].min()) < -1:
        fail(file, "array `unused_parts` holds a part that is an unused piece itself")


SENTENCEPIECE_BPE = dataclasses.replace(
    SENTENCEPIECE,
    arrays=(
        *SENTENCEPIECE.arrays,
        ArrayField("character_index", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="blocks"),
        ArrayField("character_symbols", "int32", low=0, high="symbols"),
        ArrayField("merge_table", "uint32"),
        ArrayField("merge_pairs", "uint64", length="merges"),
        ArrayField("merge_symbols", "int32", low=0, high="symbols"),
        ArrayField("merge_ranks", "int32"),
        ArrayField("symbol_ids", "int32", low=-(2**31), high="pieces"),
        ArrayField("unused_offsets", "int32"),
        ArrayField("unused_parts", "int32"),
        ArrayField("byte_ids", "int32", length=256, low=-1, high="pieces"),
        ArrayField("bridge", "uint64", length=1024),
        ArrayField("user_units", "uint32"),
        ArrayField("flags", "int64", length=5),
    ),
    metadata=(
        *(field for field in SENTENCEPIECE.metadata if field.name != "pattern"),
        MetadataField("pattern", str, ("bridged", "spaced", "whole")),
        MetadataField("cuts_before_spaces", bool),
    ),
    sizes={
        **SENTENCEPIECE.sizes,
        "symbols": lambda arrays: arrays["symbol_ids"].size,
        "merges": lambda arrays: arrays["merge_symbols"].size,
        "blocks": lambda arrays: arrays["character_symbols"].size // 128,
        "ends of unused pieces": lambda arrays: arrays["unused_offsets"].size,
    },
    # Pairs have 20 bits a symbol, of which the last one stands for "no symbol"; a key has 26 bits for a merge number.
    limits={
        **SENTENCEPIECE.limits,
        "symbols": (1, 2**20 - 1),
        "merges": (0, 2**24 - 1),
        "blocks": (1, 65536),
        "ends of unused pieces": (1, 2**31 - 1),
    },
    check=_check_sentencepiece_bpe,
)
