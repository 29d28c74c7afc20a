"""From the description of a character BPE vocabulary to the flat arrays that the kernels read.

The arrays and the metadata are those of ``docs/data_contracts.md``. Symbols are numbered so that the products of merges
are ``256 + merge number`` wherever each product has one merge: 0 to 255 are characters, then come the products, then
all others.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import FORMAT_VERSION
from numba_nlp.byte_alphabet import BYTE_CHARACTERS, bytes_of
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.segment import character_bpe_memory as memory
from numba_nlp.kernels.segment.merge import N_BASE
from numba_nlp.kernels.tables.hashing import fill_piece_lookup
from numba_nlp.kernels.tables.merge_table import NO_SYMBOL, new_merge_table
from vocab_tools.compiler.bert_characters import bert_characters
from vocab_tools.compiler.character_symbols import SymbolPlan, merges_are_ordered, symbol_plan
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.flat_arrays import flatten, special_arrays
from vocab_tools.compiler.normalization import normalization_tables
from vocab_tools.compiler.stages import compile_normalizers
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.stages.normalizers import CharacterMap, NormalForm

__all__ = ["ALGORITHM", "MAX_PIECE_BYTES", "build_arrays", "symbol_arrays"]

ALGORITHM = "character_bpe"
#: Longer tokens are no vocabulary's.
MAX_PIECE_BYTES = 1 << 14
_WORDS = {
    "bert": memory.WORDS_BERT,
    "white": memory.WORDS_WHITE,
    "spaces": memory.WORDS_SPACES,
    "whole": memory.WORDS_WHOLE,
    "clip": memory.WORDS_CLIP,
}


def build_arrays(description: CharacterDescription) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile a description.

    Parameters
    ----------
    description : CharacterDescription

    Returns
    -------
    arrays : dict of str to ndarray
        One-dimensional, C-contiguous, as ``docs/data_contracts.md`` lists them.
    metadata : dict
        JSON values; without ``payload_digest``, which belongs to the file.

    Raises
    ------
    SourceFormatError
        A token longer than ``MAX_PIECE_BYTES``, or merges and vocabulary that do not belong together.
    UnsupportedFeatureError
        More symbols than the merge table can number, or merges made to defeat its hash.
    """
    symbols = symbol_arrays(description)
    tokens = _tokens(description)
    pieces = flatten([token.encode() for token in tokens])
    longest = int(np.diff(pieces.offsets).max(initial=0))
    if longest > MAX_PIECE_BYTES:
        number = int(np.diff(pieces.offsets).argmax())
        raise SourceFormatError(
            f"{description.name}: the token with id {number} has {longest} bytes, more than the {MAX_PIECE_BYTES} that "
            "a token may have; is the file a vocabulary?"
        )
    decoded = flatten(
        [_decoded(token, False, description) for token in tokens]
        + [_decoded(token, True, description) for token in tokens]
    )
    of_model = np.array(sorted(number for token, number in description.vocabulary.items() if token), np.int32)
    lookup = np.full(1 << max(1, (2 * of_model.size - 1).bit_length()), -1, np.int32)
    fill_piece_lookup(pieces.data, pieces.offsets, of_model, lookup)
    normalizing, normalizer_metadata = _normalizers(description)
    classes = class_tables("tokenizers")
    of_clip = description.words == "clip"
    arrays: dict[str, NDArray[Any]] = {
        "piece_bytes": pieces.data,
        "piece_offsets": pieces.offsets,
        "piece_kinds": description.kinds,
        "piece_lookup": lookup,
        "decoded_bytes": decoded.data,
        "decoded_offsets": decoded.offsets,
        **symbols,
        "class_index": classes.class_index if of_clip else np.zeros(0, np.uint16),
        "class_blocks": classes.class_blocks if of_clip else np.zeros(0, np.uint8),
        **_bert_arrays(description),
        **special_arrays(description.added_tokens),
        "template_single": np.array(description.template_single, dtype=np.int32),
        **normalizing,
    }
    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "algorithm": ALGORITHM,
        "name": description.name,
        "source_format": description.source_format,
        "source_digest": description.source_digest,
        "reference": description.reference,
        "unicode_version": classes.unicode_version,
        "words": description.words,
        "prefix": description.prefix,
        "suffix": description.suffix,
        "separator": description.separator,
        "in_passes": description.in_passes,
        "lowercase": description.bert.lowercase or description.byte_characters,
        "decoder": description.decoder,
        "decoder_strips": description.strips,
        "decoder_spaces_suffix": description.spaces_suffix,
        "special_policy": description.special_policy,
        "special_search": description.special_search,
        **normalizer_metadata,
        **({"clean_up": True} if description.clean_up else {}),
        **({} if description.inputs is None else description.inputs.metadata()),
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata


