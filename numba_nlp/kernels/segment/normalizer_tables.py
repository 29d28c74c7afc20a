"""Tables of SentencePiece's normaliser (``normalize_charsmap.py``), and the flags of a model that they carry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.tables.darts import HAS_LEAF, VALUE, unit_offset

__all__ = [
    "ADD_DUMMY_PREFIX",
    "ESCAPE_WHITESPACES",
    "REMOVE_EXTRA_WHITESPACES",
    "WHITESPACE_AS_SUFFIX",
    "NormalizerTables",
    "new_tables",
]

# Flags of a model.
ADD_DUMMY_PREFIX = 1
REMOVE_EXTRA_WHITESPACES = 2
ESCAPE_WHITESPACES = 4
#: The space of ``ADD_DUMMY_PREFIX`` is put behind the text.
WHITESPACE_AS_SUFFIX = 8

SPACE = 0x20
#: U+2581, which stands for a space.
MARK = (0xE2, 0x96, 0x81)
_MARK_WORD = 0x8196E2

#: In ``steps``: the byte is left to the general case.
GENERAL = 255


class NormalizerTables(NamedTuple):
    """What a normaliser reads; made by :func:`new_tables`."""

    units: Any  # uint32[n], Darts units of the charsmap; none: no rules
    strings: Any  # uint8[m], replacements, each ended by 0
    symbol_units: Any  # uint32[k], Darts units of the user-defined symbols; none: no symbols
    words: Any  # uint32[256]: what an ASCII byte becomes, up to three bytes, first byte lowest
    steps: Any  # uint8[512]: how many bytes that are; from 256 on, after a space; 255: see the general case
    after: Any  # int64[256]: 256 when a space that takes in following ones ends there, else 0
    settings: Any  # int64[2]: flags; output bytes for one input byte, at most


def new_tables(
    units: NDArray[np.uint32], strings: NDArray[np.uint8], symbol_units: NDArray[np.uint32], flags: int, growth: int
) -> NormalizerTables:
    """Make the tables of a normaliser.

    Parameters
    ----------
    units, strings : uint32[n], uint8[m]
        Charsmap, checked when the vocabulary was compiled; both empty when there are no rules.
    symbol_units : uint32[k]
        Double array of the user-defined symbols, empty when there are none.
    flags : int
        ``ADD_DUMMY_PREFIX | REMOVE_EXTRA_WHITESPACES | ESCAPE_WHITESPACES | WHITESPACE_AS_SUFFIX``.
    growth : int
        Output bytes for one input byte, at most (``vocab_tools.compiler.charsmap.summarize`` says how many).

    Returns
    -------
    NormalizerTables
    """
    escape, remove = bool(flags & ESCAPE_WHITESPACES), bool(flags & REMOVE_EXTRA_WHITESPACES)
    words = np.arange(256, dtype=np.uint32)
    steps = np.ones(512, np.uint8)
    after = np.zeros(256, np.int64)
    steps[128:256] = steps[384:] = GENERAL
    space = (_MARK_WORD, 3) if escape else (SPACE, 1)
    for byte in range(128):
        text = _ascii_replacement(units, strings, byte)
        if text is None or _begins(symbol_units, byte) or _begins_ascii_pair(units, byte):
            steps[byte] = steps[256 + byte] = GENERAL
        elif text == b" ":
            words[byte], steps[byte] = space
            steps[256 + byte] = 0 if remove else steps[byte]
            after[byte] = 256 if remove else 0
        elif len(text) == 1:
            words[byte] = text[0]
        else:
            steps[byte] = steps[256 + byte] = GENERAL
    settings = np.array([flags, growth], np.int64)
    made = NormalizerTables(units, strings, symbol_units, words, steps, after, settings)
    for array in made:
        array.flags.writeable = False
    return made


def _children(units: NDArray[np.uint32], node: int) -> NDArray[np.int64]:
    """Indices of the units below a node over ASCII bytes, -1 where there is none."""
    labels = np.arange(128)
    places = (node ^ unit_offset(int(units[node]))) ^ labels
    reached: NDArray[np.int64] = np.where((units[places].astype(np.int64) & (VALUE | 0xFF)) == labels, places, -1)
    return reached


def _begins(units: NDArray[np.uint32], byte: int) -> bool:
    """Whether a key begins with an ASCII byte."""
    return units.size > 0 and bool(_children(units, 0)[byte] >= 0)


def _begins_ascii_pair(units: NDArray[np.uint32], byte: int) -> bool:
    """Whether a key begins with an ASCII byte and another one."""
    return _begins(units, byte) and bool((_children(units, int(_children(units, 0)[byte])) >= 0).any())


def _ascii_replacement(units: NDArray[np.uint32], strings: NDArray[np.uint8], byte: int) -> bytes | None:
    """What an ASCII byte by itself becomes; None when it goes."""
    if not _begins(units, byte):
        return bytes([byte])
    node = int(_children(units, 0)[byte])
    unit = int(units[node])
    if not unit & HAS_LEAF:
        return bytes([byte])
    value = int(units[node ^ unit_offset(unit)]) & 0x7FFFFFFF
    stop = value + int(np.flatnonzero(strings[value:] == 0)[0])
    return strings[value:stop].tobytes() or None
