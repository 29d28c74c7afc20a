"""Running scores of SentencePiece's Unigram models: ids of a block of chunks made right for those of its rows.

:mod:`numba_nlp.kernels.segment.sentencepiece_unigram` says which chunks have a mark before their ids, and why running
scores matter.

Twin: ``numba_nlp.reference.segment.sentencepiece_unigram``: whole rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import SPACE
from numba_nlp.kernels.segment.unigram_memory import BYTE_FALLBACK, LARGEST, RESET, UNKNOWN_ID
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.words import peek, unlikely

__all__ = ["ANY_SCORE", "MARK", "MOST_HIDDEN", "is_settled", "settle", "settle_function", "settle_marked"]

#: Bit of an element of the ids that is a mark; vocabularies have fewer ids. The other bits are the limit.
MARK = 1 << 30
#: Limit of a chunk that every running score suits.
ANY_SCORE = MARK - 1
#: Sum of the scores of a chunk without a mark, at most.
MOST_HIDDEN = 5000.0
#: At least one over ``1 + D u`` of the proofs.
_SHRINK = 0.999
_NO_KEY = np.uint64(0)


@inlined
def _begins_with_space(tables, data, start):
    return np.int64(peek(tables.byte_traits, np.int64(peek(data, start)))) & SPACE != 0


@inlined
def _add_up(tables, ids, first, last, running):
    """Running score behind ``ids[first:last]``."""
    for i in range(first, last):
        running += tables.piece_scores[ids[i]]
    return running


@inlined
def _limit_of(tables, ids, first, last):
    """Running score below which none starts again within the chunk of ``ids[first:last]``, unknown ones included.

    A piece has no more characters than bytes, so no sum in the chunk is further from the running score than that many
    times the largest score.
    """
    n_characters = np.int64(0)
    for k in range(first, last):
        n_characters += max(np.int64(tables.piece_lengths[ids[k]]), np.int64(1))
    return _SHRINK * np.float64(tables.scores[RESET]) - n_characters * np.float64(tables.scores[LARGEST]) - 1.0


def settle_marked(tables, data, n, scratch, working, found_starts, found_ends, ids, span_starts, span_ends, out):
    """:func:`settle` for a block with marks, or one in which the running score may start again.

    The code that is compiled for ids alone, and for ids with spans (:mod:`numba_nlp.kernels.segment.spanned_families`).

    Parameters
    ----------
    tables, data, n, scratch
        As of :func:`settle`.
    working : WordCache, or tuple
        What solving a chunk once more takes.
    found_starts, found_ends : int64[room] or int64[0]
        Where that writes the spans of the ids in ``scratch.nodes``.
    ids : int32[k]
    span_starts, span_ends : int64[k] or int64[0]
        Spans of the ids, which move with them.
    out : int64
        Place after the last id.

    Returns
    -------
    int64
        As of :func:`settle`.
    """
    has_spans = span_starts.size != 0
    unknown = np.int32(tables.numbers[UNKNOWN_ID])
    merges = tables.numbers[BYTE_FALLBACK] == 0
    safe = _SHRINK * np.float64(tables.scores[RESET]) - MOST_HIDDEN - 1.0
    emitted = scratch.emitted
    write = emitted[0]
    running = _add_up(tables, ids, scratch.known[0], write, np.float32(scratch.running[0]))
    first, moved = write, np.int64(0)
    for i in range(n):
        last = emitted[i + 1] + moved
        emitted[i] = write
        if not _begins_with_space(tables, data, scratch.starts[i]):
            running = np.float32(0)
        limit, any_score = safe, True
        if first < last and ids[first] >= MARK:
            if ids[first] != MARK | ANY_SCORE:
                limit, any_score = np.float64(ids[first] - MARK), False
            first += 1
        if unlikely(any_score and abs(np.float64(running)) >= safe):
            limit = max(safe, _limit_of(tables, ids, first, last))
        if abs(np.float64(running)) < limit:
            after_unknown = False
            for k in range(first, last):
                piece = ids[k]
                running += tables.piece_scores[piece]
                if after_unknown and piece == unknown:
                    if has_spans:
                        span_ends[write - 1] = span_ends[k]
                else:
                    ids[write] = piece
                    if has_spans:
                        span_starts[write] = span_starts[k]
                        span_ends[write] = span_ends[k]
                    write += 1
                after_unknown = merges and piece == unknown
            first = last
            continue
        # the lists that the path was traced with take the ids: there may be more than before
        scratch.running[0] = np.float64(running)
        n_ids = solve_again(tables, data, i, scratch, working)  # noqa: F821  bound by `specialise`
        if n_ids < 0:
            return n_ids
        if n_ids > 0:
            running = np.float32(scratch.running[0])
        first = last
        lacking = write + n_ids - first
        if lacking > 0:
            for k in range(out - 1, first - 1, -1):
                ids[k + lacking] = ids[k]
                if has_spans:
                    span_starts[k + lacking] = span_starts[k]
                    span_ends[k + lacking] = span_ends[k]
            first += lacking
            out += lacking
            moved += lacking
        for k in range(n_ids):
            ids[write + k] = scratch.nodes[k]
            if has_spans:
                span_starts[write + k] = found_starts[k]
                span_ends[write + k] = found_ends[k]
        write += n_ids
    emitted[n] = write
    scratch.known[0] = write
    scratch.running[0] = np.float64(running)
    scratch.running[1] = abs(np.float64(running))
    return write


def _solve_ids_again(tables, data, i, scratch, cache):
    """Ids of chunk ``i`` with the running score before it, in ``scratch.nodes``."""
    start = scratch.starts[i]
    return solve_unseen(  # noqa: F821  bound by `settle_function`
        tables, cache, data, start, scratch.ends[i] - start, _NO_KEY, _NO_KEY, np.int64(-1), scratch, scratch.nodes,
        np.int64(0),
    )  # fmt: skip


@inlined
def is_settled(tables, data, opened, scratch, ids, out):
    """Whether a block has no marks and every running score suits it; then its sum is noted.

    Parameters
    ----------
    tables, data, opened, scratch, ids, out
        As of :func:`settle`.

    Returns
    -------
    bool
    """
    begin = scratch.emitted[0]
    if opened < 0 and not _begins_with_space(tables, data, scratch.starts[0]):
        opened = np.int64(0)
    held = np.int32(0)
    for i in range(begin, out):
        held |= ids[i]
    largest = np.float64(tables.scores[LARGEST])
    reached = (out - begin) * largest
    if opened != 0:
        reached += scratch.running[1]
    if unlikely(held >= MARK or reached + MOST_HIDDEN + 1.0 > _SHRINK * np.float64(tables.scores[RESET])):
        return False
    if opened >= 0:
        known = scratch.emitted[opened]
        scratch.known[0] = known
        scratch.running[0] = 0.0
        scratch.running[1] = (out - known) * largest
    else:
        scratch.running[1] = reached
    return True


def settle(tables, cache, data, n, opened, scratch, ids, out):
    """Make the ids of a block right for the running scores of its rows, as the module explains.

    Parameters
    ----------
    tables, cache : SentencePieceTables, WordCache
    data : uint8[m]
    n : int64
        Chunks in ``scratch.starts`` and ``scratch.ends``, at least one, with the places of their ids in
        ``scratch.emitted``.
    opened : int64
        Number of the chunk with which the last row of the block begins, ``n`` when none of it is in the block yet; -1
        when it began in an earlier block or with this one.
    scratch : SentencePieceScratch
        ``emitted``, ``running`` and ``known`` are written.
    ids : int32[k]
    out : int64
        Place after the last id.

    Returns
    -------
    int64
        Place after the last id now; negative, as of
        :func:`numba_nlp.kernels.segment.sentencepiece_unigram.encode_unseen`, when the scratch is too small.
    """
    if is_settled(tables, data, opened, scratch, ids, out):
        return out
    no_spans = scratch.starts[:0]
    return settle_ids(  # noqa: F821  bound by `settle_function`
        tables, data, n, scratch, cache, no_spans, no_spans, ids, no_spans, no_spans, out
    )


def settle_function(name: str, unseen: Any) -> Any:
    """Build and compile :func:`settle` for a row encoder (:func:`numba_nlp.kernels.segment.cached_rows.rows_function`).

    Parameters
    ----------
    name : str
        Of the row encoder.
    unseen : callable
        :func:`numba_nlp.kernels.segment.sentencepiece_unigram.encode_unseen`, or a stand-in.
    """
    again = inlined(specialise(_solve_ids_again, f"_solve_again_of_{name}", solve_unseen=unseen))
    marked = kernel(specialise(settle_marked, f"_settle_marked_of_{name}", solve_again=again))
    return inlined(specialise(settle, f"_settle_of_{name}", settle_ids=marked))
