"""Schema of character BPE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from numba_nlp._schemas.byte_bpe import check_merges
from numba_nlp._schemas.fields import (
    COMMON_METADATA,
    ArrayField,
    Arrays,
    MetadataField,
    Schema,
    check_special_tokens,
    fail,
)
from numba_nlp._schemas.normalizer import NORMALIZER_ARRAYS, check_normalizer
from numba_nlp._schemas.wordpiece import check_characters

__all__ = ["CHARACTER_BPE", "SYMBOL_ARRAYS", "SYMBOL_LIMITS", "SYMBOL_SIZES", "check_symbols"]

_CODE_POINT_BLOCKS = 0x110000 >> 7
#: Rules of words, in the order of their numbers (numba_nlp.kernels.segment.character_bpe_memory).
WORDS = ("bert", "white", "spaces", "whole", "clip")
_FLAGS = (
    "id of unknown characters",
    "fusing of unknown characters",
    "first merge with the rank of another",
    "unique products",
    "rule of words",
    "line feed at the end of a word",
    "characters as bytes",
    "symbol of the end of a word",
    "merging in passes",
)
_N_BASE = 256
#: Most characters of a part of a symbol.
_MOST_CHARACTERS = 1 << 14


def _check_character_bpe(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What the field declarations cannot say."""
    check_symbols(file, arrays, metadata["words"], sizes)
    for name in ("class_blocks", "normal_blocks"):
        if arrays[name].size % 128:
            fail(file, f"array `{name}` has length {arrays[name].size}, expected a multiple of 128")
    for index, needed in (("class_index", metadata["words"] == "clip"), ("normal_index", metadata["words"] == "bert")):
        blocks = arrays[index.replace("index", "blocks")].size // 128
        size = _CODE_POINT_BLOCKS if needed else 0
        if arrays[index].size != size:
            fail(file, f"array `{index}` has length {arrays[index].size}, expected {size}")
        if needed and int(arrays[index].max()) >= blocks:
            fail(file, f"array `{index}` holds {int(arrays[index].max())}, expected less than {blocks}")
    if metadata["words"] == "bert":
        if arrays["pair_kinds"].size != 4096:
            fail(file, f"array `pair_kinds` has length {arrays['pair_kinds'].size}, expected 4096")
        check_characters(file, arrays)
    kinds = arrays["piece_kinds"]
    is_absent = np.append(kinds == 255, False)
    if is_absent[arrays["piece_lookup"]].any():
        fail(file, "array `piece_lookup` points to an id that no token has")
    check_special_tokens(file, arrays)
    check_normalizer(file, arrays, metadata)


def check_symbols(file: str, arrays: Arrays, rule: str, sizes: Mapping[str, int]) -> None:
    """Characters, merges and flags fit each other; ``rule`` is that of words."""
    check_merges(file, arrays["merge_table"], arrays["merge_pairs"], sizes["symbols"])
    _check_flags(file, arrays, rule, sizes)
    _check_parts(file, arrays, sizes)
    if arrays["character_numbers"].size % 128:
        size = arrays["character_numbers"].size
        fail(file, f"array `character_numbers` has length {size}, expected a multiple of 128")
    if arrays["character_forms"].size % 4:
        fail(file, f"array `character_forms` has length {arrays['character_forms'].size}, expected a multiple of 4")


def _check_flags(file: str, arrays: Arrays, rule: str, sizes: Mapping[str, int]) -> None:
    n_merges = sizes["merges"]
    rank_count = arrays["merge_ranks"].size
    if rank_count not in (0, n_merges):
        fail(file, f"array `merge_ranks` has length {rank_count}, expected 0 or {n_merges}")
    words = WORDS.index(rule)
    # without ranks no two merges have the same one
    first_tied = (0, n_merges + 2) if rank_count else (n_merges + 1, n_merges + 2)
    ranges = (
        (0, sizes["ids"]), (0, 2), first_tied, (0, 2), (words, words + 1), (0, 2), (0, 2), (-1, sizes["symbols"]),
        (0, 3),
    )  # fmt: skip
    for flag, (low, high), what in zip(arrays["flags"].tolist(), ranges, _FLAGS, strict=True):
        if not low <= flag < high:
            fail(file, f"array `flags` holds {flag} as {what}, expected {low} <= value < {high}")
    if arrays["flags"][3] and not np.array_equal(arrays["merge_symbols"], _N_BASE + np.arange(n_merges)):
        fail(file, "array `merge_symbols` does not count from 256 on, though array `flags` says so")
    if arrays["flags"][7] >= 0 and rule != "spaces":
        fail(file, "array `flags` has a symbol of the end of a word, which only words between spaces may have")
    if arrays["flags"][6] and rule != "clip":
        fail(file, "array `flags` has characters that are bytes, which only words of CLIP may have")


