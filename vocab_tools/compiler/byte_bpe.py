"""From the description of a byte-level BPE vocabulary to the flat arrays that the kernels read.

The arrays and the metadata are those of ``docs/data_contracts.md``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import FORMAT_VERSION
from numba_nlp.byte_alphabet import bytes_of
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.segment.derive import count_unreached, derive_merges
from numba_nlp.kernels.tables.hashing import EMPTY, fill_merge_slots, fill_piece_lookup
from numba_nlp.kernels.tables.merge_table import new_merge_table
from numba_nlp.regex_split import RegexSplitter
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.flat_arrays import FlatStrings, flatten, special_arrays
from vocab_tools.compiler.normalization import normalization_tables
from vocab_tools.compiler.normalized_tokens import keeps_kind, normalized_tokens
from vocab_tools.compiler.stages import compile_normalizers
from vocab_tools.formats.description import KIND_BYTE, KIND_NORMAL, KIND_USER_DEFINED, Description

__all__ = ["MAX_PIECE_BYTES", "build_arrays", "merges_of"]

ALGORITHM = "byte_bpe"
N_BASE = 256
#: A merge slot gives a symbol 20 bits, and all ones mean an empty slot.
MAX_SYMBOLS = (1 << 20) - 1
#: Pieces are merged alone in quadratic time while compiling; the longest ones in use have a few hundred bytes.
MAX_PIECE_BYTES = 1 << 14


class _Merges(NamedTuple):
    """Merges over symbols, in order of rank."""

    lefts: NDArray[np.int32]
    rights: NDArray[np.int32]
    products: NDArray[np.int32]
    symbol_ids: NDArray[np.int32]
    unique_products: bool


def build_arrays(description: Description) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile a description.

    Parameters
    ----------
    description : Description

    Returns
    -------
    arrays : dict of str to ndarray
        One-dimensional, C-contiguous, as ``docs/data_contracts.md`` lists them.
    metadata : dict
        JSON values; without ``payload_digest``, which belongs to the file.

    Raises
    ------
    SourceFormatError
        A piece longer than ``MAX_PIECE_BYTES``.
    UnsupportedFeatureError
        More pieces than the merge table can number, merges made to defeat its hash, or a pattern that cannot be
        reproduced exactly.
    """
    _check_sizes(description)
    model = flatten([piece or b"" for piece in description.pieces])
    compiled = compile_normalizers(description.normalizers)
    texts, kinds = list(description.decoded), description.kinds.copy()
    for token, form in normalized_tokens(compiled, description.added_tokens).items():
        texts[token.id] = bytes_of(form) or form.encode()
        if token.special and not keeps_kind(form, description.added_tokens):
            kinds[token.id] = KIND_USER_DEFINED
    decoded = flatten(texts)
    byte_ids = _byte_ids(description.pieces)
    may_skip_merging = description.merges is None or description.ignore_merges
    pairs = _derive(description, model, byte_ids) if description.merges is None else description.merges
    merges = _number_symbols(pairs, byte_ids)

    try:
        merge_table, merge_pairs = new_merge_table(merges.lefts, merges.rights)
    except ValueError as error:
        raise UnsupportedFeatureError(f"{description.name}: {error}; was the list made to defeat hashing?") from error
    byte_symbols = np.arange(N_BASE, dtype=np.int32)
    model_pieces = _model_pieces(description)
    lookup = np.full(_table_size(model_pieces.size), -1, dtype=np.int32)
    fill_piece_lookup(model.data, model.offsets, model_pieces, lookup)
    unreached = 0
    if may_skip_merging:
        longest = int(np.diff(model.offsets).max())
        symbols, numbers = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int32)
        slots = np.full(_table_size(merges.lefts.size), EMPTY, dtype=np.uint64)
        fill_merge_slots(merges.lefts, merges.rights, slots)
        reached = np.empty(model_pieces.size, dtype=np.uint8)
        unreached = int(
            count_unreached(
                slots, merges.products, byte_symbols, merges.symbol_ids, model.data, model.offsets, model_pieces,
                symbols, numbers, reached,
            )
        )  # fmt: skip

    classes = class_tables(description.reference)
    if description.pattern == "regex":
        # Refuses what cannot be reproduced exactly now, not when the first text comes.
        RegexSplitter(description.pattern_regex, classes.class_index, classes.class_blocks, description.reference)
    arrays: dict[str, NDArray[Any]] = {
        "piece_bytes": decoded.data,
        "piece_offsets": decoded.offsets,
        "piece_kinds": kinds,
        "piece_lookup": lookup,
        "byte_symbols": byte_symbols,
        "symbol_ids": merges.symbol_ids,
        "pair_merges": _pair_table(merges),
        "merge_table": merge_table,
        "merge_pairs": merge_pairs,
        "merge_symbols": merges.products,
        "class_index": classes.class_index,
        "class_blocks": classes.class_blocks,
        **special_arrays(description.added_tokens),
        "template_single": np.array(description.template_single, dtype=np.int32),
    }
    normalizing: dict[str, Any] = {}
    if description.normalizers:
        arrays.update(compiled.arrays)
        normalizing = {
            "normalizer_regexes": list(compiled.regexes),
            "normalizer_unicode_version": normalization_tables().metadata["unicode_version_forms"],
        }
    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "algorithm": ALGORITHM,
        "name": description.name,
        "source_format": description.source_format,
        "source_digest": description.source_digest,
        "reference": description.reference,
        "pattern": description.pattern,
        "pattern_regex": description.pattern_regex,
        "unicode_version": classes.unicode_version,
        "add_prefix_space": description.add_prefix_space,
        "trim_offsets": description.trim_offsets,
        "trim_keeps_prefix_space": description.trim_keeps_prefix_space,
        "whole_pieces": unreached > 0,
        "unique_products": merges.unique_products,
        "special_policy": description.special_policy,
        **normalizing,
        **({} if description.inputs is None else description.inputs.metadata()),
    }
    return arrays, metadata


