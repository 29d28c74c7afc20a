"""Texts that commands run over: the lines of files, a block of rows at a time, so that no file has to fit in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from os import PathLike
from typing import BinaryIO

import numpy as np

from numba_nlp.text_rows import TextRows

__all__ = ["Corpus", "blocks"]

#: What is iterated over: a file, files, or rows. The file ``-`` is the standard input.
Corpus = str | PathLike[str] | Iterable[str | PathLike[str]] | TextRows

#: Bytes of text in one block: enough for all threads, little enough for the arrays of its tokens.
_BLOCK_BYTES = 1 << 22
_BLOCK_LINES = 1 << 15


def blocks(corpus: Corpus, block_bytes: int = _BLOCK_BYTES) -> Iterator[TextRows]:
    r"""Rows of a corpus, in order, some at a time.

    Parameters
    ----------
    corpus : path-like, iterable of path-like, or TextRows
        Text files in UTF-8, whose rows are their lines (without ``\n`` or ``\r\n``); ``"-"`` is the standard input.
    block_bytes : int
        About how much text a block has, one row at least.

    Yields
    ------
    TextRows
        Not empty. Those of files are mapped, not read.

    Raises
    ------
    InvalidTextError
        A line is not UTF-8; names the line.
    OSError
        A file cannot be opened.
    """
    if isinstance(corpus, TextRows):
        yield from _parts(corpus, block_bytes)
        return
    for path in (corpus,) if isinstance(corpus, str | PathLike) else corpus:
        if path == "-" or str(path) == "-":
            yield from _lines(sys.stdin.buffer)
        else:
            yield from _parts(TextRows.from_file(path), block_bytes)


def _parts(rows: TextRows, block_bytes: int) -> Iterator[TextRows]:
    first = 0
    while first < len(rows):
        last = int(np.searchsorted(rows.ends, rows.starts[first] + block_bytes, side="right"))
        last = max(first + 1, last)
        yield rows[first:last]
        first = last


def _lines(stream: BinaryIO) -> Iterator[TextRows]:
    while lines := list(islice(stream, _BLOCK_LINES)):
        yield TextRows.from_strings([line.removesuffix(b"\n").removesuffix(b"\r") for line in lines])
