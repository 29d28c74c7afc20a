"""What the four algorithms of "Byte Pair Encoding and Data Structures" (Becquin 2021) have in common.

The pieces of a SentencePiece vocabulary, looked up by their text: two neighbours merge when their concatenation is a
piece, the lowest id first, the leftmost among equals. Every piece takes part, control pieces too.

The text is prepared: every white-space character becomes U+2581, and one U+2581 comes first unless the text starts
with that character already. A token's slice of the original text is the bytes between the places that its ends come
from, so a token of the U+2581 in front alone has an empty slice.

Twin: ``numba_nlp.reference.articles.merge_pieces``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length, is_white_space
from numba_nlp.kernels.tables.hashing import BYTES_MULTIPLIER, MERGE_MULTIPLIER, equal_bytes, hash_bytes, table_bits
from numba_nlp.kernels.words import ALL_ONES, multiply, peek, raw_load64, shift_right

#: Bytes behind the end of texts and pieces, so that 16 can be loaded from any place.
MARGIN = 16
#: Slot of the look-up table: the id plus one in the lower bits, above them bits of the hash; 0 is empty.
NUMBER_BITS = 20
#: Numbers of a node of the tree, side by side, as they are read together.
NODE = 8
#: Characters that are merged at once of a longer text; those at the end that are merged again with what follows.
STRETCH, OVERLAP = 8192, 512
#: U+2581
SPACE = "\u2581".encode()
FIRST, SECOND, THIRD = np.uint8(SPACE[0]), np.uint8(SPACE[1]), np.uint8(SPACE[2])


class MergePieces(NamedTuple):
    """Pieces by id, and where to find them by their bytes; made by :func:`new_merge_pieces`."""

    slots: Any  # uint32[2^k], see find_slot
    piece_bytes: Any  # uint8[n + MARGIN]
    piece_offsets: Any  # int64[V + 1]
    unknown: Any  # int64[2]: id of a character that is no piece; bytes of the longest piece


class ArticleScratch(NamedTuple):
    """Working memory of one thread for texts of up to ``capacity`` bytes; made by :func:`new_article_scratch`."""

    text: Any  # uint8[3 * capacity + 3 + MARGIN]: the prepared text
    origins: Any  # int32[3 * capacity + 4]: place in the original text that each prepared byte, and the end, comes from
    starts: Any  # int32[capacity + 2]: where each symbol starts in the prepared text, and the last one ends
    ends: Any  # int32[capacity + 2]: by a symbol's first character, the character after it; or the starts of one word
    previous: Any  # int32[capacity + 2]: by a symbol's first character, that of the symbol before
    nodes: Any  # int32[NODE * (capacity + 2)]: of the tree
    path: Any  # int32[64]: from the root of the tree to a node
    heap: Any  # uint64[3 * capacity + 6]


def new_merge_pieces(pieces: Sequence[bytes], unknown: int) -> MergePieces:
    """Look-up table of pieces.

    Parameters
    ----------
    pieces : sequence of bytes
        By id, all distinct, none empty.
    unknown : int
        Id to give for a character that is no piece.

    Returns
    -------
    MergePieces
        Read-only arrays.

    Raises
    ------
    ValueError
        More pieces than the table can number.
    """
    if len(pieces) >= 1 << NUMBER_BITS:
        raise ValueError(f"{len(pieces)} pieces, more than the {(1 << NUMBER_BITS) - 1} that the look-up table numbers")
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    content = np.frombuffer(b"".join(pieces) + bytes(MARGIN), np.uint8)
    slots = np.zeros(1 << max(1, (2 * len(pieces)).bit_length()), np.uint32)
    limits = np.array([unknown, max(map(len, pieces), default=0)], np.int64)
    made = MergePieces(slots, content, offsets, limits)
    fill_slots(slots, content, offsets)
    for array in made:
        array.flags.writeable = False
    return made


def new_article_scratch(capacity: int) -> ArticleScratch:
    """Working memory for texts of up to ``capacity`` bytes."""
    symbols = capacity + 2
    return ArticleScratch(
        text=np.zeros(3 * capacity + 3 + MARGIN, np.uint8),
        origins=np.zeros(3 * capacity + 4, np.int32),
        starts=np.zeros(symbols, np.int32),
        ends=np.zeros(symbols, np.int32),
        previous=np.zeros(symbols, np.int32),
        nodes=np.zeros(NODE * symbols, np.int32),
        path=np.zeros(64, np.int32),
        heap=np.zeros(3 * symbols, np.uint64),
    )


@kernel
def prepare_text(data, start, stop, text, origins, starts):
    """Put U+2581 for white space and in front, and list the characters.

    Parameters
    ----------
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
    text : uint8[3 * (stop - start) + 3]
        Written.
    origins : int32[3 * (stop - start) + 4]
        Written: the place, relative to ``start``, of the character that each byte comes from, with the byte's own
        place in it unless it was changed; at last ``stop - start``.
    starts : int32[stop - start + 2]
        Written: where each character starts in ``text``, and where the last one ends.

    Returns
    -------
    int64
        Number of characters.
    """
    n = np.int64(0)
    out = np.int64(0)
    has_space = stop - start >= 3 and data[start] == FIRST and data[start + 1] == SECOND and data[start + 2] == THIRD
    if not has_space:
        _put_space(text, origins, out, np.int64(0))
        starts[0] = 0
        n, out = np.int64(1), np.int64(3)
    position = start
    while position < stop:
        starts[n] = out
        n += 1
        code_point = code_point_at(data, position)
        length = encoded_length(code_point)
        if is_white_space(code_point):
            _put_space(text, origins, out, position - start)
            out += 3
        else:
            for i in range(length):
                text[out + i] = data[position + i]
                origins[out + i] = position + i - start
            out += length
        position += length
    starts[n] = out
    origins[out] = stop - start
    return n


@kernel
def _put_space(text, origins, out, origin):
    text[out] = FIRST
    text[out + 1] = SECOND
    text[out + 2] = THIRD
    for i in range(3):
        origins[out + i] = origin


@inlined
def hash_short(text, start, n):
    """Hash some bytes; up to 16 of them without a loop.

    Parameters
    ----------
    text : uint8[>= start + max(n, MARGIN)]
    start, n : int64
        ``n >= 1``.

    Returns
    -------
    uint64
    """
    if n > MARGIN:
        return hash_bytes(text, start, start + n)
    low = raw_load64(text, start) & shift_right(ALL_ONES, 64 - 8 * min(n, 8))
    high = raw_load64(text, start + 8) & shift_right(ALL_ONES, 64 - 8 * max(n - 8, 1))
    code = multiply(low, MERGE_MULTIPLIER) ^ np.uint64(n)
    if n > 8:
        code ^= multiply(high, BYTES_MULTIPLIER)
    return multiply(code ^ shift_right(code, 32), MERGE_MULTIPLIER)


@inlined
def find_slot(slots, piece_bytes, piece_offsets, text, start, n):
    """Where a piece is in the look-up table, or where it would be.

    Parameters
    ----------
    slots : uint32[2^k]
        Open addressing with linear probing: ``hash bits << 20 | id + 1``, or 0.
    piece_bytes, piece_offsets : uint8[m + MARGIN], int64[V + 1]
        The pieces.
    text : uint8[>= start + max(n, MARGIN)]
    start, n : int64
        ``n >= 1``.

    Returns
    -------
    slot, content : int64, int64
        The slot and, beside its id, what belongs into it: the check bits of the hash.
    """
    code = hash_short(text, start, n)
    slot = np.int64(shift_right(code, 64 - table_bits(slots.size)))
    check = np.int64(code & np.uint64(0xFFF)) << NUMBER_BITS
    while True:
        entry = np.int64(peek(slots, slot))
        if entry == 0:
            return slot, check
        if entry >> NUMBER_BITS << NUMBER_BITS == check:
            piece = (entry & ((1 << NUMBER_BITS) - 1)) - 1
            first = piece_offsets[piece]
            if piece_offsets[piece + 1] - first == n and equal_bytes(piece_bytes, first, text, start, n):
                return slot, check
        slot = (slot + 1) & (slots.size - 1)


@kernel
def fill_slots(slots, piece_bytes, piece_offsets):
    """Enter all pieces into an empty look-up table.

    Parameters
    ----------
    slots : uint32[2^k]
        Written; zeros before, at least twice as many as there are pieces.
    piece_bytes, piece_offsets : uint8[m + MARGIN], int64[V + 1]
        The pieces, all distinct.
    """
    for piece in range(piece_offsets.size - 1):
        first = piece_offsets[piece]
        slot, check = find_slot(slots, piece_bytes, piece_offsets, piece_bytes, first, piece_offsets[piece + 1] - first)
        slots[slot] = np.uint32(check | (piece + 1))


@inlined
def piece_rank(pieces, text, start, stop):
    """Id of the piece ``text[start:stop]``, or -1; the lower, the earlier it is merged.

    Parameters
    ----------
    pieces : MergePieces
    text : uint8[>= start + MARGIN]
    start, stop : int64
        ``start < stop``.

    Returns
    -------
    int64
    """
    if stop - start > peek(pieces.unknown, np.int64(1)):
        return np.int64(-1)
    slot, _ = find_slot(pieces.slots, pieces.piece_bytes, pieces.piece_offsets, text, start, stop - start)
    return (np.int64(peek(pieces.slots, slot)) & ((1 << NUMBER_BITS) - 1)) - 1


@inlined
def has_length(pieces, rank, n):
    """Whether a piece has ``n`` bytes: whether two neighbours of so many bytes are those that it was queued for.

    Parameters
    ----------
    pieces : MergePieces
    rank, n : int64

    Returns
    -------
    bool
    """
    return peek(pieces.piece_offsets, rank + 1) - peek(pieces.piece_offsets, rank) == n


@kernel
def is_too_short(scratch, start, stop):
    """Whether a text does not fit into the scratch.

    Parameters
    ----------
    scratch : ArticleScratch
    start, stop : int64

    Returns
    -------
    bool
    """
    return scratch.starts.size < stop - start + 2


@kernel
def emit_token(pieces, text, origins, start, stop, ids, token_starts, token_ends, out):
    """Write one token.

    Parameters
    ----------
    pieces : MergePieces
    text, origins : uint8[n], int32[n + 1]
        Prepared text (:func:`prepare_text`).
    start, stop : int64
        The token in ``text``.
    ids, token_starts, token_ends : int32[k], int64[k], int64[k]
        Written at ``out``: its id and its bytes in the original text.
    out : int64

    Returns
    -------
    int64
        ``out + 1``.
    """
    rank = piece_rank(pieces, text, start, stop)
    ids[out] = np.int32(pieces.unknown[0] if rank < 0 else rank)
    token_starts[out] = origins[start]
    token_ends[out] = origins[stop]
    return out + 1


@inlined
def keep_tokens(pieces, scratch, first, last, n, expected, ids, token_starts, token_ends, out):
    """Write the tokens of a stretch that stand whatever follows.

    The two algorithms with a queue jump about in their memory, so they take a long text one stretch after the other,
    which stays in the cache. Why that gives the tokens of the whole text is told in
    :mod:`numba_nlp.kernels.segment.merge_long`.

    Parameters
    ----------
    pieces : MergePieces
    scratch : ArticleScratch
        ``ends`` has the result of the stretch.
    first, last, n : int64
        Characters of the stretch, and of all.
    expected : int64
        Character after the first symbol in the result of the stretch before, or -1.
    ids, token_starts, token_ends : int32[k], int64[k], int64[k]
        Written from ``out`` on.
    out : int64

    Returns
    -------
    out, place, expected : int64, int64, int64
        Place after the last token. The character to go on from, ``n`` at the end, -1 when the stretch tells nothing
        and the whole text must be merged at once. The character after the symbol there.
    """
    starts, ends = scratch.starts, scratch.ends
    keep = last if last == n else last - OVERLAP
    place = first
    if expected < 0 or ends[first] == expected:
        while place < keep:
            after = np.int64(ends[place])
            out = emit_token(
                pieces, scratch.text, scratch.origins, np.int64(starts[place]), np.int64(starts[after]), ids,
                token_starts, token_ends, out,
            )  # fmt: skip
            place = after
    if place >= n:
        return out, n, np.int64(-1)
    if first < place < last:
        return out, place, np.int64(ends[place])
    return out, np.int64(-1), np.int64(-1)