def _tokens(description: CharacterDescription) -> list[str]:
    """Tokens by id, added ones among them; empty for ids that none has."""
    tokens = [""] * len(description.kinds)
    for token, number in description.vocabulary.items():
        tokens[number] = token
    for added in description.added_tokens:
        tokens[added.id] = added.content
    return tokens


def _decoded(token: str, is_last: bool, description: CharacterDescription) -> bytes:
    """What a token is written as at the end of a text, or before others."""
    decoder, separator = description.decoder, description.separator
    if decoder == "bytes":
        content = bytes_of(token)
        return token.encode() if content is None else content
    if decoder == "suffix":
        return (
            token.replace(description.suffix, "" if is_last else " ").encode() if description.suffix else token.encode()
        )
    if decoder == "spaces":
        return (token if is_last else f"{token} ").encode()
    if is_last:
        token = token.replace(f"{separator} ", "")
        if decoder == "separator-end":
            token = token.removesuffix(separator)
        return token.encode()
    return f"{token} ".replace(f"{separator} ", "").encode()


def _bert_arrays(description: CharacterDescription) -> dict[str, NDArray[Any]]:
    if description.words != "bert":
        return {
            "normal_index": np.zeros(0, np.uint16),
            "normal_blocks": np.zeros(0, np.uint32),
            "normal_several": np.zeros(0, np.uint32),
            "pair_kinds": np.zeros(0, np.uint8),
        }
    options = description.bert
    return bert_characters(
        clean_text=options.clean_text,
        handle_chinese_chars=options.handle_chinese_chars,
        strip_accents=options.strip_accents,
        lowercase=options.lowercase,
    )._asdict()


def _normalizers(description: CharacterDescription) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    if not description.normalized:
        return {}, {}
    # white space parts words, so that writing runs of it as one space changes nothing
    compiled = compile_normalizers([NormalForm("NFC"), CharacterMap("lowercase")])
    return compiled.arrays, {
        "normalizer_regexes": list(compiled.regexes),
        "normalizer_unicode_version": normalization_tables().metadata["unicode_version_forms"],
    }


def symbol_arrays(description: CharacterDescription) -> dict[str, NDArray[Any]]:
    """Characters, merges and what becomes of symbols: the arrays that a word is merged with.

    Parameters
    ----------
    description : CharacterDescription

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`build_arrays`.
    """
    plan = symbol_plan(description)
    symbols = _number_symbols(plan)
    unknown_symbol = max(symbols.values(), default=-1) + 1
    if unknown_symbol >= NO_SYMBOL:
        raise UnsupportedFeatureError(
            f"{description.name}: {unknown_symbol} symbols, more than the {NO_SYMBOL} that a vocabulary may have"
        )
    lefts, rights, products = (np.array([symbols[merge[side]] for merge in plan.merges], np.int32) for side in range(3))
    try:
        merge_table, merge_pairs = new_merge_table(lefts, rights)
    except ValueError as error:
        raise UnsupportedFeatureError(f"{description.name}: {error}; was the list made to defeat hashing?") from error
    ranks = np.array(description.ranks if description.ranks is not None else range(len(plan.merges)), np.int32)
    is_tied = np.zeros(ranks.size, np.bool_)
    is_tied[1:] = ranks[1:] == ranks[:-1]
    is_tied[:-1] |= is_tied[1:]
    parts: list[list[tuple[int, int]]] = []
    inner = _ids_of(plan.inner, symbols, unknown_symbol, parts)
    final = inner.copy() if plan.final is plan.inner else _ids_of(plan.final, symbols, unknown_symbol, parts)
    index, numbers, forms = _character_tables(description, plan, symbols, unknown_symbol)

    flags = np.zeros(memory.N_FLAGS, np.int64)
    flags[memory.UNKNOWN_ID] = description.unknown
    flags[memory.UNKNOWN_FUSED] = description.fuse_unknown
    flags[memory.FIRST_TIED] = np.flatnonzero(is_tied)[0] if is_tied.any() else ranks.size + 1
    flags[memory.UNIQUE_PRODUCTS] = np.array_equal(products, N_BASE + np.arange(products.size))
    flags[memory.WORDS] = _WORDS[description.words]
    flags[memory.NEWLINE_ENDS_WORD] = description.newline_ends_word
    flags[memory.BYTE_CHARACTERS] = description.byte_characters
    flags[memory.END_SYMBOL] = -1 if plan.end is None or plan.end not in symbols else symbols[plan.end]
    if description.in_passes:
        ordered = merges_are_ordered(plan.merges)
        flags[memory.IN_PASSES] = memory.PASSES_WITH_DROPOUT if ordered else memory.PASSES_ALWAYS
    return {
        "character_index": index,
        "character_numbers": numbers,
        "character_forms": forms,
        "merge_table": merge_table,
        "merge_pairs": merge_pairs,
        "merge_symbols": products,
        "merge_ranks": ranks if is_tied.any() else np.zeros(0, np.int32),
        "symbol_ids": inner,
        "final_ids": final,
        "part_offsets": np.cumsum([0, *map(len, parts)], dtype=np.int32),
        "part_ids": np.array([value for row in parts for part in row for value in part], np.int32),
        "flags": flags,
    }


