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

__all__ = ["WORDPIECE"]

_CODE_POINT_BLOCKS = 0x110000 >> 7
#: Kinds of characters; those before SEVERAL are single units (numba_nlp.kernels.segment.normalize_bert).
_SEVERAL, _N_KINDS = 5, 6
#: Kinds that characters with the same first two bytes share; 255: they are of several.
_PAIR_KINDS = (0, 1, 3, 4, 255)
#: Most bytes that a byte of text may be normalised to: the room that the kernels reckon with.
_GROWTH = 3
#: Places of the trie that stay free, and how many belong together (numba_nlp.kernels.tables.piece_trie).
_TRIE_RESERVED = _TRIE_BLOCK = 256


def _check_wordpiece(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What the field declarations cannot say."""
    _check_characters(file, arrays)
    constants: list[int] = arrays["wordpiece"].tolist()
    unknown, most_characters, *roots = constants
    if not 0 <= unknown < sizes["ids"]:
        fail(file, f"array `wordpiece` holds the id {unknown} of unknown words, expected 0 <= id < {sizes['ids']}")
    if not 0 <= most_characters < 2**31:
        fail(file, f"array `wordpiece` allows words of {most_characters} characters, expected 0 to {2**31 - 1}")
    _check_trie(file, arrays["piece_trie"], roots, sizes["ids"])
    check_special_tokens(file, arrays)


def _check_characters(file: str, arrays: Arrays) -> None:
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


def _check_trie(file: str, trie: NDArray[np.uint64], roots: list[int], n_ids: int) -> None:
    """Steps stay inside the array, values are ids, and no piece ends within a character."""
    if trie.size % _TRIE_BLOCK or trie.size < _TRIE_RESERVED + _TRIE_BLOCK:
        expected = f"a multiple of {_TRIE_BLOCK} of at least {_TRIE_RESERVED + _TRIE_BLOCK}"
        fail(file, f"array `piece_trie` has length {trie.size}, expected {expected}")
    labels = (trie & np.uint64(0x1FF)).astype(np.int64)
    bases = ((trie >> np.uint64(9)) & np.uint64(0xFFFFFF)).astype(np.int64)
    values = (trie >> np.uint64(33)).astype(np.int64)
    # Places of the children of nodes without children; with it no path ever comes back to such a node.
    if trie[:_TRIE_RESERVED].any():
        at = int(np.argmax(trie[:_TRIE_RESERVED] != 0))
        fail(file, f"array `piece_trie` holds {int(trie[at]):#x} at index {at}, expected 0 below {_TRIE_RESERVED}")
    nodes = np.flatnonzero(trie)
    no_byte = nodes[labels[nodes] < 0x100]
    if no_byte.size:
        fail(file, f"array `piece_trie` holds {int(trie[no_byte[0]]):#x} at index {int(no_byte[0])}, a node of no byte")
    highest = max([*roots, int(bases.max(initial=0))])
    if min(roots) < 0 or highest >= trie.size:
        fail(file, f"array `piece_trie` has {trie.size} places, but nodes or roots with children at {highest}")
    most = int(values.max(initial=0)) - 1
    if most >= n_ids:
        fail(file, f"array `piece_trie` holds the id {most}, expected less than {n_ids}")
    inner = nodes[bases[nodes] > 0]
    if (np.bincount(np.concatenate((bases[inner], [root for root in roots if root > 0])).astype(np.int64)) > 1).any():
        fail(file, "array `piece_trie` has two nodes with the same children")
    _check_ends(file, labels & 0xFF, bases, inner, nodes[values[nodes] > 0])


def _check_ends(
    file: str,
    last_bytes: NDArray[np.int64],
    bases: NDArray[np.int64],
    inner: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    """Pieces end where characters end: else a word could have more pieces than characters."""
    parents = np.full(bases.size, -1, np.int64)
    parents[bases[inner]] = inner
    byte = last_bytes[ends]
    node = ends
    is_cut = byte >= 0xC0
    within = (byte & 0xC0) == 0x80
    for first_byte_of_longer in (0xE0, 0xF0):
        node = np.where(within, parents[node ^ byte], -1)
        byte = np.where(node >= 0, last_bytes[node], 0)
        is_cut |= within & (byte >= first_byte_of_longer)
        within &= (byte & 0xC0) == 0x80
    if is_cut.any():
        at = int(ends[np.argmax(is_cut)])
        fail(file, f"array `piece_trie` has a piece that ends within a character, at index {at}")


WORDPIECE = Schema(
    arrays=(
        ArrayField("piece_bytes", "uint8"),
        ArrayField("piece_offsets", "int64", offsets_into="piece_bytes"),
        ArrayField("piece_kinds", "uint8", length="ids", among=(0, 2, 3, 255)),
        ArrayField("decoded_bytes", "uint8"),
        ArrayField("decoded_offsets", "int64", length="ends of forms", offsets_into="decoded_bytes"),
        ArrayField("piece_trie", "uint64"),
        ArrayField("wordpiece", "int64", length=4),
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
    # A unit of the trie has 31 bits for one more than an id.
    limits={
        "ids": (1, 2**31 - 2),
        "special_tokens": (0, 2**31 - 1),
        "blocks": (1, 65536),
    },
    size="ids",
    check=_check_wordpiece,
)
