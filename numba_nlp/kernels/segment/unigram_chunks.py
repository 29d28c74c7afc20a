r"""Unigram segmentation by chunks, of which some are known from earlier: when the result of one may be used again.

A row may be cut where no piece of the vocabulary reaches across (:func:`chunk_end`): every path goes through that
place, so the best path to its right depends on the left only through the running score that all its candidates have
in common. In real numbers it would not depend at all. But scores are added up with rounding, and the rounding of a sum
depends on the magnitude of the running score, so paths that are nearly equal may swap. :func:`solve` therefore finds
with the ids of a chunk also a limit: below it the running score (its absolute value) changes nothing.

Let the chunk have :math:`D` characters, let :math:`L` be the largest absolute value of a score, :math:`G = D L`,
:math:`u` the unit of rounding (2\ :sup:`-24` in single precision), :math:`B` the running score before the chunk, and
:math:`g(p)` the best sum of scores on a path from its start to :math:`p`, in real numbers.

1. At most :math:`D` scores are added on any path. As long as no sum exceeds :math:`A` in absolute value, each addition
   is off by at most :math:`u A`. By induction over positions the computed :math:`f(p)` differs from :math:`B + g(p)` by
   at most :math:`D u A`, and so does the computed score of every candidate from its true one: the maximum of numbers
   that are each off by at most :math:`e` is off by at most :math:`e`.
2. :math:`|f| \le |B| + G + D u A`, hence :math:`A = c (|B| + G)` does, with :math:`c = 1 / (1 - D u)`.
   For :math:`D \le 2^{14}` in single precision :math:`1/c > 0.999`.
3. Solve the chunk once with the running score :math:`B_0`, and let :math:`m` be the least distance, over the
   positions on the best path, between the computed score of the winner and that of the best loser. In real numbers
   they are at least :math:`m - 2 D u A_0` apart. With running score :math:`B` the winner's computed score is therefore
   above every loser's if :math:`m - 2 D u A_0 > 2 D u A`: whatever the rule for ties, the same candidate wins at the
   end of the chunk, then at the start of that piece, and so on to the start.
4. With 2, this holds if :math:`|B| < m / (2 u c D) - |B_0| - 2 G`.
5. Nothing is reset (see :mod:`numba_nlp.kernels.segment.unigram`) while :math:`A` is below the reset limit
   :math:`R`, that is if :math:`|B| < R / c - G`.

The limit is the smaller of the two bounds, less 1 for the rounding of the bounds. The running score itself is
made up from the ids (:func:`replay`) when it is needed: added up along the path, one rounded sum after the other, it
is the very number that segmenting the whole row has there. Until then a bound of it will do. Runs of unknown characters
are one id and so cannot be added up again; chunks with such are never used again.

Twin: ``numba_nlp.reference.segment.unigram_chunks``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.unigram import find_best, trace_path, write_ids
from numba_nlp.kernels.segment.unigram_memory import HALF_ULP, LARGEST, LIMIT, RESET, RUNNING
from numba_nlp.kernels.words import peek

#: Where text may be cut (``pieces_split_at_spaces`` of ``vocab_tools.compiler.unigram_pieces``): nowhere, before each
#: U+2581, before each run of U+2581, behind each, behind each run.
SPLIT_NONE, SPLIT_BEFORE_EACH, SPLIT_BEFORE_RUNS, SPLIT_BEHIND_EACH, SPLIT_BEHIND_RUNS = range(5)
#: Characters of a chunk beyond which it gets no limit.
MAX_CHARACTERS = 1 << 14
#: At least ``1 / c`` of the proof.
_SHRINK = 0.999


class KnownChunks(NamedTuple):
    """Results of chunks by number."""

    limits: Any  # float64[m]: from :func:`solve`
    offsets: Any  # int64[m + 1]
    ids: Any  # int32[offsets[m]]


@inlined
def _is_space_at(text, place, stop):
    return (
        place + 3 <= stop
        and peek(text, place) == 0xE2
        and peek(text, place + 1) == 0x96
        and peek(text, place + 2) == 0x81
    )


@kernel
def chunk_end(text, start, stop, split):
    """End of the chunk that starts at ``start``.

    Parameters
    ----------
    text : uint8[m]
        UTF-8.
    start, stop : int64
        The chunk's start and the end of the row, ``start < stop``.
    split : int64
        One of the ``SPLIT_`` constants.

    Returns
    -------
    int64
        Above ``start``, up to ``stop``.
    """
    if split == SPLIT_NONE:
        return stop
    place = start
    space = _is_space_at(text, place, stop)
    while place < stop:
        place += 3 if space else 1
        following = _is_space_at(text, place, stop)
        if split == SPLIT_BEFORE_EACH:
            cut = following
        elif split == SPLIT_BEFORE_RUNS:
            cut = following and not space
        elif split == SPLIT_BEHIND_EACH:
            cut = space
        else:
            cut = space and not following
        if cut:
            return min(place, stop)
        space = following
    return stop


@inlined
def running_limit(tables, n, n_characters, running, scratch, first):
    """Limit of a chunk that was just solved, as the module explains.

    Parameters
    ----------
    tables : UnigramTables
    n, n_characters : int64
        Bytes and characters of the chunk.
    running : float
        Score before it.
    scratch : UnigramScratch
        After :func:`numba_nlp.kernels.segment.unigram.find_best` with ``second``, and ``trace_path``.
    first : int64
        Where the path starts in ``scratch.path``.

    Returns
    -------
    float64
        The result holds for every running score of an absolute value below; -1 when for none.
    """
    sums = np.float64(n_characters) * np.float64(tables.scores[LARGEST])
    reset = _SHRINK * np.float64(tables.scores[RESET]) - sums
    start_score = abs(np.float64(running))
    if n_characters > MAX_CHARACTERS or not start_score < reset:
        return -1.0
    margin = np.inf
    place = np.int64(0)
    for i in range(first, scratch.path.size):
        step = np.int64(scratch.path[i])
        if step < 0:
            return -1.0
        place += tables.piece_lengths[step]
        distance = np.float64(scratch.best[place]) - np.float64(scratch.second[place])
        margin = min(margin, distance)
    bound = _SHRINK * margin / (2.0 * np.float64(tables.scores[HALF_ULP]) * n_characters) - start_score - 2.0 * sums
    return max(min(bound, reset) - 1.0, -1.0)


@kernel
def solve(tables, text, start, stop, running, scratch, ids, token_ends, out):
    """Ids of a chunk with a given running score.

    Parameters
    ----------
    tables : UnigramTables
    text : uint8[m]
        UTF-8.
    start, stop : int64
    running : float64
        Score before the chunk, a number of the precision of the tables.
    scratch : UnigramScratch
        ``outcome[RUNNING]`` and ``outcome[LIMIT]`` are written: the score behind the chunk, and below which absolute
        value of ``running`` the ids are the same (-1: of none).
    ids, token_ends, out
        As of :func:`numba_nlp.kernels.segment.unigram.write_ids`.

    Returns
    -------
    int64
        Place behind the last id; ``start - stop`` when the capacity of the scratch is smaller than the chunk.
    """
    n = stop - start
    if n >= scratch.best.size:
        return -n
    scratch.outcome[RUNNING], scratch.outcome[LIMIT] = running, np.inf
    if n <= 0:
        return out
    before = tables.scores.dtype.type(running)
    n_characters = find_best(tables, text, start, stop, before, scratch, True)
    first = trace_path(tables, n, scratch)
    scratch.outcome[RUNNING] = scratch.best[n]
    scratch.outcome[LIMIT] = running_limit(tables, n, n_characters, before, scratch, first)
    return write_ids(tables, text, start, scratch.path, first, ids, token_ends, out)


@kernel
def replay(tables, ids, first, last, running):
    """Running score behind ``ids[first:last]``, none of them unknown.

    Parameters
    ----------
    tables : UnigramTables
    ids : int32[k]
    first, last : int64
    running : float64
        Score before.

    Returns
    -------
    float64
    """
    total = tables.scores.dtype.type(running)
    for i in range(first, last):
        total += tables.piece_scores[ids[i]]
    return np.float64(total)


@kernel
def segment_chunks(tables, known, text, start, ends, numbers, scratch, ids, token_ends, out, reused):
    """Ids of a row that is cut into chunks, of which some are known.

    Parameters
    ----------
    tables : UnigramTables
    known : KnownChunks
    text : uint8[m]
        UTF-8.
    start : int64
        Start of the row.
    ends : int64[c]
        Ends of its chunks, as :func:`chunk_end` cuts.
    numbers : int64[c]
        Number in ``known`` of a chunk, or -1.
    scratch : UnigramScratch
    ids, token_ends, out
        As of :func:`numba_nlp.kernels.segment.unigram.write_ids`.
    reused : uint8[c]
        Written: whether the known result was used.

    Returns
    -------
    int64
        Place behind the last id, the same ids as of :func:`numba_nlp.kernels.segment.unigram.segment`; negative, minus
        the bytes of a chunk, when the capacity of the scratch is smaller than that.
    """
    largest, half_ulp = np.float64(tables.scores[LARGEST]), np.float64(tables.scores[HALF_ULP])
    # the running score at ids[exact_at]; `bound` is above its absolute value at ids[out]
    running, exact_at, bound = 0.0, out, 0.0
    for i in range(ends.size):
        stop = ends[i]
        number = numbers[i]
        fits = number >= 0 and bound < known.limits[number]
        if not fits:
            running = replay(tables, ids, exact_at, out, running)
            exact_at, bound = out, abs(running)
            fits = number >= 0 and bound < known.limits[number]
        reused[i] = fits
        if fits:
            place = start
            for j in range(known.offsets[number], known.offsets[number + 1]):
                ids[out] = known.ids[j]
                place += tables.piece_lengths[known.ids[j]]
                if token_ends.size > 0:
                    token_ends[out] = place
                out += 1
            n = stop - start
            # the sum of scores, and the rounding of at most n additions
            bound = (bound + largest * n) * (1.0 + 2.0 * half_ulp * n)
        else:
            out = solve(tables, text, start, stop, running, scratch, ids, token_ends, out)
            if out < 0:
                return out
            running = scratch.outcome[RUNNING]
            exact_at, bound = out, abs(running)
        start = stop
    return out
