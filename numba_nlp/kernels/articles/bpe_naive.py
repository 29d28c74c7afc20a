"""The article's first algorithm: look at all pairs, merge the best one, repeat. O(n^2).

Twin: ``numba_nlp.reference.articles.bpe_naive``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.articles.merge_pieces import emit_token, is_too_short, piece_rank, prepare_text


@kernel
def merge_naively(pieces, text, first, n, starts):
    """Merge some neighbouring symbols until nothing merges.

    Parameters
    ----------
    pieces : MergePieces
    text : uint8[m]
    first, n : int64
        The symbols ``first`` to ``first + n - 1``.
    starts : int32[first + n + 1]
        Where each symbol starts in ``text``, and the last one ends; the places of symbols that are left move up.

    Returns
    -------
    int64
        Number of symbols left.
    """
    last = first + n
    while True:
        best = np.int64(-1)
        best_rank = np.int64(0)
        for i in range(first, last - 1):
            rank = piece_rank(pieces, text, np.int64(starts[i]), np.int64(starts[i + 2]))
            if rank >= 0 and (best < 0 or rank < best_rank):
                best = np.int64(i)
                best_rank = rank
        if best < 0:
            return last - first
        for i in range(best + 1, last):
            starts[i] = starts[i + 1]
        last -= 1


@kernel
def tokenize_naive(pieces, data, start, stop, scratch, ids, token_starts, token_ends):
    """Tokens of a text.

    Parameters
    ----------
    pieces : MergePieces
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The text.
    scratch : ArticleScratch
    ids, token_starts, token_ends : int32[k], int64[k], int64[k]
        Written: ids, at most one a character and one more, and their bytes in the text, relative to ``start``.

    Returns
    -------
    int64
        Number of tokens; minus the number of bytes when the text is longer than the scratch is made for.
    """
    if is_too_short(scratch, start, stop):
        return start - stop
    n = prepare_text(data, start, stop, scratch.text, scratch.origins, scratch.starts)
    n = merge_naively(pieces, scratch.text, np.int64(0), n, scratch.starts)
    for i in range(n):
        emit_token(
            pieces, scratch.text, scratch.origins, np.int64(scratch.starts[i]), np.int64(scratch.starts[i + 1]), ids,
            token_starts, token_ends, np.int64(i),
        )  # fmt: skip
    return n
