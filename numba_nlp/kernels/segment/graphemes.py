"""Extended grapheme clusters (Unicode annex 29), as far as clusters of fewer than six bytes need them.

The classes come from the reference. Regional indicators are not among them: a pair of them has eight bytes, so whoever
treats longer clusters character by character cannot tell.

Twin: ``numba_nlp.reference.segment.graphemes``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length

__all__ = ["ClusterTables", "cluster_end"]

OTHER = 0
CONTROL = 1
#: Extends a cluster, a conjunct and a pictograph.
EXTEND = 2
#: Extends, and links consonants to conjuncts (virama).
LINKER = 3
#: U+200D
JOINER = 4
#: Extends a cluster only.
SPACING = 5
PREPEND = 6
HANGUL_L = 7
HANGUL_V = 8
HANGUL_T = 9
HANGUL_LV = 10
HANGUL_LVT = 11
#: Consonant of a script that writes conjuncts.
CONSONANT = 12
PICTOGRAPH = 13
#: Extends a cluster and a pictograph, and breaks a conjunct (U+200C).
EXTEND_ALONE = 14

_CR = 0x0D
_LF = 0x0A


class ClusterTables(NamedTuple):
    """Cluster class of every character.

    Attributes
    ----------
    pages, blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Two-stage table: code point -> class.
    """

    pages: NDArray[np.uint16]
    blocks: NDArray[np.uint8]


@kernel
def cluster_end(tables, text, start, stop):
    """Where the cluster ends that starts at ``start``.

    Parameters
    ----------
    tables : ClusterTables
    text : uint8[n]
        Valid UTF-8.
    start, stop : int64
        ``start < stop <= n``; ``start`` is where a cluster starts.

    Returns
    -------
    int64
    """
    if stop - start > 1 and text[start] < 0x80 and text[start + 1] < 0x80:  # the usual case
        return start + 2 if text[start] == _CR and text[start + 1] == _LF else start + 1
    code_point = code_point_at(text, start)
    own = _cluster_class(tables, code_point)
    position = start + encoded_length(code_point)
    # 0: none; 1: a pictograph and what extends it; 2: a joiner behind that
    picture = 1 if own == PICTOGRAPH else 0
    # 0: none; 1: a consonant and what extends it; 2: with a linker
    conjunct = 1 if own == CONSONANT else 0
    while position < stop:
        before = own
        code_point = code_point_at(text, position)
        own = _cluster_class(tables, code_point)
        if not _joins(before, own, picture, conjunct):
            return position
        extends = own in (EXTEND, LINKER, EXTEND_ALONE)
        if own == PICTOGRAPH:
            picture = 1
        elif not (extends and picture == 1):
            picture = 2 if own == JOINER and picture == 1 else 0
        if own == CONSONANT:
            conjunct = 1
        elif own == LINKER:
            conjunct = 2 if conjunct != 0 else 0
        elif own not in (EXTEND, JOINER):
            conjunct = 0
        position += encoded_length(code_point)
    return stop


@kernel
def _cluster_class(tables, code_point):
    return np.int64(tables.blocks[np.int64(tables.pages[code_point >> 7]) << 7 | code_point & 127])


@kernel
def _joins(before, own, picture, conjunct):
    """Whether no cluster ends between two characters; CR LF is known to be none."""
    if before == CONTROL or own == CONTROL:
        return False
    if own in (EXTEND, LINKER, JOINER, SPACING, EXTEND_ALONE) or before == PREPEND:
        return True
    if before == HANGUL_L:
        return own in (HANGUL_L, HANGUL_V, HANGUL_LV, HANGUL_LVT)
    if before in (HANGUL_LV, HANGUL_V):
        return own in (HANGUL_V, HANGUL_T)
    if before in (HANGUL_LVT, HANGUL_T):
        return own == HANGUL_T
    return (own == CONSONANT and conjunct == 2) or (own == PICTOGRAPH and picture == 2)
