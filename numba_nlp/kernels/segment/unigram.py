"""Unigram segmentation of normalised text: the most likely pieces, by Viterbi's algorithm over a trie.

Ids are those of sentencepiece 0.2.3 (Kudo and Richardson 2018; Kudo 2018), whose arithmetic decides where paths are
nearly equal, so it is part of the algorithm:

- Scores of pieces are added up in single precision from the start of the text on, each sum rounded. When the score of
  a position that is left by pieces is below -100,000 or above 100,000, it is subtracted from all positions that are
  reached already.
- Positions are left in the order of the text. A path replaces another one that ends at the same place only if its
  score is higher, so among equals the longest last piece wins.
- A character of which no piece consists is unknown, with the lowest score of a normal piece minus 10. Runs of
  unknown characters become one id; with byte fallback each of their bytes becomes one.
- User-defined pieces score ``0.1 * (length - 1)``. Control, unknown, byte and unused pieces are never found in text.

:mod:`numba_nlp.kernels.segment.unigram_chunks` says when the result of a part of the text may be used again.

Twin: ``numba_nlp.reference.segment.unigram``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.unigram_memory import (
    BYTE_FALLBACK,
    LONGEST,
    RESET,
    SPACE_BASE,
    UNKNOWN_ID,
    UNKNOWN_SCORE,
)
from numba_nlp.kernels.tables.double_array import BASE_SHIFT, HAS_VALUE, LABEL_MASK, ROOT, value_at
from numba_nlp.kernels.words import peek, poke, unlikely


@inlined
def character_length(byte, left):
    """Bytes of a character.

    Parameters
    ----------
    byte : int64
        Its first byte; a byte that starts no character counts as one of a single byte.
    left : int64
        Most that the length can be.

    Returns
    -------
    int64
        1 to 4.
    """
    n = 1 + np.int64(byte >= 0xC0) + np.int64(byte >= 0xE0) + np.int64(byte >= 0xF0)
    return min(n, left)


@inlined
def _is_space(text, place):
    """Whether the character at ``place``, of three bytes and beginning with 0xE2, is U+2581."""
    return peek(text, place + 1) == 0x96 and peek(text, place + 2) == 0x81


@inlined
def _start_again(best, place, n):
    """Subtract ``best[place]`` from the positions up to ``n`` that are reached."""
    offset = best[place]
    for i in range(place, n + 1):
        best[i] -= offset


@inlined
def find_best(tables, text, start, stop, running, scratch, with_second):
    """Best path to every position of ``text[start:stop]``.

    Parameters
    ----------
    tables : UnigramTables
    text : uint8[m]
    start, stop : int64
        Not empty; at most the capacity of the scratch.
    running : float
        Score before ``start``.
    scratch : UnigramScratch
        ``best``, ``nodes``, ``origins`` and, when asked for, ``second`` and ``since`` are written.
    with_second : bool

    Returns
    -------
    int64
        Number of characters.
    """
    units, node_scores = tables.units, tables.node_scores
    best, second, nodes, origins = scratch.best, scratch.second, scratch.nodes, scratch.origins
    since = scratch.since
    unknown_score, reset = tables.scores[UNKNOWN_SCORE], tables.scores[RESET]
    none = -node_scores.dtype.type(np.inf)
    n = stop - start
    best[0] = running
    for i in range(1, n + 1):
        best[i] = none
    if with_second:
        for i in range(n + 1):
            second[i] = none
    root = np.int64(peek(units, ROOT)) >> BASE_SHIFT
    space_base = tables.numbers[SPACE_BASE]
    at = np.int64(0)
    n_characters = np.int64(0)
    # where the pieces found so far end at most; characters before the last place that none of them reaches across
    reach, before_cut = np.int64(0), np.int64(0)
    while at < n:
        here = peek(best, at)
        if unlikely(here < -reset or here > reset):
            _start_again(best, at, min(n, at + tables.numbers[LONGEST]))
            here = peek(best, at)
        byte = np.int64(peek(text, start + at))
        width = character_length(byte, n - at)
        following = at + width
        known = none
        place = at
        last = following
        base = root
        if byte == 0xE2 and width == 3 and space_base >= 0 and _is_space(text, start + at):
            # U+2581, the most frequent of the longer characters: its first two bytes are taken at once
            base = space_base
            place += 2
            byte = np.int64(0x81)
        while True:
            child = base ^ byte
            unit = np.int64(peek(units, child))
            if (unit & LABEL_MASK) != byte:
                break
            place += 1
            base = unit >> BASE_SHIFT
            if unit & HAS_VALUE != 0:
                # no branch on what nobody can foresee, which of the two is better
                score = peek(node_scores, child)
                candidate = here + score
                if place == following:
                    known = score
                last = place
                old = peek(best, place)
                better = candidate > old
                if with_second:
                    loser = old if better else candidate
                    held = peek(second, place)
                    poke(second, place, loser if loser > held else held)
                poke(best, place, candidate if better else old)
                poke(nodes, place, np.int32(child) if better else peek(nodes, place))
                poke(origins, place, np.int32(at) if better else peek(origins, place))
            if place >= n:
                break
            byte = np.int64(peek(text, start + place))
        if unlikely(known == none):
            candidate = here + unknown_score
            old = peek(best, following)
            better = candidate > old
            if with_second:
                loser = old if better else candidate
                if loser > second[following]:
                    second[following] = loser
            if better:
                best[following] = candidate
                nodes[following] = np.int32(-width)
                origins[following] = np.int32(at)
        if with_second:
            if reach <= at:
                before_cut = n_characters
            reach = max(reach, last)
            poke(since, following, np.int32(n_characters + 1 - before_cut))
        at = following
        n_characters += 1
    return n_characters


@inlined
def trace_path(tables, n, scratch):
    """Steps of the best path to position ``n``, in order.

    Parameters
    ----------
    tables : UnigramTables
    n : int64
    scratch : UnigramScratch
        ``nodes`` and ``origins`` of :func:`find_best`; the end of ``path`` is written: an id, or ``-n`` for an unknown
        character of ``n`` bytes.

    Returns
    -------
    int64
        Where the steps start in ``path``; they end with it.
    """
    nodes, origins, path = scratch.nodes, scratch.origins, scratch.path
    first = np.int64(path.size)
    end = n
    while end > 0:
        node = np.int64(nodes[end])
        first -= 1
        # the next step does not wait for the id of this one
        end = np.int64(origins[end])
        path[first] = np.int32(node if node < 0 else value_at(tables.units, node))
    return first


@inlined
def write_ids(tables, text, start, path, first, ids, token_ends, out):
    """Ids of a path as sentencepiece gives them.

    Parameters
    ----------
    tables : UnigramTables
    text : uint8[m]
    start : int64
        Where the path starts in the text.
    path, first : int32[c], int64
        Steps, as of :func:`trace_path`, from ``first`` on.
    ids : int32[k]
        Written from ``out`` on, at most one id a byte.
    token_ends : int64[k]
        Written likewise: where each token ends in the text; of length 0 when that is not wanted.
    out : int64

    Returns
    -------
    int64
        Place behind the last id.
    """
    unknown, as_bytes = tables.numbers[UNKNOWN_ID], tables.numbers[BYTE_FALLBACK] != 0
    place = start
    after_unknown = False
    for i in range(first, path.size):
        step = np.int64(path[i])
        if step >= 0:
            place += tables.piece_lengths[step]
            ids[out] = np.int32(step)
            if token_ends.size > 0:
                token_ends[out] = place
            out += 1
        elif as_bytes:
            for _ in range(-step):
                ids[out] = tables.byte_ids[text[place]]
                place += 1
                if token_ends.size > 0:
                    token_ends[out] = place
                out += 1
        else:
            place -= step
            if not after_unknown:
                ids[out] = np.int32(unknown)
                out += 1
            if token_ends.size > 0:
                token_ends[out - 1] = place
        after_unknown = step < 0
    return out


@kernel
def write_path(tables, text, start, path, first, ids, token_ends, out):
    """:func:`write_ids` for callers in Python; arguments of :func:`write_ids`."""
    return write_ids(tables, text, start, path, first, ids, token_ends, out)


@kernel
def segment(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of ``text[start:stop]``, a whole row of normalised text.

    Parameters
    ----------
    tables : UnigramTables
    text : uint8[m]
        UTF-8.
    start, stop : int64
    scratch : UnigramScratch
    ids, token_ends, out
        As of :func:`write_ids`.

    Returns
    -------
    int64
        Place behind the last id; ``start - stop`` when the capacity of the scratch is smaller than the row.
    """
    n = stop - start
    if n >= scratch.best.size:
        return -n
    if n <= 0:
        return out
    find_best(tables, text, start, stop, tables.scores.dtype.type(0), scratch, False)
    return write_ids(tables, text, start, scratch.path, trace_path(tables, n, scratch), ids, token_ends, out)
