"""Words of raw text that pass through stages: what solves one, by address."""

from __future__ import annotations

import numpy as np

from numba_nlp._fastcall.values import call6
from numba_nlp._jit import inlined
from numba_nlp.kernels.segment.row_firsts import enter_marked, is_first_of_row
from numba_nlp.kernels.segment.staged_words import IDS_PER_BYTE
from numba_nlp.kernels.words import VECTOR

if VECTOR:
    from numba_nlp.kernels.words import address_of

__all__ = ["FIRST_STAGES", "MODEL", "NEXT_STAGES", "RUN", "encode_unseen_word"]

#: Places in ``WordScratch.stages``: :func:`numba_nlp._fastcall.run_stages`, the control block of the model, what the
#: first word of a row passes through, and what all others do.
RUN, MODEL, FIRST_STAGES, NEXT_STAGES = range(4)


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
    stages = calls[FIRST_STAGES] if is_first_of_row(low, high, n) else calls[NEXT_STAGES]
    n_ids = call6(calls[RUN], calls[MODEL], stages, address_of(data, 0) + start, n, address_of(found, 0), found.size)
    if n_ids < 0 or n_ids > n * IDS_PER_BYTE:
        return np.int64(-1)
    for i in range(n_ids):
        ids[first + i] = found[i]
    enter_marked(cache, data, start, n, low, high, home, ids, first, n_ids)
    return n_ids