def _check_parts(file: str, arrays: Arrays, sizes: Mapping[str, int]) -> None:
    offsets, parts = arrays["part_offsets"], arrays["part_ids"]
    if parts.size % 2:
        fail(file, f"array `part_ids` has length {parts.size}, expected an even one")
    if not offsets.size or offsets[0] != 0 or offsets[-1] != parts.size // 2 or (np.diff(offsets) < 0).any():
        fail(file, f"array `part_offsets` does not rise from 0 to {parts.size // 2}, the number of parts")
    if parts.size:
        numbers, characters = parts[::2], parts[1::2]
        if int(numbers.min()) < -1 or int(numbers.max()) >= sizes["ids"]:
            fail(file, f"array `part_ids` holds an id that is not below {sizes['ids']}")
        if int(characters.min()) < 0 or int(characters.max()) > _MOST_CHARACTERS:
            fail(file, f"array `part_ids` holds a part that has not 0 to {_MOST_CHARACTERS} characters")
        if arrays["flags"][4] != WORDS.index("spaces"):
            fail(file, "array `part_ids` has parts, which only words between spaces may have")
    lowest = -1 - (offsets.size - 1)
    for name in ("symbol_ids", "final_ids"):
        if int(arrays[name].min()) < lowest:
            fail(file, f"array `{name}` holds {int(arrays[name].min())}, expected {lowest} or more")


#: Characters and their merges.
SYMBOL_ARRAYS = (
    ArrayField("character_index", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="character blocks"),
    ArrayField("character_numbers", "int32", low=0, high="characters"),
    ArrayField("character_forms", "int32", low=0, high="symbols"),
    ArrayField("merge_table", "uint32"),
    ArrayField("merge_pairs", "uint64", length="merges"),
    ArrayField("merge_symbols", "int32", low=0, high="symbols"),
    ArrayField("merge_ranks", "int32", low=0, high=2**31 - 1),
    ArrayField("symbol_ids", "int32", low=-(2**30), high="ids"),
    ArrayField("final_ids", "int32", length="symbols", low=-(2**30), high="ids"),
    ArrayField("part_offsets", "int32"),
    ArrayField("part_ids", "int32"),
    ArrayField("flags", "int64", length=len(_FLAGS)),
)
SYMBOL_SIZES: dict[str, Callable[[Arrays], int]] = {
    "symbols": lambda arrays: arrays["symbol_ids"].size,
    "merges": lambda arrays: arrays["merge_symbols"].size,
    "characters": lambda arrays: arrays["character_forms"].size // 4,
    "character blocks": lambda arrays: arrays["character_numbers"].size // 128,
    "parted symbols": lambda arrays: arrays["part_offsets"].size - 1,
}
# Pairs have 20 bits a symbol, of which the last one stands for "no symbol"; a key has 26 bits for a merge number.
SYMBOL_LIMITS = {
    "symbols": (1, 2**20 - 1),
    "merges": (0, 2**24 - 1),
    "characters": (1, 2**31 - 1),
    "character blocks": (1, 65536),
    "parted symbols": (0, 2**29),
}

CHARACTER_BPE = Schema(
    arrays=(
        ArrayField("piece_bytes", "uint8"),
        ArrayField("piece_offsets", "int64", offsets_into="piece_bytes"),
        ArrayField("piece_kinds", "uint8", length="ids", among=(0, 2, 3, 255)),
        ArrayField("piece_lookup", "int32", low=-1, high="ids", is_table=True),
        ArrayField("decoded_bytes", "uint8"),
        ArrayField("decoded_offsets", "int64", length="ends of forms", offsets_into="decoded_bytes"),
        *SYMBOL_ARRAYS,
        ArrayField("class_index", "uint16"),
        ArrayField("class_blocks", "uint8", among=tuple(range(10))),
        ArrayField("normal_index", "uint16"),
        ArrayField("normal_blocks", "uint32"),
        ArrayField("normal_several", "uint32"),
        ArrayField("pair_kinds", "uint8", among=(0, 1, 3, 4, 255)),
        ArrayField("special_bytes", "uint8"),
        ArrayField("special_offsets", "int64", offsets_into="special_bytes"),
        ArrayField("special_ids", "int32", length="special_tokens", low=0, high="ids"),
        ArrayField("special_flags", "uint8", length="special_tokens", low=0, high=32),
        ArrayField("template_single", "int32", low=-1, high="ids"),
    ),
    metadata=(
        *COMMON_METADATA,
        MetadataField("reference", str, ("tokenizers", "transformers", "subword-nmt", "pairs")),
        MetadataField("words", str, WORDS),
        MetadataField("prefix", str),
        MetadataField("suffix", str),
        MetadataField("separator", str),
        MetadataField("in_passes", bool),
        MetadataField("lowercase", bool),
        MetadataField("decoder", str, ("suffix", "separator", "separator-end", "bytes", "spaces")),
        MetadataField("decoder_strips", bool),
        MetadataField("decoder_spaces_suffix", bool),
        MetadataField("special_policy", str, ("raise", "match", "plain")),
    ),
    sizes={
        "ids": lambda arrays: arrays["piece_offsets"].size - 1,
        "ends of forms": lambda arrays: 2 * arrays["piece_offsets"].size - 1,
        "special_tokens": lambda arrays: arrays["special_offsets"].size - 1,
        **SYMBOL_SIZES,
    },
    limits={"ids": (1, 2**31 - 1), "special_tokens": (0, 2**31 - 1), **SYMBOL_LIMITS},
    size="ids",
    check=_check_character_bpe,
    groups=(NORMALIZER_ARRAYS,),
)
