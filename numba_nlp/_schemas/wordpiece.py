"""Schema of WordPiece."""

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
    fail,
)

__all__ = ["WORDPIECE", "check_characters", "check_model"]

_CODE_POINT_BLOCKS = 0x110000 >> 7
#: Kinds of characters; those before SEVERAL are single units (numba_nlp.kernels.segment.normalize_bert).
_SEVERAL, _N_KINDS = 5, 6
#: Kinds that characters with the same first two bytes share; 255: they are of several.
_PAIR_KINDS = (0, 1, 3, 4, 255)
#: Most bytes that a byte of text may be normalised to: the room that the kernels reckon with.
_GROWTH = 3


def _check_wordpiece(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What the field declarations cannot say."""
    check_characters(file, arrays)
    check_model(file, arrays, sizes["ids"])
    check_special_tokens(file, arrays)


def check_model(file: str, arrays: Arrays, n_ids: int) -> None:
    """Constants and pieces are those of a vocabulary with so many ids."""
    constants: list[int] = arrays["wordpiece"].tolist()
    unknown, most_characters, further = constants
    if not 0 <= unknown < n_ids:
        fail(file, f"array `wordpiece` holds the id {unknown} of unknown words, expected 0 <= id < {n_ids}")
    if not 0 <= most_characters < 2**31:
        fail(file, f"array `wordpiece` allows words of {most_characters} characters, expected 0 to {2**31 - 1}")
    _check_trie(file, arrays["trie_units"], further, n_ids)


def check_characters(file: str, arrays: Arrays) -> None:
    """Characters become no more bytes than there is room for, and no more characters than they have bytes."""
    index, blocks, several = arrays["normal_index"], arrays["normal_blocks"], arrays["normal_several"]
    if blocks.size % 128:
        fail(file, f"array `normal_blocks` has length {blocks.size}, expected a multiple of 128")
    kinds, images, counts = blocks & 7, (blocks >> 3) & 0x1FFFFF, blocks >> 24
    is_several = kinds == _SEVERAL
    wrong = (kinds >= _N_KINDS) | (~is_several & (images >= 0x110000))
    # two 21 and 8 bit numbers: the sum cannot wrap
    wrong |= is_several & (images + counts > several.size)
    if wrong.any():
        at = int(np.argmax(wrong))
        fail(file, f"array `normal_blocks` holds {int(blocks[at]):#x} at index {at}, which is no unit of a character")
    parts = (several >> 3) & 0x1FFFFF
    if several.size and int(parts.max()) >= 0x110000:
        fail(file, f"array `normal_several` holds the code point {int(parts.max()):#x}, expected less than 0x110000")

    lengths = np.where(images == 0, 0, _encoded_lengths(images))
    totals = np.concatenate(([0], np.cumsum(_encoded_lengths(parts))))
    first = np.where(is_several, images, 0).astype(np.int64)
    last = first + np.where(is_several, counts, 0)
    lengths = np.where(is_several, totals[last] - totals[first], lengths)
    # All code points of a block have UTF-8 of one length.
    own_length = _encoded_lengths(np.arange(_CODE_POINT_BLOCKS, dtype=np.uint32) << np.uint32(7))
    longest = lengths.reshape(-1, 128).max(axis=1)[index]
    most_parts = np.where(is_several, counts, 1).reshape(-1, 128).max(axis=1)[index]
    for what, found, allowed in (
        ("bytes", longest, _GROWTH * own_length),
        ("characters", most_parts, own_length),
    ):
        if (found > allowed).any():
            at = int(np.argmax(found > allowed))
            fail(
                file,
                f"array `normal_blocks` makes {int(found[at])} {what} of a character from U+{at << 7:04X} on, expected "
                f"{int(allowed[at])} at most",
            )


def _encoded_lengths(code_points: NDArray[Any]) -> NDArray[np.int64]:
    """Bytes of UTF-8 of each code point."""
    return 1 + (code_points >= 0x80).astype(np.int64) + (code_points >= 0x800) + (code_points >= 0x10000)


def _check_trie(file: str, units: NDArray[np.uint32], further: int, n_ids: int) -> None:
    """Walks stay inside the array, values are ids, and no piece ends within a character."""
    # here, since other vocabularies are read without Numba
    from numba_nlp.kernels.tables import double_array

    problems = {
        double_array.UNITS_SIZE: "has no root, or no length that a double array has",
        double_array.UNITS_BASE: "has a node whose children lie outside of it",
        double_array.UNITS_VALUE: f"has a value that is no id, expected 0 to {n_ids - 1}",
    }
    problem = int(double_array.check_units(units, n_ids))
    if problem in problems:
        fail(file, f"array `trie_units` {problems[problem]}")
    if not 0 <= further < units.size or int(units[further]) & double_array.VALUE_FLAG:
        fail(file, f"array `wordpiece` holds the node {further} of pieces that go on, which is none of `trie_units`")
    nodes = np.flatnonzero(units & np.uint32(double_array.VALUE_FLAG) == 0)
    bases = (units[nodes] >> np.uint32(double_array.BASE_SHIFT)).astype(np.int64)
    if (np.bincount(bases) > 1).any():
        fail(file, "array `trie_units` has two nodes with the same children")
    ends = nodes[units[nodes] & np.uint32(double_array.HAS_VALUE) != 0]
    # Pieces end where characters end: else a word could have more pieces than characters.
    last_bytes = (units & np.uint32(0xFF)).astype(np.int64)
    parents = np.full(units.size, -1, np.int64)
    parents[bases] = nodes
    node, byte = ends, last_bytes[ends]
    # no text has bytes above
    is_cut = (byte >= 0xC0) & (byte < 0xF8)
    within = (byte & 0xC0) == 0x80
    for first_byte_of_longer in (0xE0, 0xF0):
        node = np.where(within, parents[node ^ byte], -1)
        byte = np.where(node >= 0, last_bytes[node], 0)
        is_cut |= within & (byte >= first_byte_of_longer)
        within &= (byte & 0xC0) == 0x80
    if is_cut.any():
        at = int(ends[np.argmax(is_cut)])
        fail(file, f"array `trie_units` has a piece that ends within a character, at index {at}")


WORDPIECE = Schema(
    arrays=(
        ArrayField("piece_bytes", "uint8"),
        ArrayField("piece_offsets", "int64", offsets_into="piece_bytes"),
        ArrayField("piece_kinds", "uint8", length="ids", among=(0, 2, 3, 255)),
        ArrayField("decoded_bytes", "uint8"),
        ArrayField("decoded_offsets", "int64", length="ends of forms", offsets_into="decoded_bytes"),
        ArrayField("trie_units", "uint32"),
        ArrayField("wordpiece", "int64", length=3),
        ArrayField("normal_index", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="blocks"),
        ArrayField("normal_blocks", "uint32"),
        ArrayField("normal_several", "uint32"),
        ArrayField("pair_kinds", "uint8", length=4096, among=_PAIR_KINDS),
        ArrayField("special_bytes", "uint8"),
        ArrayField("special_offsets", "int64", offsets_into="special_bytes"),
        ArrayField("special_ids", "int32", length="special_tokens", low=0, high="ids"),
        ArrayField("special_flags", "uint8", length="special_tokens", low=0, high=32),
        ArrayField("template_single", "int32", low=-1, high="ids"),
    ),
    metadata=(
        *COMMON_METADATA,
        MetadataField("reference", str, ("transformers", "tokenizers")),
        MetadataField("prefix", str),
        MetadataField("clean_text", bool),
        MetadataField("handle_chinese_chars", bool),
        MetadataField("strip_accents", bool),
        MetadataField("lowercase", bool),
        MetadataField("decoder_prefix", str),
        MetadataField("cleanup", bool),
        MetadataField("special_policy", str, ("raise", "match", "plain")),
    ),
    sizes={
        "ids": lambda arrays: arrays["piece_offsets"].size - 1,
        "ends of forms": lambda arrays: 2 * arrays["piece_offsets"].size - 1,
        "special_tokens": lambda arrays: arrays["special_offsets"].size - 1,
        "blocks": lambda arrays: arrays["normal_blocks"].size // 128,
    },
    limits={
        "ids": (1, 2**31 - 1),
        "special_tokens": (0, 2**31 - 1),
        "blocks": (1, 65536),
    },
    size="ids",
    check=_check_wordpiece,
)
