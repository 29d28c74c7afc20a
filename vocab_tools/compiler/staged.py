"""From the description of a vocabulary behind general stages to the flat arrays that the kernels read.

The arrays and the metadata are those of ``docs/data_contracts.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import FORMAT_VERSION
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.tables.hashing import fill_piece_lookup
from vocab_tools.compiler.character_bpe import symbol_arrays
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.decoders import compile_decoders
from vocab_tools.compiler.double_array import build_double_array
from vocab_tools.compiler.first_places import check_first_places
from vocab_tools.compiler.flat_arrays import flatten, special_arrays
from vocab_tools.compiler.normalization import normalization_tables
from vocab_tools.compiler.normalized_tokens import keeps_kind, normalized_tokens
from vocab_tools.compiler.raw_words import raw_word_arrays
from vocab_tools.compiler.sentencepiece_bpe import build_listed_arrays
from vocab_tools.compiler.stages import compile_normalizers, compile_pre_tokenizers
from vocab_tools.compiler.wordpiece import wordpiece_arrays
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import KIND_USER_DEFINED
from vocab_tools.formats.staged_json import BYTE_PIECES, StagedDescription

__all__ = ["build_arrays"]

#: Pieces are walked byte by byte from every place of a text; the longest ones in use have a few hundred bytes.
MAX_PIECE_BYTES = 1 << 14
#: Arrays of BPE that general stages do not need: there are neither user-defined nor unused pieces.
_NOT_LISTED = ("unused_offsets", "unused_parts", "user_units")


def build_arrays(description: StagedDescription) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile a description.

    Parameters
    ----------
    description : StagedDescription

    Returns
    -------
    arrays : dict of str to ndarray
        One-dimensional, C-contiguous.
    metadata : dict
        JSON values; without ``payload_digest``, which belongs to the file.

    Raises
    ------
    SourceFormatError
        A piece longer than ``MAX_PIECE_BYTES``, or a merge of what is no piece.
    UnsupportedFeatureError
        A stage or an option that cannot be reproduced exactly.
    """
    normalizing = compile_normalizers(description.normalizers)
    check_first_places(description.normalizers, description.pre_tokenizers, description.added_tokens)
    texts, kinds = list(description.pieces), description.kinds.copy()
    for token, form in normalized_tokens(normalizing, description.added_tokens).items():
        if form != token.content and token.content in description.vocab:
            raise UnsupportedFeatureError(
                f"the added token {token.content!r} is a piece of the model as well, and {form!r} in normalized text; "
                "set its field normalized to false"
            )
        texts[token.id] = form
        if token.special and not keeps_kind(form, description.added_tokens):
            kinds[token.id] = KIND_USER_DEFINED
    contents = [(piece or "").encode() for piece in texts]
    longest = max(map(len, contents))
    if longest > MAX_PIECE_BYTES:
        raise SourceFormatError(
            f"{description.name}: a piece has {longest} bytes, more than the {MAX_PIECE_BYTES} that it may have; is "
            "the file a vocabulary?"
        )
    pieces = flatten(contents)
    numbers = np.array(sorted(number for piece, number in description.vocab.items() if piece), np.int32)
    lookup = np.full(max(2, 1 << (2 * numbers.size - 1).bit_length()), -1, np.int32)
    fill_piece_lookup(pieces.data, pieces.offsets, numbers, lookup)

    cutting = compile_pre_tokenizers(description.pre_tokenizers)
    classes = class_tables("tokenizers")
    arrays: dict[str, NDArray[Any]] = {
        "piece_bytes": pieces.data,
        "piece_offsets": pieces.offsets,
        "piece_kinds": kinds,
        "piece_lookup": lookup,
        **_MODELS[description.model](description),
        **cutting.arrays,
        **compile_decoders(description.decoders),
        **special_arrays(description.added_tokens),
        "template_single": np.array(description.template_single, np.int32),
        **normalizing.arrays,
        **raw_word_arrays(description, normalizing),
    }
    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "algorithm": f"staged_{description.model}",
        "name": description.name,
        "source_format": description.source_format,
        "source_digest": description.source_digest,
        "reference": description.reference,
        "unicode_version": classes.unicode_version,
        "unknown_id": _unknown_id(description),
        "byte_fallback": description.byte_fallback,
        **({} if description.merges is None else {"ignore_merges": description.ignore_merges}),
        **({} if description.model in ("unigram", "bpe") else {"prefix": description.prefix}),
        **({"suffix": description.suffix} if description.model == "marked_bpe" else {}),
        "normalizers": [type(stage).__name__ for stage in description.normalizers],
        "pre_tokenizers": [type(stage).__name__ for stage in description.pre_tokenizers],
        "decoders": [type(stage).__name__ for stage in description.decoders],
        "normalizer_regexes": list(normalizing.regexes),
        "normalizer_unicode_version": normalization_tables().metadata["unicode_version_forms"],
        "cut_regexes": list(cutting.regexes),
        "special_policy": description.special_policy,
        **({"clean_up": True} if description.clean_up else {}),
        **({} if description.inputs is None else description.inputs.metadata()),
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata


def _unigram_arrays(description: StagedDescription) -> dict[str, NDArray[Any]]:
    assert description.scores is not None
    keyed = sorted((piece.encode(), number) for piece, number in description.vocab.items())
    try:
        units = build_double_array([key for key, _ in keyed], [number for _, number in keyed])
    except ValueError as error:
        raise UnsupportedFeatureError(f"{description.name}: {error}") from error
    return {
        "piece_scores64": description.scores,
        "trie_units": units,
        "byte_ids": np.array([description.vocab.get(piece, -1) for piece in BYTE_PIECES], np.int32),
    }


def _bpe_arrays(description: StagedDescription) -> dict[str, NDArray[Any]]:
    assert description.merges is not None
    arrays = build_listed_arrays(
        description.vocab,
        description.merges,
        unknown=description.unknown,
        fuse_unknown=description.fuse_unknown,
        byte_fallback=description.byte_fallback,
    )
    arrays["bpe_flags"] = arrays.pop("flags")
    return {name: array for name, array in arrays.items() if name not in _NOT_LISTED}


def _wordpiece_arrays(description: StagedDescription) -> dict[str, NDArray[Any]]:
    units, constants = wordpiece_arrays(
        {piece: number for piece, number in description.vocab.items() if piece},
        description.prefix,
        _unknown_id(description),
        description.max_characters,
        description.name,
    )
    return {"trie_units": units, "wordpiece": constants}


def _marked_arrays(description: StagedDescription) -> dict[str, NDArray[Any]]:
    assert description.merges is not None
    # of a pair that is listed twice the later rank counts
    last = {pair: rank for rank, pair in enumerate(description.merges)}
    plan = CharacterDescription(
        name=description.name,
        source_format=description.source_format,
        source_digest=description.source_digest,
        reference=description.reference,
        words="whole",
        vocabulary=description.vocab,
        kinds=description.kinds,
        merges=tuple(sorted(last, key=last.__getitem__)),
        unknown=_unknown_id(description),
        fuse_unknown=description.fuse_unknown,
        prefix=description.prefix,
        suffix=description.suffix,
    )
    return symbol_arrays(plan)


def _unknown_id(description: StagedDescription) -> int:
    """Id of unknown text, or -1."""
    return -1 if description.unknown is None else description.vocab.get(description.unknown, -1)


#: What compiles each model.
_MODELS = {
    "unigram": _unigram_arrays,
    "bpe": _bpe_arrays,
    "wordpiece": _wordpiece_arrays,
    "marked_bpe": _marked_arrays,
}
