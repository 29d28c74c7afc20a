"""The two Unigram algorithms of "A Rust SentencePiece implementation" (Becquin, 2020), by the names of the article.

Both are Viterbi's algorithm over the characters of a text; the only preparation of the text is U+2581 for each space
(:func:`replace_spaces`). :func:`nested_loops` looks up every one of the N(N + 1) / 2 substrings in a hash table;
:func:`trie` asks a trie for the pieces that the text goes on with at each character. Ids are the same:

- every piece counts as text, control pieces included;
- scores are added up in single precision; a path replaces another one only if it is better, so among equals the
  longest last piece wins;
- a character that no path reaches becomes a token of id 0, and the score starts again from 0 behind it, so that a path
  through an unknown character may beat a longer piece ("abc" with the pieces a -2, c -3, abc -5 gives a, 0, c).
  Unknown characters are not joined.

For the ids of sentencepiece take :mod:`numba_nlp.kernels.segment.unigram`.

Hashes of substrings come from those of the text's beginnings, one multiplication each (Karp and Rabin, 1987). Of a
substring that hits an entry all bytes are compared.

Twin: ``numba_nlp.reference.articles.unigram``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.unigram import character_length
from numba_nlp.kernels.tables.double_array import ROOT, step, value_at
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, equal_bytes, table_bits
from numba_nlp.kernels.words import ALL_ONES, add, multiply, peek, shift_left, shift_right

#: Base of the polynomials; odd.
_BASE = np.uint64(0xD6E8FEB86659FD93)
_LOW = np.uint64(0xFFFFFFFF)
_EMPTY = np.uint64(0)


class ArticleTables(NamedTuple):
    """A vocabulary, whose pieces all count; made by ``vocab_tools.compiler.article_unigram.article_tables``."""

    slots: Any  # uint64[2^k]: half of the hash << 32 | id + 1, or 0
    units: Any  # uint32[n]: double array
    piece_bytes: Any  # uint8[m]
    piece_offsets: Any  # int64[V + 1]
    piece_scores: Any  # float32[V]


class ArticleScratch(NamedTuple):
    """Working memory for texts of ``capacity - 1`` bytes."""

    places: Any  # int32[capacity]: where characters start
    hashes: Any  # uint64[capacity]
    powers: Any  # uint64[capacity]
    scores: Any  # float32[capacity], by character
    starts: Any  # int32[capacity]: character where the last piece of the best path starts
    pieces: Any  # int32[capacity]: its id


def new_article_scratch(capacity: int) -> ArticleScratch:
    """Working memory for texts of less than ``capacity`` bytes."""
    return ArticleScratch(
        places=np.zeros(capacity, np.int32),
        hashes=np.zeros(capacity, np.uint64),
        powers=np.zeros(capacity, np.uint64),
        scores=np.zeros(capacity, np.float32),
        starts=np.zeros(capacity, np.int32),
        pieces=np.zeros(capacity, np.int32),
    )


@kernel
def replace_spaces(data, start, stop, text):
    """Write U+2581 for each space.

    Parameters
    ----------
    data : uint8[m]
    start, stop : int64
    text : uint8[3 * (stop - start)]
        Written.

    Returns
    -------
    int64
        Number of written bytes.
    """
    n = np.int64(0)
    for i in range(start, stop):
        if data[i] == 0x20:
            text[n], text[n + 1], text[n + 2] = 0xE2, 0x96, 0x81
            n += 3
        else:
            text[n] = data[i]
            n += 1
    return n


@inlined
def _longer_hash(code, byte):
    """Hash of a byte string with one more byte."""
    return add(multiply(code, _BASE), np.uint64(byte) + np.uint64(1))


@inlined
def _slot_of(code, bits):
    """Slot and check of a hash; its low bits alone do not depend on all bytes."""
    mixed = multiply(code ^ shift_right(code, 32), MERGE_MULTIPLIER)
    return np.int64(shift_right(mixed, 64 - bits)), mixed & _LOW


@kernel
def fill_article_slots(piece_bytes, piece_offsets, slots):
    """Enter all pieces into an empty hash table.

    Parameters
    ----------
    piece_bytes, piece_offsets : uint8[m], int64[V + 1]
        Distinct and not empty.
    slots : uint64[2^k]
        Written; zeros before, ``2^k >= 2 * V``.

    Returns
    -------
    int64
        Number of pieces.
    """
    bits, mask = table_bits(slots.size), slots.size - 1
    for piece in range(piece_offsets.size - 1):
        code = np.uint64(0)
        for i in range(piece_offsets[piece], piece_offsets[piece + 1]):
            code = _longer_hash(code, piece_bytes[i])
        slot, check = _slot_of(code, bits)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = shift_left(check, 32) | np.uint64(piece + 1)
    return np.int64(piece_offsets.size - 1)


@inlined
def find_substring(tables, text, start, stop, code):
    """Id of the piece ``text[start:stop]``, or -1.

    Parameters
    ----------
    tables : ArticleTables
    text : uint8[m]
    start, stop : int64
    code : uint64
        Hash of the substring.

    Returns
    -------
    int64
    """
    bits, mask = table_bits(tables.slots.size), tables.slots.size - 1
    slot, check = _slot_of(code, bits)
    while True:
        entry = peek(tables.slots, slot)
        if entry == _EMPTY:
            return np.int64(-1)
        if shift_right(entry, 32) == check:
            piece = np.int64(entry & _LOW) - 1
            first = tables.piece_offsets[piece]
            n = tables.piece_offsets[piece + 1] - first
            if n == stop - start and equal_bytes(tables.piece_bytes, first, text, start, n):
                return piece
        slot = (slot + 1) & mask


@inlined
def list_characters(text, start, stop, places):
    """Where characters start.

    Parameters
    ----------
    text : uint8[m]
        UTF-8.
    start, stop : int64
    places : int32[k]
        Written: places of the characters from ``start`` on, and ``stop - start``.

    Returns
    -------
    int64
        Number of characters.
    """
    n = np.int64(0)
    at = start
    while at < stop:
        places[n] = np.int32(at - start)
        n += 1
        at += character_length(np.int64(text[at]), stop - at)
    places[n] = np.int32(stop - start)
    return n


@inlined
def walk_back(start, n, scratch, ids, token_ends, out):
    """Write the best path, from its end to its start and then turned round.

    Parameters
    ----------
    start : int64
        Where the text starts.
    n : int64
        Characters.
    scratch : ArticleScratch
    ids, token_ends : int32[k], int64[k]
        Written from ``out`` on; ``token_ends`` may be of length 0.
    out : int64

    Returns
    -------
    int64
        Place behind the last id.
    """
    tokens = np.int64(0)
    at = n
    while at > 0:
        tokens += 1
        at = np.int64(scratch.starts[at])
    at = n
    for i in range(out + tokens - 1, out - 1, -1):
        ids[i] = scratch.pieces[at]
        if token_ends.size > 0:
            token_ends[i] = start + scratch.places[at]
        at = np.int64(scratch.starts[at])
    return out + tokens


@kernel
def nested_loops(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of ``text[start:stop]`` by looking up all substrings.

    Parameters
    ----------
    tables : ArticleTables
    text : uint8[m]
        UTF-8, prepared by :func:`replace_spaces`.
    start, stop : int64
    scratch : ArticleScratch
    ids, token_ends : int32[k], int64[k]
        Written from ``out`` on, at most one id a character: ids, and where the tokens end in ``text`` unless
        ``token_ends`` is of length 0.
    out : int64

    Returns
    -------
    int64
        Place behind the last id; ``start - stop`` when the scratch is too small.

    Notes
    -----
    N(N + 1) / 2 look-ups for N characters, each in constant time unless it finds something.
    """
    if stop - start >= scratch.places.size:
        return start - stop
    places, hashes, powers = scratch.places, scratch.hashes, scratch.powers
    n = list_characters(text, start, stop, places)
    code, power = np.uint64(0), np.uint64(1)
    for i in range(stop - start):
        hashes[i], powers[i] = code, power
        code = _longer_hash(code, text[start + i])
        power = multiply(power, _BASE)
    hashes[stop - start], powers[stop - start] = code, power
    scores = scratch.scores
    scores[0] = 0.0
    for end in range(1, n + 1):
        last = np.int64(places[end])
        code = hashes[last]
        best = -scores.dtype.type(np.inf)
        for begin in range(end):
            first = np.int64(peek(places, begin))
            # the hash of the substring: what the bytes before it add is taken away
            before = multiply(peek(hashes, first), peek(powers, last - first))
            piece = find_substring(tables, text, start + first, start + last, add(code, multiply(before, ALL_ONES)))
            if piece >= 0:
                score = scores[begin] + tables.piece_scores[piece]
                if score > best:
                    best = score
                    scratch.starts[end], scratch.pieces[end] = begin, piece
        if best == -np.inf:
            best = scores.dtype.type(0)
            scratch.starts[end], scratch.pieces[end] = end - 1, 0
        scores[end] = best
    return walk_back(start, n, scratch, ids, token_ends, out)