def _number_symbols(plan: SymbolPlan) -> dict[Hashable, int]:
    """Number characters and products; numbers below ``N_BASE`` that no character takes stay free."""
    singles = list(dict.fromkeys(form for forms in plan.characters.values() for form in forms if form is not None))
    symbols: dict[Hashable, int] = {name: number for number, name in enumerate(singles[:N_BASE])}
    following = N_BASE
    rest: list[Hashable] = [*singles[N_BASE:], *(part for merge in plan.merges for part in merge[:2])]
    if plan.end is not None:
        rest.append(plan.end)
    for name in [*(product for _, _, product in plan.merges), *rest]:
        if name not in symbols:
            symbols[name] = following
            following += 1
    return symbols


def _ids_of(
    found: Any, symbols: dict[Hashable, int], unknown_symbol: int, parts: list[list[tuple[int, int]]]
) -> NDArray[np.int32]:
    """What becomes of each symbol; adds to ``parts``."""
    ids = np.full(unknown_symbol + 1, memory.UNKNOWN, np.int32)
    for name, symbol in symbols.items():
        one = found.get(name, memory.UNKNOWN)
        if isinstance(one, list):
            ids[symbol] = memory.PARTS - len(parts)
            parts.append(one)
        else:
            ids[symbol] = one
    return ids


def _character_tables(
    description: CharacterDescription, plan: SymbolPlan, symbols: dict[Hashable, int], unknown_symbol: int
) -> tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.int32]]:
    """Two-level table from characters to numbers, 0 for unknown ones, and the symbols of each number's forms."""
    codes: dict[int, tuple[Hashable | None, ...]] = {}
    for character, known in plan.characters.items():
        if not description.byte_characters:
            codes[ord(character)] = known
        elif character in BYTE_CHARACTERS:
            codes[BYTE_CHARACTERS.index(character)] = known
    if description.byte_characters:
        for letter in range(ord("A"), ord("Z") + 1):
            lower = codes.get(letter | 0x20)
            codes.pop(letter, None)
            if lower is not None:
                codes[letter] = lower
    forms = [[unknown_symbol] * memory.FORMS]
    forms += [[unknown_symbol if name is None else symbols[name] for name in known] for known in codes.values()]
    used = sorted({0, *((1,) if description.byte_characters else ()), *(code >> 7 for code in codes)})
    index = np.full(0x110000 >> 7, len(used), np.uint16)
    index[used] = np.arange(len(used))
    numbers = np.zeros((len(used) + 1, 128), np.int32)
    for number, code in enumerate(codes, start=1):
        numbers[index[code >> 7], code & 127] = number
    return index, numbers.reshape(-1), np.array(forms, np.int32).reshape(-1)
