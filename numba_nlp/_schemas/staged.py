"""Schemas of Unigram, and of BPE over characters, behind general stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from numba_nlp._schemas.stages import CUT_ARRAYS, DECODER_ARRAYS, check_cutter, check_decoder

__all__ = [
    "PIECES",
    "STAGED_BPE",
    "STAGED_LIMITS",
    "STAGED_METADATA",
    "STAGED_SIZES",
    "STAGED_UNIGRAM",
    "STAGES",
    "WORDS",
    "check_stages",
]

_CODE_POINT_BLOCKS = 0x110000 >> 7
_N_BASE = 256
_MAX_SCORE = 1e30
_LISTS = ("normalizers", "pre_tokenizers", "decoders")


def check_stages(file: str, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    """What both have around the model."""
    if "normalizer_program" not in arrays:
        fail(file, "array `normalizer_program` is missing")
    check_normalizer(file, arrays, metadata)
    check_cutter(file, arrays, metadata)
    check_decoder(file, arrays)
    check_special_tokens(file, arrays)
    if "solid_blocks" in arrays and arrays["solid_blocks"].size % 128:
        fail(file, f"array `solid_blocks` has length {arrays['solid_blocks'].size}, expected a multiple of 128")
    for name in _LISTS:
        if not isinstance(metadata.get(name), (list, tuple)):
            fail(file, f"metadata `{name}` is missing or no list")
    if arrays["class_blocks"].size % 128:
        fail(file, f"array `class_blocks` has length {arrays['class_blocks'].size}, expected a multiple of 128")
    template = arrays["template_single"]
    if template.size and (template == -1).sum() != 1:
        fail(file, "array `template_single` does not hold the text, -1, exactly once")


def _check_unigram(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    check_stages(file, arrays, metadata)
    scores = arrays["piece_scores64"]
    if scores.size > sizes["ids"]:
        fail(file, f"array `piece_scores64` has length {scores.size}, more than the {sizes['ids']} ids")
    if not (np.abs(scores) <= _MAX_SCORE).all():
        at = int(np.argmin(np.abs(scores) <= _MAX_SCORE))
        fail(file, f"array `piece_scores64` is {scores[at]} at index {at}, expected a number up to {_MAX_SCORE:g}")
    if not 0 <= metadata["unknown_id"] < scores.size:
        fail(file, f"metadata `unknown_id` is {metadata['unknown_id']}, expected an id below {scores.size}")
    _check_trie(file, arrays, scores.size)


def _check_trie(file: str, arrays: Arrays, n_model: int) -> None:
    """Every piece of the model is found, none else, and none in two ways: so paths are as long as their pieces."""
    from numba_nlp.kernels.tables.double_array import BASE_SHIFT, HAS_VALUE, VALUE_FLAG, check_units, first_missing

    units = arrays["trie_units"]
    if int(check_units(units, n_model)) != 0:
        fail(file, "array `trie_units` is no double array of the pieces")
    nodes = units[units & np.uint32(VALUE_FLAG) == 0]
    bases = np.bincount((nodes >> np.uint32(BASE_SHIFT)).astype(np.int64))
    if bases[0] or (bases > 1).any():
        fail(file, "array `trie_units` has two nodes with the same base, or one with base 0")
    if int((nodes & np.uint32(HAS_VALUE) != 0).sum()) != n_model:
        fail(file, f"array `trie_units` does not hold {n_model} pieces")
    missing = int(first_missing(units, arrays["piece_bytes"], arrays["piece_offsets"], n_model))
    if missing >= 0:
        fail(file, f"array `trie_units` does not lead to the piece with id {missing}")


def _check_bpe(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    from numba_nlp.kernels.segment import sentencepiece_bpe_memory as memory

    check_stages(file, arrays, metadata)
    check_merges(file, arrays["merge_table"], arrays["merge_pairs"], sizes["symbols"])
    n_merges, ranks, products = sizes["merges"], arrays["merge_ranks"], arrays["merge_symbols"]
    if ranks.size not in (0, n_merges):
        fail(file, f"array `merge_ranks` has length {ranks.size}, expected 0 or {n_merges}")
    flags: list[int] = arrays["bpe_flags"].tolist()
    policy, unknown = flags[memory.UNKNOWN_POLICY], flags[memory.UNKNOWN_ID]
    if not memory.UNKNOWN_EACH <= policy <= memory.UNKNOWN_BYTES:
        fail(file, f"array `bpe_flags` holds the policy {policy} for unknown text, expected 0 to 2")
    if not (policy == memory.UNKNOWN_BYTES) * -1 <= unknown < sizes["ids"] or unknown != metadata["unknown_id"]:
        fail(file, f"array `bpe_flags` holds the id {unknown} of unknown text, expected that of metadata `unknown_id`")
    if policy == memory.UNKNOWN_BYTES and int(arrays["byte_ids"].min()) < 0:
        fail(file, "array `byte_ids` lacks a byte, which unknown text may need")
    first_tied = flags[memory.FIRST_TIED]
    if not (0 if ranks.size else n_merges) <= first_tied <= n_merges + 1:
        fail(file, f"array `bpe_flags` holds {first_tied} as the first merge with a rank of several")
    if flags[memory.PREFIX_SYMBOL] != -1:
        fail(file, f"array `bpe_flags` holds the symbol {flags[memory.PREFIX_SYMBOL]} before the text, expected -1")
    if flags[memory.UNIQUE_PRODUCTS] not in (0, 1):
        fail(file, f"array `bpe_flags` holds {flags[memory.UNIQUE_PRODUCTS]} for unique products, expected 0 or 1")
    if flags[memory.UNIQUE_PRODUCTS] and not np.array_equal(products, np.arange(_N_BASE, _N_BASE + products.size)):
        fail(file, f"array `merge_symbols` does not count up from {_N_BASE}, as `bpe_flags` says")
    if arrays["character_symbols"].size % 128:
        n = arrays["character_symbols"].size
        fail(file, f"array `character_symbols` has length {n}, expected a multiple of 128")
    _check_bridge(file, arrays["bridge"])


def _check_bridge(file: str, bridge: NDArray[np.uint64]) -> None:
    """No text is cut inside a character."""
    if (bridge[2::4] != np.uint64(0xFFFFFFFFFFFFFFFF)).any():
        fail(file, "array `bridge` lets text be cut inside a character")


PIECES = (
    ArrayField("piece_bytes", "uint8"),
    ArrayField("piece_offsets", "int64", offsets_into="piece_bytes"),
    ArrayField("piece_kinds", "uint8", length="ids", among=(0, 2, 3, 5, 255)),
    ArrayField("piece_lookup", "int32", low=-1, high="ids", is_table=True),
)
STAGES = (
    *CUT_ARRAYS,
    ArrayField("class_index", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="blocks"),
    ArrayField("class_blocks", "uint8", among=tuple(range(10))),
    *DECODER_ARRAYS,
    ArrayField("special_bytes", "uint8"),
    ArrayField("special_offsets", "int64", offsets_into="special_bytes"),
    ArrayField("special_ids", "int32", length="special_tokens", low=0, high="ids"),
    ArrayField("special_flags", "uint8", length="special_tokens", low=0, high=32),
    ArrayField("template_single", "int32", low=-1, high="ids"),
)
#: Where raw text may be cut into words; both or none.
WORDS = (
    ArrayField("solid_pages", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="solid_blocks"),
    ArrayField("solid_blocks", "uint8", low=0, high=2),
)
STAGED_METADATA = (
    *COMMON_METADATA,
    MetadataField("reference", str, ("tokenizers",)),
    MetadataField("unknown_id", int),
    MetadataField("byte_fallback", bool),
    MetadataField("special_policy", str, ("raise", "match", "plain")),
)
STAGED_SIZES = {
    "ids": lambda arrays: arrays["piece_offsets"].size - 1,
    "special_tokens": lambda arrays: arrays["special_offsets"].size - 1,
    "blocks": lambda arrays: arrays["class_blocks"].size // 128,
    "cut_blocks": lambda arrays: arrays["cut_blocks"].size // 128,
    "solid_blocks": lambda arrays: arrays["solid_blocks"].size // 128 if "solid_blocks" in arrays else 1,
}
STAGED_LIMITS = {
    "ids": (1, 2**31 - 1),
    "special_tokens": (0, 2**31 - 1),
    "blocks": (1, 65536),
    "cut_blocks": (1, 65536),
    "solid_blocks": (1, 65536),
}

STAGED_UNIGRAM = Schema(
    arrays=(
        *PIECES,
        ArrayField("piece_scores64", "float64"),
        ArrayField("trie_units", "uint32"),
        ArrayField("byte_ids", "int32", length=256, low=-1, high="ids"),
        *STAGES,
    ),
    metadata=STAGED_METADATA,
    sizes={**STAGED_SIZES, "model": lambda arrays: arrays["piece_scores64"].size},
    limits={**STAGED_LIMITS, "model": (1, 2**31 - 1)},
    size="ids",
    check=_check_unigram,
    groups=(NORMALIZER_ARRAYS, WORDS),
)

STAGED_BPE = Schema(
    arrays=(
        *PIECES,
        ArrayField("character_index", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="character blocks"),
        ArrayField("character_symbols", "int32", low=0, high="symbols"),
        ArrayField("merge_table", "uint32"),
        ArrayField("merge_pairs", "uint64", length="merges"),
        ArrayField("merge_symbols", "int32", low=0, high="symbols"),
        ArrayField("merge_ranks", "int32", low=0, high=2**31),
        ArrayField("symbol_ids", "int32", low=-1, high="ids"),
        ArrayField("byte_ids", "int32", length=256, low=-1, high="ids"),
        ArrayField("bridge", "uint64", length=1024),
        ArrayField("bpe_flags", "int64", length=5),
        *STAGES,
    ),
    metadata=(*STAGED_METADATA, MetadataField("ignore_merges", bool)),
    sizes={
        **STAGED_SIZES,
        "symbols": lambda arrays: arrays["symbol_ids"].size,
        "merges": lambda arrays: arrays["merge_symbols"].size,
        "character blocks": lambda arrays: arrays["character_symbols"].size // 128,
    },
    # Pairs have 20 bits a symbol, of which the last one stands for "no symbol"; a key has 26 bits for a merge number.
    limits={**STAGED_LIMITS, "symbols": (1, 2**20 - 1), "merges": (0, 2**24 - 1), "character blocks": (1, 65536)},
    size="ids",
    check=_check_bpe,
    groups=(NORMALIZER_ARRAYS, WORDS),
)
