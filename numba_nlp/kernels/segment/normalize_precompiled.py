"""The charsmap of a SentencePiece model as tokenizers applies it (``Precompiled``), with alignment.

tokenizers does not look for the longest rule at every place, as sentencepiece does. It cuts the text into grapheme
clusters; a cluster of fewer than six bytes is looked up as one, anything else character by character; and a look-up
gives the *shortest* rule that the cluster or character begins with. So a cluster that only begins like a rule is
replaced as a whole, its rest lost: with a rule for U+00C5, U+00C5 U+0301 loses its accent.

Of the characters that take the place of a cluster the first has the range of the cluster's first character, all others
that of its last one, as in tokenizers. It differs where a rule gives nothing: at the start of a text tokenizers then
loses count, and all ranges are those of earlier characters; and behind a rule that gave several characters, the last of
them gets the range of what was left out. Neither is so here.

Twin: ``numba_nlp.reference.segment.normalize_precompiled``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.segment.graphemes import cluster_end
from numba_nlp.kernels.segment.normalize_text import UNCHANGED, copy_aligned

__all__ = ["CharsmapTables", "apply_charsmap"]

#: Clusters of this many bytes are looked up character by character.
_TOO_LONG = 6


class CharsmapTables(NamedTuple):
    """A charsmap as it stands in the file.

    Attributes
    ----------
    units : uint32[n]
        Double array of Darts-clone: bits 0 to 7 are the label of a node, bit 8 says that it has a value, bit 9 that its
        offset counts in 256, bits 10 on are the offset; a value unit has bit 31 set.
    text : uint8[m]
        Replacements, each ended by a zero byte; values are places in it.
    """

    units: NDArray[np.uint32]
    text: NDArray[np.uint8]


@kernel
def apply_charsmap(charsmap, clusters, source, start, stop, target, at):
    """Replace clusters and characters by what a charsmap has for them.

    Parameters
    ----------
    charsmap : CharsmapTables
    clusters : ClusterTables
    source : Aligned
    start, stop : int64
        The text in ``source``, valid UTF-8.
    target : Aligned
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``UNCHANGED``; or ``STATUS_OUTPUT_FULL``.
    """
    text = source.text
    copied = start
    position = start
    changed = False
    while position < stop:
        end = cluster_end(clusters, text, position, stop)
        place = np.int64(-1)
        if end - position < _TOO_LONG:
            place = _shortest_rule(charsmap, text, position, end)
        unit_end = end  # of what is looked up
        while position < end:
            if place < 0:
                unit_end = position + encoded_length(code_point_at(text, position))
                place = _shortest_rule(charsmap, text, position, unit_end)
            if place >= 0:
                changed = True
                at = copy_aligned(source, copied, position, target, at)
                if at < 0:
                    return at
                at = _put_rule(charsmap, place, source, position, unit_end - 1, target, at)
                if at < 0:
                    return at
                copied = unit_end
            position = unit_end
            place = np.int64(-1)
    if not changed:
        return np.int64(UNCHANGED)
    return copy_aligned(source, copied, stop, target, at)


@kernel
def _shortest_rule(charsmap, text, start, stop):
    """Place of the replacement of the shortest rule that ``text[start:stop]`` begins with, or -1."""
    units = charsmap.units
    node = np.int64(0)
    unit = np.int64(units[0]) if units.size > 0 else np.int64(0)
    node ^= _offset(unit)
    for position in range(start, stop):
        byte = np.int64(text[position])
        node ^= byte
        if byte == 0 or node >= units.size:
            return np.int64(-1)
        unit = np.int64(units[node])
        if unit & 0x800000FF != byte:
            return np.int64(-1)
        node ^= _offset(unit)
        if unit & 0x100 != 0:
            return np.int64(units[node]) & 0x7FFFFFFF if node < units.size else np.int64(-1)
    return np.int64(-1)


@kernel
def _offset(unit):
    return unit >> 10 << ((unit & 0x200) >> 6)


@kernel
def _put_rule(charsmap, place, source, first, last, target, at):
    """Write a replacement: its first character has the range of the byte at ``first``, others that at ``last``."""
    rules = charsmap.text
    start = at
    origin = first
    while place < rules.size and rules[place] != 0:
        if at >= target.text.size:
            return np.int64(STATUS_OUTPUT_FULL)
        if at > start and rules[place] & 0xC0 != 0x80:
            origin = last
        target.text[at] = rules[place]
        if target.starts.size > 0:
            target.starts[at] = source.starts[origin]
            target.ends[at] = source.ends[origin]
        place += 1
        at += 1
    return np.int64(at)
