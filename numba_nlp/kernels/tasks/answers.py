"""Spans that answer a question, from the logits of their starts and ends.

A span's score is the probability of its start times that of its end, each the softmax over the tokens of a window that
may be part of an answer and the token that stands for "no answer" (Devlin et al., "BERT", 2019, 4.2 and 4.3). The best
end for a start is looked up in a sliding maximum (Lemire, "Streaming maximum-minimum filter", 2006), so that no outer
product is made: time is linear in the window but for the few starts that can still be among the best.

Scores are float32 products of float32 probabilities, as in transformers 4, so that spans tie where they tie there; the
one with the earlier start, then the earlier end, comes first.

Twin: ``numba_nlp.reference.tasks.answers``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["choose_answers", "keep_answer", "merge_answers", "sliding_maximum"]


@kernel
def sliding_maximum(values, n, width, queue, out):
    """Greatest of each value and the ``width - 1`` values behind it.

    Parameters
    ----------
    values : float32[m]
        The first ``n`` count.
    n, width : int64
        ``width`` at least 1.
    queue : int64[n]
        Scratch.
    out : float32[m]
        Written: ``out[i] = max(values[i : min(i + width, n)])`` for ``i < n``.
    """
    head = np.int64(0)
    tail = np.int64(0)
    for back in range(n):
        i = n - 1 - back
        while tail > head and values[queue[tail - 1]] <= values[i]:
            tail -= 1
        queue[tail] = i
        tail += 1
        if queue[head] >= i + width:
            head += 1
        out[i] = values[queue[head]]


@kernel
def keep_answer(start, end, score, row, starts, ends, scores, count):
    """Put an answer among the best of a row, each span once, with its best score; of equal scores the first one stays.

    Parameters
    ----------
    start, end : int64
        Characters.
    score : float32
    row : int64
    starts, ends, scores : int64[rows, k], int64[rows, k], float32[rows, k]
        Changed: answers of a row from the best one on.
    count : int64
        How many the row has.

    Returns
    -------
    int64
        How many the row has now.
    """
    most = scores.shape[1]
    if count == most and not score > scores[row, count - 1]:
        return count
    place = count
    for other in range(count):
        if starts[row, other] == start and ends[row, other] == end:
            if not score > scores[row, other]:
                return count
            place = np.int64(other)
            break
    if place == count:
        if count == most:
            place = count - 1
        else:
            count += 1
    while place > 0 and scores[row, place - 1] < score:
        starts[row, place] = starts[row, place - 1]
        ends[row, place] = ends[row, place - 1]
        scores[row, place] = scores[row, place - 1]
        place -= 1
    starts[row, place] = start
    ends[row, place] = end
    scores[row, place] = score
    return count


@kernel
def _fill_shares(logits, row, first, n, null, out):
    """Write the softmax of ``n`` logits, and of the one at ``null`` behind them; returns the log of the sum."""
    greatest = np.float32(-np.inf)
    for i in range(n):
        if logits[row, first + i] > greatest:
            greatest = logits[row, first + i]
    if null >= 0 and logits[row, null] > greatest:
        greatest = logits[row, null]
    total = 0.0
    for i in range(n + 1):
        out[i] = np.float32(0.0)
        if i < n:
            out[i] = np.float32(math.exp(np.float64(logits[row, first + i] - greatest)))
        elif null >= 0:
            out[i] = np.float32(math.exp(np.float64(logits[row, null] - greatest)))
        total += np.float64(out[i])
    for i in range(n + 1):
        out[i] = np.float32(np.float64(out[i]) / total) if total > 0.0 else np.float32(0.0)
    return np.float64(greatest) + math.log(total) if total > 0.0 else -np.inf


@kernel
def choose_answers(
    begins,
    stops,
    start_logits,
    end_logits,
    firsts,
    nulls,
    text_starts,
    text_ends,
    max_tokens,
    start_shares,
    end_shares,
    best_ends,
    queue,
    starts,
    ends,
    scores,
    counts,
    null_scores,
    log_sums,
):
    """Best answers of each window.

    Parameters
    ----------
    begins, stops : int64[m], int64[m]
        Characters where an answer begins whose first token is this one, and where it ends with it as its last.
    start_logits, end_logits : float32[windows, width], float32[windows, width]
    firsts, nulls : int64[windows], int64[windows]
        Places of the first token of the text, and of the one that stands for no answer, -1 where there is none.
    text_starts, text_ends : int64[windows], int64[windows]
        The tokens of the text that the window holds, by their numbers in ``begins``.
    max_tokens : int64
        Most tokens of an answer, at least 1.
    start_shares, end_shares, best_ends : float32[width + 1], float32[width + 1], float32[width + 1]
        Scratch.
    queue : int64[width + 1]
        Scratch.
    starts, ends, scores : int64[windows, k], int64[windows, k], float32[windows, k]
        Written: answers with scores above 0, the best one first, each span once.
    counts : int64[windows]
        Written: how many.
    null_scores : float32[windows]
        Written: the score of no answer, 0 where no token stands for it.
    log_sums : float64[windows]
        Written: log of the sum over all pairs of a start and an end of ``exp(start logit + end logit)``.
    """
    for window in range(counts.size):
        first = firsts[window]
        base = text_starts[window]
        n = text_ends[window] - base
        null = nulls[window]
        log_sums[window] = _fill_shares(start_logits, window, first, n, null, start_shares) + _fill_shares(
            end_logits, window, first, n, null, end_shares
        )
        null_scores[window] = start_shares[n] * end_shares[n]
        sliding_maximum(end_shares, n, max_tokens, queue, best_ends)
        count = np.int64(0)
        for i in range(n):
            share = start_shares[i]
            if count == scores.shape[1] and not share * best_ends[i] > scores[window, count - 1]:
                continue
            for j in range(i, min(i + max_tokens, n)):
                score = share * end_shares[j]
                if score > np.float32(0.0):
                    count = keep_answer(begins[base + i], stops[base + j], score, window, starts, ends, scores, count)
        counts[window] = count


@kernel
def merge_answers(
    rows,
    window_starts,
    window_ends,
    window_scores,
    window_counts,
    weights,
    null_scores,
    has_null,
    row_nulls,
    starts,
    ends,
    scores,
    counts,
):
    """Best answers of rows, from those of their windows; what several windows give is there once, with its best score.

    Parameters
    ----------
    rows : int64[windows]
        The row of each window.
    window_starts, window_ends, window_scores : int64[windows, k], int64[windows, k], float32[windows, k]
    window_counts : int64[windows]
        As written by :func:`choose_answers`.
    weights : float64[windows]
        Factors of the scores of each window.
    null_scores : float32[windows]
    has_null : bool
        Whether "no answer" is one of the answers: the characters 0 to 0, with the least score that a window gives it,
        since it is wrong as soon as one window holds an answer.
    row_nulls : float32[rows]
        Scratch.
    starts, ends, scores : int64[rows, k], int64[rows, k], float32[rows, k]
        Written. A row where no span has a score above 0 gets the characters 0 to 0 with the score 0.
    counts : int64[rows]
        Written: how many answers, at least 1.
    """
    for row in range(counts.size):
        counts[row] = 0
        row_nulls[row] = np.float32(np.inf)
    for window in range(rows.size):
        row = rows[window]
        for place in range(window_counts[window]):
            score = np.float32(window_scores[window, place] * weights[window])
            counts[row] = keep_answer(
                window_starts[window, place], window_ends[window, place], score, row, starts, ends, scores, counts[row]
            )
        score = np.float32(null_scores[window] * weights[window])
        if score < row_nulls[row]:
            row_nulls[row] = score
    for row in range(counts.size):
        if has_null and row_nulls[row] < np.float32(np.inf):
            counts[row] = keep_answer(np.int64(0), np.int64(0), row_nulls[row], row, starts, ends, scores, counts[row])
        if counts[row] == 0:
            starts[row, 0] = 0
            ends[row, 0] = 0
            scores[row, 0] = np.float32(0.0)
            counts[row] = 1
