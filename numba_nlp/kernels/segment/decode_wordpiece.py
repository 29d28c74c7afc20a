"""WordPiece ids back to text: which form of a token stands where.

What tokenizers' WordPiece decoder makes of a token depends on whether it is the first one of the text only: there it
is written as it is, behind others it either loses its prefix or gets a space before it, and what the clean-up removes
lies within one token. So a vocabulary holds both forms of each of its V tokens, as pieces 0 to V - 1 (behind others)
and V to 2 V - 1 (first), and with the first id of each row moved up by V the kernels of
:mod:`numba_nlp.kernels.segment.decode` do the rest.

Twin: ``numba_nlp.reference.segment.decode_wordpiece``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.decode import KIND_CONTROL

__all__ = ["choose_forms"]


@kernel
def choose_forms(piece_kinds, ids, offsets, skip_special, forms):
    """Numbers of the forms that rows of ids are written with.

    Parameters
    ----------
    piece_kinds : uint8[V]
    ids, offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``.
    skip_special : int64
        1 leaves out control tokens (kind 2), so that another one may be the first.
    forms : int32[m]
        Written: the id, or ``V + id`` for the first one of a row; -1 for an id outside ``[0, V)``.

    Returns
    -------
    int64
        Number of rows.
    """
    n_pieces = np.int64(piece_kinds.size)
    for row in range(offsets.size - 1):
        is_first = True
        for i in range(offsets[row], offsets[row + 1]):
            piece = np.int64(ids[i])
            if piece < 0 or piece >= n_pieces:
                forms[i] = np.int32(-1)
                continue
            forms[i] = np.int32(piece)
            if is_first and not (skip_special != 0 and piece_kinds[piece] == KIND_CONTROL):
                forms[i] = np.int32(n_pieces + piece)
                is_first = False
    return np.int64(offsets.size - 1)
