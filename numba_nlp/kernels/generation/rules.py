"""Settings of all rules for what may follow in a row, and the memory that they need, as kernels take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.generation.mass_cut import BUCKETS
from numba_nlp.kernels.generation.row_values import BLOCK

__all__ = ["NEUTRAL", "RowRules", "RowScratch", "make_row_scratch", "make_rules"]


class RowRules(NamedTuple):
    """Settings of :mod:`numba_nlp.kernels.generation.row_rules` and :mod:`~numba_nlp.kernels.generation.warpers`.

    Arrays are read-only. :func:`make_rules` makes them from lists, with values that switch a rule off as defaults.

    Attributes
    ----------
    repetition_penalty : float64
        Positive; 1 is none.
    no_repeat_ngram_size, encoder_no_repeat_ngram_size : int64
        0 is none.
    bad_ids : int32[n]
        Ids that are forbidden always.
    bad_sequences, bad_offsets : int32[m], int64[k + 1]
        Sequences of two ids or more that are forbidden, one behind the other.
    min_length : int64
        Columns, the prompt's among them, before an end may come.
    min_new_tokens : int64
        The same, without the ``prompt_width`` columns of the prompt.
    prompt_width : int64
    eos_ids : int32[n]
        Ids that end a row.
    forced_bos_id : int64
        What must follow the first column; -1 is none.
    forced_eos_ids : int32[n]
        One of these must come last, in column ``max_length - 1``.
    max_length : int64
    suppressed_ids : int32[n]
        Ids that are forbidden even where an id is forced.
    begin_suppressed_ids, begin_index : int32[n], int64
        Ids that are forbidden in column ``begin_index``.
    renormalize : bool
        Whether what is left gets the probability of what was taken away.
    temperature : float64
        Positive; 1 is none.
    top_k : int64
        0 is all.
    top_p, typical_p : float64
        1 is all.
    min_p : float64
        0 is all.
    min_tokens_to_keep : int64
        At least 1.
    """

    repetition_penalty: float
    no_repeat_ngram_size: int
    encoder_no_repeat_ngram_size: int
    bad_ids: NDArray[np.int32]
    bad_sequences: NDArray[np.int32]
    bad_offsets: NDArray[np.int64]
    min_length: int
    min_new_tokens: int
    prompt_width: int
    eos_ids: NDArray[np.int32]
    forced_bos_id: int
    forced_eos_ids: NDArray[np.int32]
    max_length: int
    suppressed_ids: NDArray[np.int32]
    begin_suppressed_ids: NDArray[np.int32]
    begin_index: int
    renormalize: bool
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    typical_p: float
    min_tokens_to_keep: int


def _ids(values: Iterable[int]) -> NDArray[np.int32]:
    array = np.array(list(values), np.int32)
    array.flags.writeable = False
    return array


def make_rules(
    *,
    repetition_penalty: float = 1.0,
    no_repeat_ngram_size: int = 0,
    encoder_no_repeat_ngram_size: int = 0,
    bad_words_ids: Iterable[Sequence[int]] = (),
    min_length: int = 0,
    min_new_tokens: int = 0,
    prompt_width: int = 0,
    eos_ids: Iterable[int] = (),
    forced_bos_id: int = -1,
    forced_eos_ids: Iterable[int] = (),
    max_length: int = 0,
    suppressed_ids: Iterable[int] = (),
    begin_suppressed_ids: Iterable[int] = (),
    begin_index: int = 0,
    renormalize: bool = False,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    typical_p: float = 1.0,
    min_tokens_to_keep: int = 1,
) -> RowRules:
    """Settings as kernels take them: always the same types, so kernels compile once.

    All arguments but one are the fields of :class:`RowRules` of the same names; ids come in any iterable.

    Parameters
    ----------
    bad_words_ids : iterable of sequences of int
        Forbidden sequences. As in transformers, one that is an end of itself is left out.

    Returns
    -------
    RowRules

    Raises
    ------
    ValueError
        A forbidden sequence is empty.
    OverflowError
        An id is no int32.
    """
    ends = _ids(eos_ids)
    words = [tuple(word) for word in bad_words_ids]
    if () in words:
        raise ValueError(f"`bad_words_ids` has an empty sequence at place {words.index(())}; leave it out")
    several = [word for word in words if len(word) > 1]
    offsets = np.cumsum([0, *map(len, several)], dtype=np.int64)
    offsets.flags.writeable = False
    return RowRules(
        repetition_penalty=float(repetition_penalty),
        no_repeat_ngram_size=int(no_repeat_ngram_size),
        encoder_no_repeat_ngram_size=int(encoder_no_repeat_ngram_size),
        bad_ids=_ids(word[0] for word in words if len(word) == 1 and word[0] not in ends),
        bad_sequences=_ids(token for word in several for token in word),
        bad_offsets=offsets,
        min_length=int(min_length),
        min_new_tokens=int(min_new_tokens),
        prompt_width=int(prompt_width),
        eos_ids=ends,
        forced_bos_id=int(forced_bos_id),
        forced_eos_ids=_ids(forced_eos_ids),
        max_length=int(max_length),
        suppressed_ids=_ids(suppressed_ids),
        begin_suppressed_ids=_ids(begin_suppressed_ids),
        begin_index=int(begin_index),
        renormalize=bool(renormalize),
        temperature=float(temperature),
        top_k=int(top_k),
        top_p=float(top_p),
        min_p=float(min_p),
        typical_p=float(typical_p),
        min_tokens_to_keep=int(min_tokens_to_keep),
    )


#: Rules that change nothing.
NEUTRAL = make_rules()


class RowScratch(NamedTuple):
    """What one thread needs to work on a row of V logits; made by :func:`make_row_scratch`, nothing in it stays.

    Attributes
    ----------
    maxima : float32[(V + 63) // 64]
    ids, places : int32[V]
    order, weights : float32[V]
    masses : float64[BUCKETS]
    saved : float32[T]
        For the columns of a row.
    """

    maxima: NDArray[np.float32]
    ids: NDArray[np.int32]
    places: NDArray[np.int32]
    order: NDArray[np.float32]
    weights: NDArray[np.float32]
    masses: NDArray[np.float64]
    saved: NDArray[np.float32]


def make_row_scratch(n_ids: int, n_columns: int) -> RowScratch:
    """Memory for rows of ``n_ids`` logits and at most ``n_columns`` tokens.

    Parameters
    ----------
    n_ids, n_columns : int

    Returns
    -------
    RowScratch
    """
    return RowScratch(
        maxima=np.zeros((n_ids + BLOCK - 1) // BLOCK, np.float32),
        ids=np.zeros(n_ids, np.int32),
        places=np.zeros(n_ids, np.int32),
        order=np.zeros(n_ids, np.float32),
        weights=np.zeros(n_ids, np.float32),
        masses=np.zeros(BUCKETS, np.float64),
        saved=np.zeros(n_columns, np.float32),
    )
