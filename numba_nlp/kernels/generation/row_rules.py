"""Rules that change a row of logits before a token is taken from it, each by a few writes in place.

A row's value is ``row[v] - shift``: with the row's log-sum-exp as ``shift`` the rules work on log-probabilities, as
beam search wants it, with 0 on logits, as greedy search and sampling do. What is forbidden becomes minus infinity; what
is forced has the value 0 and all else minus infinity.

Order and effects are those of transformers 5: repetition penalty (Keskar et al., "CTRL", 2019), repeated n-grams
(Paulus, Xiong, Socher, "A deep reinforced model for abstractive summarization", 2018), forbidden words, least lengths,
then forced first and last tokens, then suppressed ones. A caller's own rules stand between the first two stages
(allowed tokens of a prefix) or behind the second one.

Ids of the history that the row has no logit for are left out.

Twin: ``numba_nlp.reference.generation.row_rules``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.row_values import log_sum_exp

__all__ = [
    "apply_forced_rules",
    "apply_history_rules",
    "apply_rules",
    "ban_ids",
    "ban_repeated_ngrams",
    "ban_sequences",
    "ends_with",
    "force_ids",
    "penalize_repetition",
    "renormalize",
]

_NOTHING = np.float32(-np.inf)


@kernel
def penalize_repetition(row, shift, tokens, first, filled, penalty, saved):
    """Divide the values of tokens that were there by ``penalty``, or multiply negative ones; each token once.

    Parameters
    ----------
    row : float32[V]
        Written.
    shift : float64
    tokens : int32[T]
        History of the row; ``tokens[first:filled]`` counts.
    first, filled : int64
    penalty : float64
        Positive.
    saved : float32[filled]
        Scratch: each value before its change, so that a token that was there twice is not changed twice.
    """
    n_ids = row.size
    factor = np.float32(penalty)
    for place in range(first, filled):
        token = np.int64(tokens[place])
        if 0 <= token < n_ids:
            saved[place] = row[token]
    for place in range(first, filled):
        token = np.int64(tokens[place])
        if 0 <= token < n_ids:
            value = np.float32(np.float64(saved[place]) - shift)
            value = value * factor if value < 0 else value / factor
            row[token] = np.float32(np.float64(value) + shift)


@kernel
def ends_with(tokens, filled, sequence, start, n):
    """Whether a row ends with a part of a sequence.

    Parameters
    ----------
    tokens, filled : int32[T], int64
        ``tokens[:filled]`` is the row, of ``n`` tokens at least.
    sequence, start, n : int32[L], int64, int64
        ``sequence[start:start + n]``.

    Returns
    -------
    bool
    """
    same = np.int64(0)
    while same < n and sequence[start + same] == tokens[filled - n + same]:
        same += 1
    return same == n


@kernel
def ban_repeated_ngrams(row, history, length, tokens, filled, size):
    """Forbid what would complete an n-gram that is in the history.

    Parameters
    ----------
    row : float32[V]
        Written.
    history, length : int32[L], int64
        ``history[:length]`` is searched: the row itself, or its source.
    tokens, filled : int32[T], int64
        ``tokens[:filled]`` is what the next token follows.
    size : int64
        Tokens of an n-gram, at least 1; 1 forbids all tokens of the history.
    """
    before = size - 1
    if filled < before:
        return
    for start in range(length - before):
        if ends_with(tokens, filled, history, start, before):
            token = np.int64(history[start + before])
            if 0 <= token < row.size:
                row[token] = _NOTHING


@kernel
def ban_sequences(row, tokens, filled, sequences, offsets):
    """Forbid the last id of each sequence whose other ids the row ends with.

    Parameters
    ----------
    row : float32[V]
        Written.
    tokens, filled : int32[T], int64
        ``tokens[:filled]`` is the row.
    sequences, offsets : int32[m], int64[k + 1]
        Sequence ``i`` is ``sequences[offsets[i]:offsets[i + 1]]``, not empty.
    """
    for number in range(offsets.size - 1):
        start = offsets[number]
        before = offsets[number + 1] - 1 - start
        if before <= filled and ends_with(tokens, filled, sequences, start, before):
            token = np.int64(sequences[start + before])
            if 0 <= token < row.size:
                row[token] = _NOTHING


@kernel
def ban_ids(row, ids):
    """Forbid some ids.

    Parameters
    ----------
    row : float32[V]
        Written.
    ids : int32[n]
    """
    for i in range(ids.size):
        token = np.int64(ids[i])
        if 0 <= token < row.size:
            row[token] = _NOTHING


@kernel
def _force_none(row):
    for i in range(row.size):
        row[i] = _NOTHING


@kernel
def force_ids(row, shift, ids):
    """Forbid all but some ids, which get the value 0.

    Parameters
    ----------
    row : float32[V]
        Written.
    shift : float64
    ids : int32[n]
    """
    _force_none(row)
    for i in range(ids.size):
        token = np.int64(ids[i])
        if 0 <= token < row.size:
            row[token] = np.float32(shift)


@kernel
def renormalize(row, shift):
    """The shift that makes log-probabilities of the row's values as they are now.

    Parameters
    ----------
    row : float32[V]
    shift : float64

    Returns
    -------
    float64
        The log-sum-exp of the row; ``shift`` where no value is above minus infinity.
    """
    total = log_sum_exp(row)
    return shift if total == -np.inf else total


@kernel
def apply_history_rules(row, shift, tokens, first, filled, source, rules, saved):
    """The rules that look at what a row has read and written, and those against an early end.

    Parameters
    ----------
    row : float32[V]
        Written.
    shift : float64
        The value of id ``v`` is ``row[v] - shift``.
    tokens : int32[T]
        History of the row, the prompt at the left as given.
    first : int64
        Columns of padding at the left, which the repetition penalty leaves out.
    filled : int64
        Columns that are there.
    source : int32[S]
        What the encoder read, or the prompt; may be empty.
    rules : RowRules
    saved : float32[filled]
        Scratch.
    """
    if rules.repetition_penalty != 1.0:
        penalize_repetition(row, shift, tokens, first, filled, rules.repetition_penalty, saved)
    if rules.no_repeat_ngram_size > 0:
        ban_repeated_ngrams(row, tokens, filled, tokens, filled, rules.no_repeat_ngram_size)
    if rules.encoder_no_repeat_ngram_size > 0:
        ban_repeated_ngrams(row, source, source.size, tokens, filled, rules.encoder_no_repeat_ngram_size)
    ban_ids(row, rules.bad_ids)
    ban_sequences(row, tokens, filled, rules.bad_sequences, rules.bad_offsets)
    if filled < rules.min_length or filled - rules.prompt_width < rules.min_new_tokens:
        ban_ids(row, rules.eos_ids)


@kernel
def apply_forced_rules(row, shift, filled, rules):
    """Forced first and last tokens, and suppressed ones.

    Parameters
    ----------
    row : float32[V]
        Written.
    shift : float64
    filled : int64
        Columns that are there.
    rules : RowRules
    """
    if filled == 1 and rules.forced_bos_id >= 0:
        _force_none(row)
        if rules.forced_bos_id < row.size:
            row[rules.forced_bos_id] = np.float32(shift)
    if filled == rules.max_length - 1 and rules.forced_eos_ids.size > 0:
        force_ids(row, shift, rules.forced_eos_ids)
    ban_ids(row, rules.suppressed_ids)
    if filled == rules.begin_index:
        ban_ids(row, rules.begin_suppressed_ids)


@kernel
def apply_rules(row, shift, tokens, first, filled, source, rules, saved):
    """All rules, in order, where nothing of the caller's stands between them and nothing is sampled.

    Parameters
    ----------
    row, shift, tokens, first, filled, source, rules, saved : as for :func:`apply_history_rules`

    Returns
    -------
    float64
        The shift from now on, another one when the rules say ``renormalize``.
    """
    apply_history_rules(row, shift, tokens, first, filled, source, rules, saved)
    apply_forced_rules(row, shift, filled, rules)
    return renormalize(row, shift) if rules.renormalize else shift
