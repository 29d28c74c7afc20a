"""Unigram segmentation as tokenizers does it (0.23, model ``Unigram``).

The search is that of :mod:`numba_nlp.kernels.segment.unigram` with scores in double precision, which are never reset,
and with every entry of the vocabulary found in text, the unknown token and control tokens included. What follows
differs: unknown characters and the unknown token itself, as far as they adjoin, become one stretch, and a stretch
gets

- the id of the entry that it equals, if there is one;
- with byte fallback, the ids of its bytes if the vocabulary holds all of them;
- else the id of the unknown token.

A vocabulary without unknown token cannot segment text in which a character is reached by no entry.

Twin: ``numba_nlp.reference.segment.unigram_tokenizers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.unigram import character_length, find_best, trace_path
from numba_nlp.kernels.segment.unigram_memory import BYTE_FALLBACK, STATUS_NO_UNKNOWN, UNKNOWN_ID
from numba_nlp.kernels.tables.double_array import find


@inlined
def is_unknown_anywhere(text, start, n, scratch):
    """Whether the best path to some character's end is one by an unknown character.

    Parameters
    ----------
    text : uint8[m]
    start, n : int64
    scratch : UnigramScratch
        ``nodes`` of :func:`numba_nlp.kernels.segment.unigram.find_best`.

    Returns
    -------
    bool
    """
    at = np.int64(0)
    while at < n:
        at += character_length(np.int64(text[start + at]), n - at)
        if scratch.nodes[at] < 0:
            return True
    return False


@inlined
def write_unknown(tables, text, start, stop, ids, token_ends, out):
    """Ids of a stretch of unknown characters.

    Parameters
    ----------
    tables : UnigramTables
    text : uint8[m]
    start, stop : int64
    ids, token_ends, out
        As of :func:`numba_nlp.kernels.segment.unigram.write_ids`.

    Returns
    -------
    int64
        Place behind the last id.
    """
    entry = find(tables.units, text, start, stop)
    as_bytes = entry < 0 and tables.numbers[BYTE_FALLBACK] != 0
    for place in range(start, stop):
        as_bytes = as_bytes and tables.byte_ids[text[place]] >= 0
    if as_bytes:
        for place in range(start, stop):
            ids[out] = tables.byte_ids[text[place]]
            if token_ends.size > 0:
                token_ends[out] = place + 1
            out += 1
        return out
    ids[out] = np.int32(entry if entry >= 0 else tables.numbers[UNKNOWN_ID])
    if token_ends.size > 0:
        token_ends[out] = stop
    return out + 1


@kernel
def segment(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of ``text[start:stop]``, which tokenizers calls one pre-token.

    Parameters
    ----------
    tables : UnigramTables
        In double precision.
    text : uint8[m]
        UTF-8.
    start, stop : int64
    scratch : UnigramScratch
    ids, token_ends, out
        As of :func:`numba_nlp.kernels.segment.unigram.write_ids`.

    Returns
    -------
    int64
        Place behind the last id; ``STATUS_NO_UNKNOWN``; or ``start - stop`` when the capacity of the scratch is smaller
        than the text.
    """
    n = stop - start
    if n >= scratch.best.size:
        return -n
    if n <= 0:
        return out
    find_best(tables, text, start, stop, tables.scores.dtype.type(0), scratch, False)
    unknown = tables.numbers[UNKNOWN_ID]
    if unknown < 0 and is_unknown_anywhere(text, start, n, scratch):
        return np.int64(STATUS_NO_UNKNOWN)
    first = trace_path(tables, n, scratch)
    place, unknown_start = start, np.int64(-1)
    for i in range(first, scratch.path.size):
        step = np.int64(scratch.path[i])
        if step < 0 or step == unknown:
            if unknown_start < 0:
                unknown_start = place
            place += -step if step < 0 else np.int64(tables.piece_lengths[step])
            continue
        if unknown_start >= 0:
            out = write_unknown(tables, text, unknown_start, place, ids, token_ends, out)
            unknown_start = np.int64(-1)
        place += tables.piece_lengths[step]
        ids[out] = np.int32(step)
        if token_ends.size > 0:
            token_ends[out] = place
        out += 1
    if unknown_start >= 0:
        out = write_unknown(tables, text, unknown_start, place, ids, token_ends, out)
    return out