@kernel
def trie(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of ``text[start:stop]`` by common prefix search.

    Parameters
    ----------
    tables, text, start, stop, scratch, ids, token_ends, out
        As of :func:`nested_loops`.

    Returns
    -------
    int64
        Place behind the last id; ``start - stop`` when the scratch is too small.

    Notes
    -----
    As many steps from byte to byte as the pieces at each character, and the first bytes that no piece goes on with.
    """
    if stop - start >= scratch.places.size:
        return start - stop
    places, scores = scratch.places, scratch.scores
    n = list_characters(text, start, stop, places)
    scores[0] = 0.0
    for i in range(1, n + 1):
        scores[i] = -np.inf
    for begin in range(n):
        node = np.int64(ROOT)
        end = begin + 1
        here = scores[begin]
        for place in range(places[begin], stop - start):
            node = step(tables.units, node, np.int64(peek(text, start + place)))
            if node < 0:
                break
            # pieces are whole characters, so they end where one does
            if place + 1 == peek(places, end):
                piece = value_at(tables.units, node)
                if piece >= 0:
                    score = here + tables.piece_scores[piece]
                    if score > scores[end]:
                        scores[end] = score
                        scratch.starts[end], scratch.pieces[end] = begin, piece
                end += 1
        if scores[begin + 1] == -np.inf:
            scores[begin + 1] = 0.0
            scratch.starts[begin + 1], scratch.pieces[begin + 1] = begin, 0
    return walk_back(start, n, scratch, ids, token_ends, out)
