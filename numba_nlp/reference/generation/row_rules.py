"""Twin of ``kernels/generation/row_rules.py``: lists, sets and one array of values."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from numba_nlp.reference.generation.row_values import log_sum_exp


def _known(row, ids):
    """Ids that the row has a value for, each once."""
    return sorted({int(i) for i in ids if 0 <= i < len(row)})


def penalize_repetition(row, shift, tokens, first, filled, penalty, saved):
    """Divide or multiply the values of tokens that were there."""
    for token in _known(row, tokens[first:filled]):
        value = np.float32(float(row[token]) - shift)
        value = value * np.float32(penalty) if value < 0 else value / np.float32(penalty)
        row[token] = float(value) + shift


def ban_repeated_ngrams(row, history, length, tokens, filled, size):
    """Forbid what would complete an n-gram of the history."""
    history, written = list(history[:length]), list(tokens[:filled])
    if len(written) < size - 1:
        return
    ending = written[len(written) - (size - 1) :]
    ngrams = [history[start : start + size] for start in range(len(history) - size + 1)]
    row[_known(row, [ngram[-1] for ngram in ngrams if ngram[:-1] == ending])] = -np.inf


def ban_sequences(row, tokens, filled, sequences, offsets):
    """Forbid the last id of sequences that have begun."""
    written = list(tokens[:filled])
    for start, stop in pairwise(offsets):
        *begin, last = sequences[start:stop]
        if len(begin) <= len(written) and written[len(written) - len(begin) :] == begin:
            row[_known(row, [last])] = -np.inf


def ban_ids(row, ids):
    """Forbid some ids."""
    row[_known(row, ids)] = -np.inf


def force_ids(row, shift, ids):
    """Forbid all but some ids."""
    row[:] = -np.inf
    row[_known(row, ids)] = shift


def renormalize(row, shift):
    """The shift that makes log-probabilities."""
    return shift if np.isneginf(row).all() else log_sum_exp(row)


def apply_history_rules(row, shift, tokens, first, filled, source, rules, saved):
    """Rules by history and length."""
    if rules.repetition_penalty != 1.0:
        penalize_repetition(row, shift, tokens, first, filled, rules.repetition_penalty, saved)
    if rules.no_repeat_ngram_size:
        ban_repeated_ngrams(row, tokens, filled, tokens, filled, rules.no_repeat_ngram_size)
    if rules.encoder_no_repeat_ngram_size:
        ban_repeated_ngrams(row, source, len(source), tokens, filled, rules.encoder_no_repeat_ngram_size)
    ban_ids(row, rules.bad_ids)
    ban_sequences(row, tokens, filled, rules.bad_sequences, rules.bad_offsets)
    if filled < rules.min_length or filled - rules.prompt_width < rules.min_new_tokens:
        ban_ids(row, rules.eos_ids)


def apply_forced_rules(row, shift, filled, rules):
    """Forced and suppressed tokens."""
    if filled == 1 and rules.forced_bos_id >= 0:
        force_ids(row, shift, [rules.forced_bos_id])
    if filled == rules.max_length - 1 and len(rules.forced_eos_ids):
        force_ids(row, shift, rules.forced_eos_ids)
    ban_ids(row, rules.suppressed_ids)
    if filled == rules.begin_index:
        ban_ids(row, rules.begin_suppressed_ids)


def apply_rules(row, shift, tokens, first, filled, source, rules, saved):
    """All rules in order."""
    apply_history_rules(row, shift, tokens, first, filled, source, rules, saved)
    apply_forced_rules(row, shift, filled, rules)
    return renormalize(row, shift) if rules.renormalize else shift
