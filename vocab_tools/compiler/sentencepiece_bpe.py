"""From the pieces of a BPE vocabulary over characters to the flat arrays that the kernels read.

Two kinds of description: sentencepiece's, where any two neighbours merge whose text is a piece, the highest score
first (:func:`build_scored_arrays`); and that of ``tokenizer.json``, where merges are listed
(:func:`build_listed_arrays`).

Symbols are numbered so that the products of merges are ``256 + merge number`` wherever each product has one merge:
0 to 255 are the first 256 characters, then come the products, then all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.segment.derive_splits import derive_splits
from numba_nlp.kernels.segment.merge import N_BASE
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import (
    FIRST_TIED,
    N_FLAGS,
    PREFIX_SYMBOL,
    UNIQUE_PRODUCTS,
    UNKNOWN,
    UNKNOWN_BYTES,
    UNKNOWN_EACH,
    UNKNOWN_FUSED,
    UNKNOWN_ID,
    UNKNOWN_POLICY,
    UNUSED,
    SentencePieceBpeTables,
)
from numba_nlp.kernels.tables.hashing import EMPTY
from numba_nlp.kernels.tables.merge_table import NO_SYMBOL, new_merge_table
from vocab_tools.compiler.bridge import bridge_of
from vocab_tools.compiler.double_array import build_double_array

__all__ = ["ESCAPED_SPACE", "build_listed_arrays", "build_scored_arrays", "tables_of"]

#: Kinds of pieces (docs/data_contracts.md).
NORMAL, UNKNOWN_PIECE, CONTROL, USER_DEFINED, UNUSED_PIECE, BYTE = range(6)
#: What stands for a space in pieces.
ESCAPED_SPACE = "\u2581"
#: sentencepiece sees only so many user-defined symbols that start at one place.
MAX_NESTED_SYMBOLS = 64
#: sentencepiece refuses pieces of this many bytes and more.
MAX_PIECE_BYTES = 8000


class Merges(NamedTuple):
    """Merges over texts, in order of rank."""

    parts: list[tuple[str, str]]
    products: list[str]
    ranks: NDArray[np.int32]


def build_scored_arrays(
    pieces: Sequence[str],
    scores: NDArray[np.float32],
    kinds: NDArray[np.uint8],
    *,
    byte_fallback: bool,
    escape_whitespaces: bool,
    add_dummy_prefix: bool = False,
    every_split: bool = False,
) -> dict[str, NDArray[Any]]:
    """Tables of a sentencepiece BPE vocabulary.

    Parameters
    ----------
    pieces : sequence of str
        By id.
    scores : float32[V]
    kinds : uint8[V]
        0 normal, 1 unknown, 2 control, 3 user-defined, 4 unused, 5 byte.
    byte_fallback : bool
        Whether unknown characters become bytes.
    escape_whitespaces : bool
        Whether the normaliser writes U+2581 for a space; the tables then serve raw text too.
    add_dummy_prefix : bool
        Whether :func:`~numba_nlp.kernels.segment.sentencepiece_bpe.segment_raw` puts a space in front.
    every_split : bool
        Whether the tables hold every pair whose text is a piece, which dropout needs, and not only the one by which
        merging without dropout makes the piece.

    Returns
    -------
    dict of str to ndarray
        The fields of ``SentencePieceBpeTables``.

    Raises
    ------
    SourceFormatError
        No unknown piece or several, an empty piece, a piece twice, a score that is no number, missing byte pieces.
    UnsupportedFeatureError
        More symbols than the merge table can number, or user-defined symbols nested 64 deep.
    """
    _check_pieces(pieces, scores, kinds, byte_fallback)
    user = {piece: number for number, piece in enumerate(pieces) if kinds[number] == USER_DEFINED}
    _check_nesting(user)
    # a piece around a user-defined symbol is never made: the symbol is taken out of the text first
    formable = [
        number
        for number, piece in enumerate(pieces)
        if kinds[number] in (NORMAL, UNUSED_PIECE) and not any(symbol in piece for symbol in user)
    ]
    derived = _derive_merges(pieces, scores, formable)
    merges = _every_split(pieces, scores, formable) if every_split else derived
    ids = {pieces[number]: number for number in formable if kinds[number] == NORMAL}
    unused = [pieces[number] for number in formable if kinds[number] == UNUSED_PIECE and len(pieces[number]) > 1]
    byte_ids = np.full(256, -1, np.int32)
    for number in np.flatnonzero(kinds == BYTE).tolist():
        byte_ids[int(pieces[number][3:5], 16)] = number
    return _build(
        merges,
        characters={character for number in formable for character in pieces[number]},
        ids=ids,
        unused=_take_apart(unused, derived),
        user=user,
        byte_ids=byte_ids,
        unknown_id=int(np.flatnonzero(kinds == UNKNOWN_PIECE)[0]),
        policy=UNKNOWN_BYTES if byte_fallback else UNKNOWN_FUSED,
        escaped=escape_whitespaces and not any(" " in symbol or ESCAPED_SPACE in symbol for symbol in user),
        prefix=add_dummy_prefix,
    )


def build_listed_arrays(
    vocabulary: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    *,
    unknown: str | None,
    fuse_unknown: bool,
    byte_fallback: bool,
    escape_whitespaces: bool = False,
    add_dummy_prefix: bool = False,
) -> dict[str, NDArray[Any]]:
    """Tables of the BPE model of a ``tokenizer.json`` whose symbols are characters.

    Unlike in sentencepiece only listed merges happen, in the order of the list; a character that is not in the
    vocabulary never merges; and there is neither a user-defined nor an unused piece.

    Parameters
    ----------
    vocabulary : Mapping of str to int
    merges : sequence of (str, str)
        In order of rank; a pair that is listed twice has the later rank.
    unknown : str or None
        Token of characters that are not in the vocabulary.
    fuse_unknown : bool
        Whether a run of unknown characters is one token.
    byte_fallback : bool
        Whether unknown characters become the tokens ``<0x00>`` to ``<0xFF>``.
    escape_whitespaces, add_dummy_prefix : bool
        As of :func:`build_scored_arrays`: the stages before the model do no more than this.

    Returns
    -------
    dict of str to ndarray
        The fields of ``SentencePieceBpeTables``.

    Raises
    ------
    SourceFormatError
        A merge of or to what the vocabulary lacks, or an unknown token that it lacks.
    UnsupportedFeatureError
        Byte fallback with some byte tokens missing, no unknown token without byte fallback, the unknown token or a
        byte token as part of a merge.
    """
    byte_names = [f"<0x{byte:02X}>" for byte in range(256)]
    byte_ids = np.array([vocabulary.get(name, -1) for name in byte_names], np.int32)
    if byte_fallback and byte_ids.min() < 0:
        missing = byte_names[int(byte_ids.argmin())]
        raise UnsupportedFeatureError(
            f"`byte_fallback` is on, but the vocabulary lacks {missing!r}; add all 256 of them"
        )
    if not byte_fallback and unknown is None:
        raise UnsupportedFeatureError(
            "without `unk_token` and `byte_fallback` characters that are not in the vocabulary vanish from the text; "
            "give the model an `unk_token`"
        )
    if not byte_fallback and unknown not in vocabulary:
        raise SourceFormatError(f"`unk_token` {unknown!r} is not in the vocabulary")
    without_text = {
        *(byte_names if byte_fallback else ()),
        *(() if unknown is None or len(unknown) == 1 else (unknown,)),
    }
    order: dict[tuple[str, str], int] = {pair: number for number, pair in enumerate(merges)}
    for left, right in order:
        for part in (left, right, left + right):
            if part not in vocabulary:
                raise SourceFormatError(f"the merge of {left!r} and {right!r} needs {part!r}: add it to the vocabulary")
        if left in without_text or right in without_text:
            raise UnsupportedFeatureError(
                f"the merge of {left!r} and {right!r} joins what stands for unknown text; take it out of the list"
            )
    parts = sorted(order, key=order.__getitem__)
    listed = Merges(parts, [left + right for left, right in parts], np.arange(len(parts), dtype=np.int32))
    if byte_fallback:
        policy = UNKNOWN_BYTES
    else:
        policy = UNKNOWN_FUSED if fuse_unknown else UNKNOWN_EACH
    made = {*listed.products, *(part for pair in parts for part in pair)}
    return _build(
        listed,
        characters={piece for piece in vocabulary if len(piece) == 1},
        ids={piece: number for piece, number in vocabulary.items() if len(piece) == 1 or piece in made},
        unused={},
        user={},
        byte_ids=byte_ids,
        unknown_id=-1 if unknown is None else vocabulary.get(unknown, -1),
        policy=policy,
        escaped=escape_whitespaces,
        prefix=add_dummy_prefix,
    )


def tables_of(arrays: Mapping[str, NDArray[Any]]) -> SentencePieceBpeTables:
    """The arrays as the kernels take them."""
    return SentencePieceBpeTables(**{name: arrays[name] for name in SentencePieceBpeTables._fields})


def _check_pieces(
    pieces: Sequence[str], scores: NDArray[np.float32], kinds: NDArray[np.uint8], byte_fallback: bool
) -> None:
    if not len(pieces) == scores.size == kinds.size:
        raise ValueError(f"{len(pieces)} pieces, but {scores.size} scores and {kinds.size} kinds; give as many of each")
    numbers: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        if not piece:
            raise SourceFormatError(f"piece {number} is empty")
        if len(piece) >= MAX_PIECE_BYTES or len(piece.encode()) >= MAX_PIECE_BYTES:
            raise SourceFormatError(f"piece {number} has {MAX_PIECE_BYTES} bytes or more; is the file a vocabulary?")
        if numbers.setdefault(piece, number) != number:
            raise SourceFormatError(f"piece {piece!r} has the ids {numbers[piece]} and {number}; keep one of them")
    if np.isnan(scores).any():
        number = int(np.flatnonzero(np.isnan(scores))[0])
        raise SourceFormatError(f"the score of piece {pieces[number]!r} (id {number}) is not a number")
    n_unknown = int((kinds == UNKNOWN_PIECE).sum())
    if n_unknown != 1:
        raise SourceFormatError(f"{n_unknown} pieces are of the kind unknown; there must be one")
    if byte_fallback:
        found = {pieces[number] for number in np.flatnonzero(kinds == BYTE).tolist()}
        missing = {f"<0x{byte:02X}>" for byte in range(256)} - found
        if missing:
            raise SourceFormatError(f"`byte_fallback` is on, but byte piece {min(missing)!r} is missing")


def _check_nesting(user: Iterable[str]) -> None:
    symbols = dict.fromkeys(user)
    for symbol in symbols:
        nested = sum(symbol[:n] in symbols for n in range(1, len(symbol) + 1))
        if nested > MAX_NESTED_SYMBOLS:
            raise UnsupportedFeatureError(
                f"user-defined symbol {symbol[:40]!r} starts with {nested - 1} others, more than the "
                f"{MAX_NESTED_SYMBOLS} that sentencepiece looks at; leave some out"
            )


def _derive_merges(pieces: Sequence[str], scores: NDArray[np.float32], formable: Sequence[int]) -> Merges:
    """The one merge of each piece of two characters and more that merging makes, highest score first."""
    merged = np.array([number for number in formable if len(pieces[number]) > 1], np.int64)
    if merged.size == 0:
        return Merges([], [], np.zeros(0, np.int32))
    _, ranks = np.unique(-scores[merged], return_inverse=True)
    order = np.argsort(ranks, kind="stable")
    merged, ranks = merged[order], ranks[order].astype(np.int32)
    numbers: dict[str, int] = {pieces[number]: number for number in formable}
    texts = {number: piece for piece, number in numbers.items()}
    lengths = np.array([len(pieces[number]) for number in merged.tolist()], np.int64)
    for number in merged.tolist():
        for character in pieces[number]:
            if character not in numbers:
                # a character that is no piece: unknown, but it merges
                numbers[character] = len(pieces) + len(texts)
                texts[numbers[character]] = character
    _check_symbols(max(numbers.values()))
    characters = np.array([numbers[c] for number in merged.tolist() for c in pieces[number]], np.int32)
    offsets = np.zeros(merged.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    lefts, rights = np.empty(merged.size, np.int32), np.empty(merged.size, np.int32)
    by_length = np.argsort(lengths, kind="stable").astype(np.int32)
    slots = np.full(1 << max(1, (2 * merged.size - 1).bit_length()), EMPTY, np.uint64)
    symbols, scratch = np.empty(int(lengths.max()), np.int32), np.empty(int(lengths.max()), np.int32)
    derive_splits(
        characters, offsets, merged.astype(np.int32), ranks, by_length, slots, symbols, scratch, lefts, rights
    )  # fmt: skip
    made = np.flatnonzero(lefts >= 0)
    parts = [
        (texts[left], texts[right]) for left, right in zip(lefts[made].tolist(), rights[made].tolist(), strict=True)
    ]
    return Merges(parts, [left + right for left, right in parts], ranks[made].astype(np.int32))


def _every_split(pieces: Sequence[str], scores: NDArray[np.float32], formable: Sequence[int]) -> Merges:
    """Every pair of pieces or characters whose text is a piece, highest score first."""
    merged = [number for number in formable if len(pieces[number]) > 1]
    _, ranks = np.unique(-scores[merged], return_inverse=True)
    known = {pieces[number] for number in formable}
    found = [
        (rank, piece[:cut], piece[cut:])
        for rank, piece in zip(ranks.tolist(), (pieces[number] for number in merged), strict=True)
        for cut in range(1, len(piece))
        if (cut == 1 or piece[:cut] in known) and (cut == len(piece) - 1 or piece[cut:] in known)
    ]
    found.sort(key=lambda row: row[0])
    parts = [(left, right) for _, left, right in found]
    return Merges(parts, [left + right for left, right in parts], np.array([rank for rank, _, _ in found], np.int32))


def _check_symbols(largest: int) -> None:
    if largest >= NO_SYMBOL - N_BASE:
        raise UnsupportedFeatureError(f"{largest} symbols, more than the {NO_SYMBOL - N_BASE} that there may be")


def _build(
    merges: Merges,
    *,
    characters: set[str],
    ids: Mapping[str, int],
    unused: Mapping[str, Sequence[str]],
    user: Mapping[str, int],
    byte_ids: NDArray[np.int32],
    unknown_id: int,
    policy: int,
    escaped: bool,
    prefix: bool,
) -> dict[str, NDArray[Any]]:
    symbols = _number_symbols(merges, characters, user)
    user_first = max(symbols.values(), default=-1) + 1
    unknown_symbol = user_first + len(user)
    _check_symbols(unknown_symbol)
    symbol_ids = np.full(unknown_symbol + 1, UNKNOWN, np.int32)
    for piece, symbol in symbols.items():
        symbol_ids[symbol] = ids.get(piece, UNKNOWN)
    symbol_ids[user_first:unknown_symbol] = list(user.values())

    lefts = np.array([symbols[left] for left, _ in merges.parts], np.int32)
    rights = np.array([symbols[right] for _, right in merges.parts], np.int32)
    products = np.array([symbols[product] for product in merges.products], np.int32)
    try:
        merge_table, merge_pairs = new_merge_table(lefts, rights)
    except ValueError as error:
        raise UnsupportedFeatureError(f"{error}; was the list made to defeat hashing?") from error
    is_tied = np.zeros(len(products), bool)
    is_tied[1:] = merges.ranks[1:] == merges.ranks[:-1]
    is_tied[:-1] |= is_tied[1:]
    made = set(merges.products)
    unused = {piece: parts for piece, parts in unused.items() if piece in made}
    for number, piece in enumerate(unused):
        symbol_ids[symbols[piece]] = UNUSED - number
    space = symbols.get(ESCAPED_SPACE, -1)
    escaped = escaped and space >= 0 and symbol_ids[space] >= 0
    index, blocks = _character_table(
        {piece: symbol for piece, symbol in symbols.items() if len(piece) == 1},
        unknown_symbol,
        space if escaped else -1,
    )
    flags = np.zeros(N_FLAGS, np.int64)
    flags[UNKNOWN_ID] = unknown_id
    flags[UNKNOWN_POLICY] = policy
    flags[FIRST_TIED] = np.flatnonzero(is_tied)[0] if is_tied.any() else len(products) + 1
    flags[UNIQUE_PRODUCTS] = np.array_equal(products, N_BASE + np.arange(len(products)))
    flags[PREFIX_SYMBOL] = space if escaped and prefix else -1
    arrays: dict[str, NDArray[Any]] = {
        "character_index": index,
        "character_symbols": blocks,
        "merge_table": merge_table,
        "merge_pairs": merge_pairs,
        "merge_symbols": products,
        "merge_ranks": merges.ranks if is_tied.any() else np.zeros(0, np.int32),
        "symbol_ids": symbol_ids,
        "unused_offsets": np.cumsum([0, *map(len, unused.values())], dtype=np.int32),
        "unused_parts": np.array(
            [value for parts in unused.values() for part in parts for value in (symbols[part], len(part))], np.int32
        ),
        "byte_ids": byte_ids,
        "bridge": bridge_of(
            [*merges.products, *user],
            ESCAPED_SPACE if escaped else None,
            np.flatnonzero(symbol_ids[blocks[:128]] == UNKNOWN) if policy == UNKNOWN_FUSED else (),
        ),
        "user_units": _user_units(user, user_first),
        "flags": flags,
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def _number_symbols(merges: Merges, characters: set[str], user: Mapping[str, int]) -> dict[str, int]:
    """Number characters and pieces; numbers below ``N_BASE`` that no character takes stay free."""
    singles = sorted(characters - set(user))
    symbols = {character: number for number, character in enumerate(singles[:N_BASE])}
    following = N_BASE
    for product in merges.products:
        if product not in symbols:
            symbols[product] = following
            following += 1
    for text in [*singles[N_BASE:], *(part for pair in merges.parts for part in pair)]:
        if text not in symbols:
            symbols[text] = following
            following += 1
    return symbols


def _take_apart(unused: Sequence[str], merges: Merges) -> dict[str, list[str]]:
    """What each unused piece falls into: used pieces and characters; characters when merging does not make it."""
    parts_of = dict(zip(merges.products, merges.parts, strict=True)) if unused else {}
    known = set(unused)
    taken: dict[str, list[str]] = {}
    for piece in unused:
        taken[piece] = []
        waiting = [piece]
        while waiting:
            text = waiting.pop()
            if text in known and text in parts_of:
                waiting += reversed(parts_of[text])
            elif text in known:
                taken[piece] += text
            else:
                taken[piece].append(text)
    return taken


def _character_table(
    symbols: Mapping[str, int], unknown_symbol: int, space: int
) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Two-level table from code points to symbols; block 0 is ASCII, block 1 knows no character."""
    table = {ord(character): symbol for character, symbol in symbols.items()}
    if space >= 0:
        table[ord(" ")] = space
    used = sorted({0, *(code_point >> 7 for code_point in table)})
    index = np.ones(0x110000 >> 7, np.uint16)
    blocks = np.full((len(used) + 1, 128), unknown_symbol, np.int32)
    numbers = {block: number + (number > 0) for number, block in enumerate(used)}
    for block, number in numbers.items():
        index[block] = number
    for code_point, symbol in table.items():
        blocks[numbers[code_point >> 7], code_point & 127] = symbol
    return index, blocks.reshape(-1)


def _user_units(user: Iterable[str], first_symbol: int) -> NDArray[np.uint32]:
    """Double array from user-defined symbols to the numbers that follow each other from ``first_symbol`` on."""
    symbols = {text.encode(): first_symbol + number for number, text in enumerate(user)}
    keys = sorted(symbols)
    return build_double_array(keys, [symbols[key] for key in keys]) if keys else np.zeros(0, np.uint32)
