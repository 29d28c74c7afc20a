"""Words of raw text that pass through stages: what solves one, by address."""

from __future__ import annotations

import numpy as np

from numba_nlp._fastcall.control import MODEL_ROWS
from numba_nlp._fastcall.values import call5, call6, call10, call13, load
from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.row_firsts import (
    enter_marked,
    is_first_of_row,
    mark_firsts_of_rows,
    note_first_of_row,
)
from numba_nlp.kernels.segment.spanned_rows import spanned_function
from numba_nlp.kernels.segment.staged_words import IDS_PER_BYTE, fill_words, write_plain
from numba_nlp.kernels.words import VECTOR

if VECTOR:
    from numba_nlp.kernels.words import address_of

__all__ = [
    "FIRST_STAGES",
    "LEAVE_ALL",
    "MODEL",
    "NEXT_STAGES",
    "RUN",
    "SEGMENT",
    "SHORT",
    "STAGES",
    "encode_spanned_words",
    "encode_unseen_word",
    "solve_spans_word",
]

#: Places in ``WordScratch.stages``: :func:`numba_nlp._fastcall.texts.run_stages` or ``run_spans``, the control block of
#: the model, what the first word of a row passes through, what all others do, ``Family.solve`` or ``Family.segment`` of
#: the model, and the most bytes of a piece that is solved outside of the model's own word cache.
RUN, MODEL, FIRST_STAGES, NEXT_STAGES, SEGMENT, SHORT = range(6)
#: How many these are.
STAGES = 6
#: Instead of a number of ids: the batch has to go through the stages in blocks.
LEAVE_ALL = -(1 << 40)


@inlined
def encode_unseen_word(tables, cache, data, start, n, low, high, home, scratch, ids, first):
    """Solve one word that the cache does not hold, and enter it.

    Parameters
    ----------
    tables, cache : WordTables, WordCache
    data : uint8[m]
    start, n : int64
        The word.
    low, high, home : uint64, uint64, int64
        Its key and home.
    scratch : WordScratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative where the batch has to go through the stages in blocks.
    """
    calls, found = scratch.stages, scratch.found
    begins_row = is_first_of_row(low, high, n)
    n_text = write_plain(tables, data, start, n, begins_row, scratch.text)
    if n_text >= 0:
        text, out = address_of(scratch.text, 0), address_of(ids, first)
        if n_text <= calls[SHORT]:
            n_ids = call5(calls[SEGMENT], calls[MODEL], text, n_text, out, n * IDS_PER_BYTE)
        else:
            row = scratch.row
            row[0], row[1] = 0, n_text
            at = address_of(row, 0)
            n_ids = call13(
                load(calls[MODEL] + 8 * MODEL_ROWS), calls[MODEL], text, scratch.text.size, at, at + 8, 0, 0, 0, 1,
                address_of(found, 0), found.size, at + 16, 0,
            )  # fmt: skip
            for i in range(min(n_ids, n * IDS_PER_BYTE)):
                ids[first + i] = found[i]
    else:
        stages = calls[FIRST_STAGES] if begins_row else calls[NEXT_STAGES]
        n_ids = call6(
            calls[RUN], calls[MODEL], stages, address_of(data, 0) + start, n, address_of(found, 0), found.size
        )
        for i in range(min(n_ids, n * IDS_PER_BYTE)):
            ids[first + i] = found[i]
    if n_ids < 0 or n_ids > n * IDS_PER_BYTE:
        return np.int64(-1)
    enter_marked(cache, data, start, n, low, high, home, ids, first, n_ids)
    return n_ids


@kernel
def solve_spans_word(tables, data, start, n, low, high, scratch, memory, ids):
    """Ids and ranges of one word; arguments as of ``numba_nlp.kernels.segment.spanned_families.solve_spans_words``.

    Parameters
    ----------
    tables : WordTables
    data : uint8[m]
    start, n : int64
        The word.
    low, high : uint64, uint64
        Its key.
    scratch : WordScratch
    memory : SpanMemory
        ``starts`` and ``ends`` are written, in bytes of the word.
    ids : int32[k]
        Written from 0 on.

    Returns
    -------
    int64
        Number of ids; ``LEAVE_ALL`` where the batch has to go through the stages in blocks.
    """
    calls, found = scratch.stages, scratch.found
    room = min(found.size, memory.starts.size)
    n_ids = call10(
        calls[RUN], calls[MODEL], calls[FIRST_STAGES] if is_first_of_row(low, high, n) else calls[NEXT_STAGES],
        calls[SEGMENT], address_of(data, 0) + start, n, address_of(found, 0), address_of(memory.starts, 0),
        address_of(memory.ends, 0), address_of(memory.token_ends, 0), room,
    )  # fmt: skip
    if n_ids < 0 or n_ids > n * IDS_PER_BYTE:
        return np.int64(LEAVE_ALL)
    for i in range(n_ids):
        ids[i] = found[i]
    return n_ids


#: Ids and spans of rows (:func:`numba_nlp.kernels.segment.spanned_rows.encode_spanned_rows`).
encode_spanned_words = spanned_function(
    "encode_spanned_words",
    fill_words,
    solve_spans_word,
    note_first=note_first_of_row,
    mark_firsts=mark_firsts_of_rows,
)
