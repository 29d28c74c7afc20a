"""Tables of the Unigram algorithms of the article (:mod:`numba_nlp.kernels.articles.unigram`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from numba_nlp.kernels.articles.unigram import ArticleTables, fill_article_slots
from vocab_tools.compiler.double_array import build_double_array

__all__ = ["article_tables"]


def article_tables(pieces: Sequence[bytes], scores: ArrayLike) -> ArticleTables:
    """Hash table and trie of all pieces of a vocabulary.

    Parameters
    ----------
    pieces : sequence of bytes
        By id; distinct, none empty, of whole characters.
    scores : float[V]

    Raises
    ------
    ValueError
        Equal or empty pieces, or a number of scores that is not theirs.
    """
    piece_scores = np.ascontiguousarray(scores, dtype=np.float32)
    if piece_scores.shape != (len(pieces),):
        raise ValueError(f"`scores` has shape {piece_scores.shape}, expected one for each of the {len(pieces)} pieces")
    order = sorted(range(len(pieces)), key=pieces.__getitem__)
    units = build_double_array([pieces[i] for i in order], order)
    piece_bytes = np.frombuffer(b"".join(pieces) + b"\0", dtype=np.uint8)[:-1]
    piece_offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=piece_offsets[1:])
    slots = np.zeros(1 << max(2, (2 * len(pieces)).bit_length()), dtype=np.uint64)
    fill_article_slots(piece_bytes, piece_offsets, slots)
    return ArticleTables(slots, units, piece_bytes, piece_offsets, piece_scores)
