"""Rules of :mod:`numba_nlp.kernels.generation.row_rules` as tensors: the same order, the same effects.

Rows of values have more columns than there are tokens. The last one takes what is written to ids that are none, so
that no step has to leave anything out.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.device.sequences import Sequences, last_columns
from numba_nlp.kernels.generation.rules import RowRules

__all__ = ["Restrictions", "ban_ids", "ban_repeated_ngrams", "ban_sequences", "force_ids", "penalize_repetition"]

_NOTHING = float("-inf")


def _known(ids: Tensor, wide: Tensor) -> Tensor:
    """Ids, with that of the column that is none in place of those that the rows have no value for."""
    return ids.clamp(max=wide.shape[1] - 1)


def penalize_repetition(
    wide: Tensor, shift: Tensor, rows: Tensor, firsts: Tensor, filled: Tensor, penalty: float
) -> None:
    """Divide the values of tokens that were there by a penalty, or multiply negative ones; each token once.

    Parameters
    ----------
    wide : Tensor
        float32 ``[R, C]``; written.
    shift : Tensor
        float64 ``[R]``: the value of id ``v`` is ``wide[r, v] - shift[r]``.
    rows : Tensor
        int64 ``[R, T]``: tokens so far.
    firsts : Tensor
        int64 ``[R]``: columns of padding at the left.
    filled : Tensor
        int64 scalar: columns that are there.
    penalty : float
    """
    columns = torch.arange(rows.shape[1], device=rows.device)
    counted = (columns >= firsts[:, None]) & (columns < filled)
    ids = _known(rows, wide).masked_fill(~counted, wide.shape[1] - 1)
    values = (wide.gather(1, ids).double() - shift[:, None]).float()
    # in float32 as transformers does
    factor = float(np.float32(penalty))
    values = torch.where(values < 0, values * factor, values / factor)
    wide.scatter_(1, ids, (values.double() + shift[:, None]).float())


def ban_repeated_ngrams(
    wide: Tensor, history: Tensor, length: Tensor | int, rows: Tensor, filled: Tensor, size: int
) -> None:
    """Forbid what would complete an n-gram that is in the history.

    Parameters
    ----------
    wide : Tensor
        float32 ``[R, C]``; written.
    history : Tensor
        int64 ``[R, L]``: the rows themselves, or their sources.
    length : Tensor or int
        Columns of it that count.
    rows, filled : Tensor
        int64 ``[R, T]`` and its columns that are there: what the next token follows.
    size : int
        Tokens of an n-gram, at least 1.
    """
    before = size - 1
    starts = history.shape[1] - before
    if starts <= 0:
        return
    ending = last_columns(rows, filled, before)
    places = torch.arange(starts, device=rows.device)
    same = ((places + before < length) & (filled >= before)).expand(rows.shape[0], starts)
    for i in range(before):
        same = same & (history[:, i : i + starts] == ending[:, i : i + 1])
    ids = _known(history[:, before:], wide).masked_fill(~same, wide.shape[1] - 1)
    wide.scatter_(1, ids, _NOTHING)


def ban_sequences(wide: Tensor, rows: Tensor, filled: Tensor, sequences: Sequences) -> None:
    """Forbid the last id of each sequence whose other ids the row ends with.

    Parameters
    ----------
    wide, rows, filled : Tensor
        As of :func:`ban_repeated_ngrams`.
    sequences : Sequences
    """
    begun = sequences.begun(rows, filled, filled)
    ids = _known(sequences.last, wide).expand(begun.shape).masked_fill(~begun, wide.shape[1] - 1)
    wide.scatter_(1, ids, _NOTHING)


def ban_ids(wide: Tensor, ids: Tensor, where: Tensor | None = None) -> None:
    """Forbid some ids.

    Parameters
    ----------
    wide : Tensor
        float32 ``[R, C]``; written.
    ids : Tensor
        int64 ``[n]``, known ones.
    where : Tensor, optional
        bool scalar: whether to do so.
    """
    if where is not None:
        ids = ids.masked_fill(~where, wide.shape[1] - 1)
    wide.index_fill_(1, ids, _NOTHING)


def force_ids(wide: Tensor, shift: Tensor, kept: Tensor, where: Tensor) -> None:
    """Forbid all but some ids, which get the value 0.

    Parameters
    ----------
    wide : Tensor
        float32 ``[R, C]``; written.
    shift : Tensor
        float64 ``[R]``.
    kept : Tensor
        bool ``[C]``: the ids.
    where : Tensor
        bool scalar: whether to do so.
    """
    forced = shift.float()[:, None].masked_fill(~kept, _NOTHING)
    wide.copy_(torch.where(where, forced, wide))


class Restrictions:
    """All rules of a generation.

    Parameters
    ----------
    rules : RowRules
    vocabulary, columns : int
        Tokens, and columns of rows of values, C: at least one more.
    device : torch.device
    """

    def __init__(self, rules: RowRules, vocabulary: int, columns: int, device: torch.device) -> None:
        self._rules = rules
        self._bad_ids = self._ids(rules.bad_ids, vocabulary, device)
        self._bad_sequences = Sequences(rules.bad_sequences, rules.bad_offsets, device)
        self._ends = self._ids(rules.eos_ids, vocabulary, device)
        self._suppressed = self._ids(rules.suppressed_ids, vocabulary, device)
        self._begin_suppressed = self._ids(rules.begin_suppressed_ids, vocabulary, device)
        forced = np.array([rules.forced_bos_id] if rules.forced_bos_id >= 0 else [], np.int32)
        self._forced_first = self._kept(forced, vocabulary, columns, device)
        self._forced_last = self._kept(rules.forced_eos_ids, vocabulary, columns, device)

    @staticmethod
    def _ids(ids: np.ndarray, vocabulary: int, device: torch.device) -> Tensor:
        return torch.from_numpy(ids[(ids >= 0) & (ids < vocabulary)].astype(np.int64)).to(device)

    @classmethod
    def _kept(cls, ids: np.ndarray, vocabulary: int, columns: int, device: torch.device) -> Tensor | None:
        if not ids.size:
            return None
        kept = torch.zeros(columns, dtype=torch.bool)
        kept[cls._ids(ids, vocabulary, torch.device("cpu"))] = True
        return kept.to(device)

    def apply_history_rules(
        self, wide: Tensor, shift: Tensor, rows: Tensor, firsts: Tensor, filled: Tensor, sources: Tensor
    ) -> None:
        """The rules that look at what rows have read and written, and those against an early end.

        Parameters
        ----------
        wide, shift, rows, firsts, filled : Tensor
            As of :func:`penalize_repetition`.
        sources : Tensor
            int64 ``[R, S]``: what the encoder read for each row, or its prompt.
        """
        rules = self._rules
        if rules.repetition_penalty != 1.0:
            penalize_repetition(wide, shift, rows, firsts, filled, rules.repetition_penalty)
        if rules.no_repeat_ngram_size > 0:
            ban_repeated_ngrams(wide, rows, filled, rows, filled, rules.no_repeat_ngram_size)
        if rules.encoder_no_repeat_ngram_size > 0:
            ban_repeated_ngrams(wide, sources, sources.shape[1], rows, filled, rules.encoder_no_repeat_ngram_size)
        if self._bad_ids.shape[0]:
            ban_ids(wide, self._bad_ids)
        if len(self._bad_sequences):
            ban_sequences(wide, rows, filled, self._bad_sequences)
        least = max(rules.min_length, rules.prompt_width + rules.min_new_tokens)
        if self._ends.shape[0] and least > rules.prompt_width:
            ban_ids(wide, self._ends, filled < least)

    def apply_forced_rules(self, wide: Tensor, shift: Tensor, filled: Tensor) -> None:
        """Forced first and last tokens, and suppressed ones; parameters as of :meth:`apply_history_rules`."""
        rules = self._rules
        if self._forced_first is not None and rules.prompt_width <= 1:
            force_ids(wide, shift, self._forced_first, filled == 1)
        if self._forced_last is not None:
            force_ids(wide, shift, self._forced_last, filled == rules.max_length - 1)
        if self._suppressed.shape[0]:
            ban_ids(wide, self._suppressed)
        if self._begin_suppressed.shape[0]:
            ban_ids(wide, self._begin_suppressed, filled == rules.begin_index)