def merges_of(description: Description) -> NDArray[np.int32]:
    """Merges of a description, also where it has ranks only.

    Returns
    -------
    int32[M, 3]
        Ids of left part, right part and product, in order of rank.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`build_arrays`.
    """
    if description.merges is not None:
        return description.merges
    _check_sizes(description)
    model = flatten([piece or b"" for piece in description.pieces])
    return _derive(description, model, _byte_ids(description.pieces))


def _check_sizes(description: Description) -> None:
    for number, piece in enumerate(description.pieces):
        if piece is not None and len(piece) > MAX_PIECE_BYTES:
            raise SourceFormatError(
                f"{description.name}: the piece with id {number} has {len(piece)} bytes, more than the "
                f"{MAX_PIECE_BYTES} that a piece may have; is the file a vocabulary?"
            )
    if len(description.pieces) > MAX_SYMBOLS:
        raise UnsupportedFeatureError(
            f"{description.name}: {len(description.pieces)} ids, more than the {MAX_SYMBOLS} that a byte-level BPE "
            "vocabulary may have; compile a smaller one"
        )


def _table_size(entries: int) -> int:
    """Smallest power of two that is at most half full, and never without an empty slot."""
    return 1 << max(1, (2 * entries - 1).bit_length())


def _byte_ids(pieces: list[bytes | None]) -> NDArray[np.int32]:
    byte_ids = np.full(N_BASE, -1, dtype=np.int32)
    for number, piece in enumerate(pieces):
        if piece is not None and len(piece) == 1:
            byte_ids[piece[0]] = number
    return byte_ids


def _model_pieces(description: Description) -> NDArray[np.int32]:
    """Ids of the pieces that only the model gives, never the matching of added tokens."""
    of_model = np.fromiter((piece is not None for piece in description.pieces), dtype=bool)
    of_model &= (description.kinds == KIND_NORMAL) | (description.kinds == KIND_BYTE)
    return np.flatnonzero(of_model).astype(np.int32)


def _derive(description: Description, model: FlatStrings, byte_ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """Merges of a rank file, in order of rank; see :func:`numba_nlp.kernels.segment.derive.derive_merges`."""
    lengths = np.diff(model.offsets)
    merged = np.flatnonzero(lengths > 1).astype(np.int32)
    places = np.full(lengths.size, -1, dtype=np.int32)
    places[merged] = np.arange(merged.size, dtype=np.int32)
    by_length = merged[np.argsort(lengths[merged], kind="stable")]
    longest = int(lengths.max())
    symbols, numbers = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int32)
    lefts, rights = np.empty(merged.size, dtype=np.int32), np.empty(merged.size, dtype=np.int32)
    slots = np.full(_table_size(merged.size), EMPTY, dtype=np.uint64)
    derive_merges(
        model.data, model.offsets, by_length, byte_ids, places, merged, slots, symbols, numbers, lefts, rights
    )
    made = lefts >= 0
    return np.stack([lefts[made], rights[made], merged[made]], axis=1)


def _number_symbols(pairs: NDArray[np.int32], byte_ids: NDArray[np.int32]) -> _Merges:
    """Number the symbols: the 256 bytes by value, then the products in the order of their first merge.

    Parts that are neither (no merge makes them, so their merges never happen) come last.
    """
    products, first = np.unique(pairs[:, 2], return_index=True)
    made = np.concatenate([byte_ids, products[np.argsort(first)]]).astype(np.int32)
    symbol_ids = np.concatenate([made, np.setdiff1d(pairs[:, :2], made)]).astype(np.int32)
    symbols = np.full(int(symbol_ids.max()) + 1, -1, dtype=np.int32)
    symbols[symbol_ids] = np.arange(symbol_ids.size, dtype=np.int32)
    return _Merges(
        np.ascontiguousarray(symbols[pairs[:, 0]]),
        np.ascontiguousarray(symbols[pairs[:, 1]]),
        np.ascontiguousarray(symbols[pairs[:, 2]]),
        symbol_ids,
        unique_products=products.size == len(pairs),
    )


def _pair_table(merges: _Merges) -> NDArray[np.int32]:
    """Merge number of each pair of bytes (base symbols are the bytes' values)."""
    table = np.full(N_BASE * N_BASE, -1, dtype=np.int32)
    both = np.flatnonzero((merges.lefts < N_BASE) & (merges.rights < N_BASE))
    table[merges.lefts[both] << 8 | merges.rights[both]] = both
    return table
