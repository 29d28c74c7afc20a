"""Words of raw text behind general stages: rows to ids through a word cache, before anything is normalized.

Where the vocabulary's stages and its model treat what follows a space as they would by itself
(:mod:`vocab_tools.compiler.raw_words` proves it when a vocabulary is compiled, and lists the characters behind which it
holds), raw text is cut before runs of spaces, and the ids of each such *word* are kept under its raw bytes. Only words
that were not met before pass through the stages, and of these only such as are not *plain*: of a plain word the stages
make one piece, a prefix in place of its spaces and its other bytes as they are
(:mod:`numba_nlp._encoders.plain_words`). The first word of a row has ids of its own
(:mod:`numba_nlp.kernels.segment.row_firsts`): stages may put something before it.

Twin: ``numba_nlp.reference.segment.staged_words``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_loops import SPANS, new_spans
from numba_nlp.kernels.words import peek, poke

__all__ = [
    "FURTHER",
    "IDS_PER_BYTE",
    "IS_PLAIN",
    "MAY_BE_MARK",
    "NOT_PLAIN",
    "PREFIXES",
    "PREFIX_ROOM",
    "WordScratch",
    "WordTables",
    "fill_words",
    "is_solid",
    "new_word_scratch",
    "new_word_tables",
    "write_plain",
]

#: Most ids that a byte of a word may make; a batch with a word of more goes through the stages in blocks.
IDS_PER_BYTE = 4

# What is true of a byte: a word with it is not plain, may be plain, or may be unless U+2581 begins with it.
NOT_PLAIN, IS_PLAIN, MAY_BE_MARK = 0, 1, 2
#: Rows of the table of prefixes: ``2 * begins_row + has_space``, and what each space beyond the first adds.
FURTHER, PREFIXES = 4, 5
#: Bytes of a row; a mark has three.
PREFIX_ROOM = 4

_SPACE = 0x20
#: Bytes of U+2581 behind its first.
_MARK_1, _MARK_2 = 0x96, 0x81


class WordTables(NamedTuple):
    """Which characters a word may end with, and which words are plain.

    Attributes
    ----------
    solid_pages, solid_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        ``solid_blocks[solid_pages[cp >> 7] << 7 | (cp & 127)]`` is 1 for a code point before whose following space raw
        text may be cut. Block 0 holds ASCII.
    plain : uint8[256]
        ``NOT_PLAIN``, ``IS_PLAIN`` or ``MAY_BE_MARK`` of each byte.
    prefixes, prefix_sizes : uint8[PREFIXES * PREFIX_ROOM], int64[PREFIXES]
        What stands in place of the spaces of plain words; -1: such words are not plain.
    """

    solid_pages: NDArray[np.uint16]
    solid_blocks: NDArray[np.uint8]
    plain: NDArray[np.uint8]
    prefixes: NDArray[np.uint8]
    prefix_sizes: NDArray[np.int64]


def new_word_tables(solid_pages: NDArray[np.uint16], solid_blocks: NDArray[np.uint8]) -> WordTables:
    """Tables in which no word is plain.

    Parameters
    ----------
    solid_pages, solid_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    """
    return WordTables(
        solid_pages,
        solid_blocks,
        np.zeros(256, np.uint8),
        np.zeros(PREFIXES * PREFIX_ROOM, np.uint8),
        np.full(PREFIXES, -1, np.int64),
    )


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
    stages: NDArray[np.int64]  # [6]: addresses, see numba_nlp._fastcall.words
    found: NDArray[np.int32]  # ids of one word
    text: NDArray[np.uint8]  # one plain word behind its prefix
    row: NDArray[np.int64]  # [4]: where that begins and ends, and its ids


def new_word_scratch(capacity: int, stages: NDArray[np.int64]) -> WordScratch:
    """Working memory for words of up to ``capacity`` bytes.

    Parameters
    ----------
    capacity : int
    stages : int64[6]
    """
    return WordScratch(
        **new_spans(),
        masks=key_masks(),
        progress=np.zeros(3, np.int64),
        firsts=np.zeros(SPANS + 1, np.int64),
        stages=stages,
        found=np.zeros(capacity, np.int32),
        text=np.zeros(capacity, np.uint8),
        row=np.zeros(4, np.int64),
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


@inlined
def write_plain(tables, data, start, n, begins_row, text):
    """What the stages make of a word, if it is plain.

    Parameters
    ----------
    tables : WordTables
    data : uint8[m]
        Valid UTF-8.
    start, n : int64
        The word.
    begins_row : bool
        Whether it is the first of a row.
    text : uint8[k]
        Written: one piece of text.

    Returns
    -------
    int64
        Bytes of the piece; -1 when the word is not plain, or ``text`` has no room.
    """
    stop = start + n
    place = start
    while place < stop and peek(data, place) == _SPACE:
        place += 1
    n_spaces = place - start
    row = 2 * np.int64(begins_row) + min(n_spaces, np.int64(1))
    size = np.int64(peek(tables.prefix_sizes, row))
    further = np.int64(peek(tables.prefix_sizes, np.int64(FURTHER)))
    if size < 0 or place == stop or (n_spaces > 1 and further < 0):
        return np.int64(-1)
    if size + further * max(n_spaces - 1, np.int64(0)) + stop - place > text.size:
        return np.int64(-1)
    for i in range(size):
        poke(text, i, peek(tables.prefixes, PREFIX_ROOM * row + i))
    for _ in range(1, n_spaces):
        for i in range(further):
            poke(text, size + i, peek(tables.prefixes, np.int64(PREFIX_ROOM * FURTHER) + i))
        size += further
    while place < stop:
        byte = peek(data, place)
        kind = peek(tables.plain, np.int64(byte))
        if kind != IS_PLAIN:
            is_mark = place + 2 < stop and peek(data, place + 1) == _MARK_1 and peek(data, place + 2) == _MARK_2
            if kind == NOT_PLAIN or is_mark:
                return np.int64(-1)
        poke(text, size, byte)
        size += 1
        place += 1
    return size
