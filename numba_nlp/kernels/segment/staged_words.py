"""Words of raw text behind general stages: rows to ids through a word cache, before anything is normalized.

Where the vocabulary's stages and its model treat what follows a space as they would by itself
(:mod:`vocab_tools.compiler.raw_words` proves it when a vocabulary is compiled, and lists the characters behind which it
holds), raw text is cut before runs of spaces, and the ids of each such *word* are kept under its raw bytes. Only words
that were not met before pass through the stages. The first word of a row has ids of its own
(:mod:`numba_nlp.kernels.segment.row_firsts`): stages may put something before it.

Twin: ``numba_nlp.reference.segment.staged_words``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_rows import BLOCK, SLACK
from numba_nlp.kernels.words import peek

__all__ = ["IDS_PER_BYTE", "WordScratch", "WordTables", "fill_words", "is_solid", "new_word_scratch"]

#: Most ids that a byte of a word may make; a batch with a word of more goes through the stages in blocks.
IDS_PER_BYTE = 4

_SPACE = 0x20


class WordTables(NamedTuple):
    """Which characters a word may end with.

    Attributes
    ----------
    solid_pages, solid_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        ``solid_blocks[solid_pages[cp >> 7] << 7 | (cp & 127)]`` is 1 for a code point before whose following space raw
        text may be cut. Block 0 holds ASCII.
    """

    solid_pages: NDArray[np.uint16]
    solid_blocks: NDArray[np.uint8]


class WordScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_word_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]
    firsts: NDArray[np.int64]  # [BLOCK + SLACK + 1]: how many words begin a row, and which
    stages: NDArray[np.int64]  # [4]: addresses, see numba_nlp._fastcall.words
    found: NDArray[np.int32]  # ids of one word


def new_word_scratch(capacity: int, stages: NDArray[np.int64]) -> WordScratch:
    """Working memory for words of up to ``capacity`` bytes.

    Parameters
    ----------
    capacity : int
    stages : int64[4]
    """
    n = BLOCK + SLACK
    return WordScratch(
        starts=np.zeros(n, np.int64),
        ends=np.zeros(n, np.int64),
        low=np.zeros(n, np.uint64),
        high=np.zeros(n, np.uint64),
        homes=np.zeros(n, np.int64),
        emitted=np.zeros(n, np.int64),
        masks=key_masks(),
        progress=np.zeros(3, np.int64),
        firsts=np.zeros(n + 1, np.int64),
        stages=stages,
        found=np.zeros(capacity, np.int32),
    )


@kernel
def is_solid(tables, data, start, stop):
    """Whether the last character of a stretch of text is one that a word may end with.

    Parameters
    ----------
    tables : WordTables
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
        Not empty, from the first byte of a character to the last one of another.

    Returns
    -------
    bool
    """
    last = np.int64(peek(data, stop - 1))
    if last < 0x80:
        return tables.solid_blocks[last] != 0
    code_point, shift, place = last & 0x3F, 6, stop - 2
    while place > start and np.int64(peek(data, place)) & 0xC0 == 0x80:
        code_point |= (np.int64(peek(data, place)) & 0x3F) << shift
        shift += 6
        place -= 1
    code_point |= (np.int64(peek(data, place)) & (0x3F >> (shift // 6))) << shift
    block = np.int64(tables.solid_pages[code_point >> 7])
    return tables.solid_blocks[block << 7 | code_point & 127] != 0


@kernel
def fill_words(tables, data, position, stop, starts, ends, n, limit):
    """Append the words from ``position`` on until the text ends or ``limit`` words are reached.

    A word is a run of spaces, which may be empty where a row begins, and what follows up to the next run of spaces
    behind a solid character. Words tile the text.

    Parameters
    ----------
    tables : WordTables
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the row; not within a word.
    starts, ends : int64[limit]
        Written from ``n`` on.
    n, limit : int64
        Words there are, and where to stop.

    Returns
    -------
    n, position : int64, int64
        Words there are now, and where to go on (``stop`` at the end).
    """
    while position < stop and n < limit:
        place = position
        while True:
            while place < stop and peek(data, place) == _SPACE:
                place += 1
            while place < stop and peek(data, place) != _SPACE:
                place += 1
            if place >= stop or is_solid(tables, data, position, place):
                break
        starts[n] = position
        ends[n] = place
        n += 1
        position = place
    return n, position
