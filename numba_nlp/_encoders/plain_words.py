"""Which words of raw text the stages leave as they are, but for their beginning.

A word that the cache does not hold passes through the stages of its file, which costs more than the model. Most words
need none of that: they are an optional space and characters that no stage changes or cuts at. What becomes of such a
word is the same for all of them: some prefix (often U+2581) in place of the space, and the rest. Here is found out
for which bytes this holds, and what the prefix is.

Why what is tried with a few texts holds for all words of these bytes: every step that is let through looks at one
character at a time, or for a string or a run that begins with a given byte, and words with such a byte are not plain.
So a step does to the characters of a plain word what it does to each, which is nothing; that is tried for every byte
between two letters, where a step that cuts at some class of characters shows as well. Steps that are not known here, or
that look for a string that goes on behind a space, make no word plain.

Of bytes that are not ASCII nothing is tried. They are plain where no step looks at characters at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import frozen
from numba_nlp.kernels.segment.cut_program import CUT_CLASS, CUT_METASPACE, CUT_STEP, CUT_STRING, CUT_WORDS
from numba_nlp.kernels.segment.normalize_edits import ANY_WHITE_SPACE
from numba_nlp.kernels.segment.normalize_program import (
    OP_CHARSMAP,
    OP_FORM,
    OP_MAP,
    OP_PREPEND,
    OP_REPLACE,
    OP_REPLACE_RUNS,
    OP_SURROUND,
    STEP,
)
from numba_nlp.kernels.segment.staged_words import (
    FURTHER,
    IS_PLAIN,
    MAY_BE_MARK,
    NOT_PLAIN,
    PREFIX_ROOM,
    PREFIXES,
    WordTables,
)

__all__ = ["plain_tables"]

_MARK = "\u2581".encode()
#: White space that is ASCII, but for the space.
_WHITE = frozenset((*range(0x09, 0x0E), *range(0x1C, 0x20)))
#: What may stand before the rest of a plain word, and for each space beyond the first.
_FORMS = (b"", b" ", _MARK)
#: ``bytes -> pieces``: what the stages make of a text.
Run: TypeAlias = Callable[[bytes], list[bytes]]


def plain_tables(tables: WordTables, arrays: Mapping[str, NDArray[Any]], run_first: Run, run_next: Run) -> WordTables:
    """The tables of words, with what makes a word plain.

    Parameters
    ----------
    tables : WordTables
    arrays : Mapping of str to ndarray
        Of the vocabulary; the programs of its stages among them.
    run_first, run_next : callable
        ``bytes -> pieces``: the stages as the first word of a row, and all others, pass through them.
    """
    plain = np.zeros(256, np.uint8)
    prefixes = np.zeros((PREFIXES, PREFIX_ROOM), np.uint8)
    sizes = np.full(PREFIXES, -1, np.int64)
    steps = _Steps(arrays)
    if steps.all_known and ord("a") not in steps.watched:
        found = [[_prefix(run, n) for n in range(4)] for run in (run_next, run_first)]
        kept = {2 * row + n: found[row][n] for row in (0, 1) for n in (0, 1)}
        kept[FURTHER] = None if steps.counts_spaces else _further(found)
        for row, content in kept.items():
            if content in _FORMS:
                prefixes[row, : len(content)] = list(content)
                sizes[row] = len(content)
        plain = _plain_bytes(steps, run_next)
    return tables._replace(plain=frozen(plain), prefixes=frozen(prefixes.reshape(-1)), prefix_sizes=frozen(sizes))


class _Steps:
    """What the steps of a vocabulary look for in a text.

    Attributes
    ----------
    all_known : bool
        Whether this module has something to say about each of them.
    watched : set of int
        Bytes that a string or a run begins with.
    ascii_only : bool
        Whether some step looks at characters.
    counts_spaces : bool
        Whether some step looks at the length of a run of white space.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.all_known, self.watched, self.ascii_only, self.counts_spaces = True, set[int](), False, False
        normalizer = Strings(arrays["normalizer_strings"], arrays["normalizer_string_offsets"])
        for operation, first, *_ in arrays["normalizer_program"].reshape(-1, STEP).tolist():
            if operation == OP_PREPEND:
                self.all_known &= normalizer[first] in _FORMS
            elif operation == OP_REPLACE:
                self._watch_string(normalizer[first])
            elif operation == OP_REPLACE_RUNS:
                self._watch_run(first)
            else:
                self.all_known &= operation in (OP_FORM, OP_MAP, OP_CHARSMAP, OP_SURROUND)
                self.ascii_only = True
                # the one cluster of ASCII that has two characters
                self.watched |= {0x0A, 0x0D}
        cutter = Strings(arrays["cut_strings"], arrays["cut_string_offsets"])
        for operation, first, *_ in arrays["cut_program"].reshape(-1, CUT_STEP).tolist():
            if operation == CUT_STRING:
                self._watch_string(cutter[first])
            elif operation == CUT_METASPACE:
                self.all_known &= cutter[first] == _MARK
            else:
                self.all_known &= operation in (CUT_CLASS, CUT_WORDS)
                self.ascii_only = True

    def _watch_string(self, string: bytes) -> None:
        if string in _FORMS:
            self.all_known &= string != b""
        else:
            self.all_known &= string[0] not in (0x20, _MARK[0])
            self.watched.add(string[0])

    def _watch_run(self, member: int) -> None:
        if member == ANY_WHITE_SPACE:
            self.watched |= _WHITE
            self.ascii_only = self.counts_spaces = True
        elif chr(member).encode() in _FORMS:
            self.counts_spaces = True
        else:
            self.all_known &= chr(member).encode()[0] != _MARK[0]
            self.watched.add(chr(member).encode()[0])


class Strings:
    """Strings of a program by number."""

    def __init__(self, content: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._content, self._offsets = content.tobytes(), offsets.tolist()

    def __getitem__(self, number: int) -> bytes:
        return self._content[self._offsets[number] : self._offsets[number + 1]]


def _prefix(run: Run, n_spaces: int) -> bytes | None:
    """What stands before a letter behind some spaces when the stages are done; None unless that is one piece."""
    pieces = run(b" " * n_spaces + b"a")
    return pieces[0][:-1] if len(pieces) == 1 and pieces[0].endswith(b"a") else None


def _further(found: list[list[bytes | None]]) -> bytes | None:
    """What each space beyond the first adds to the prefix, if always the same."""
    for content in _FORMS:
        if all(one is not None and two == one + content and three == one + 2 * content for _, one, two, three in found):
            return content
    return None


def _plain_bytes(steps: _Steps, run: Run) -> NDArray[np.uint8]:
    """What is true of each byte: ``NOT_PLAIN``, ``IS_PLAIN`` or ``MAY_BE_MARK``."""
    plain = np.zeros(256, np.uint8)
    before = _prefix(run, 0)
    for byte in range(0x80):
        tried = b"a" + bytes([byte]) + b"a"
        if byte != 0x20 and before is not None and run(tried) == [before + tried]:
            plain[byte] = IS_PLAIN
    if not steps.ascii_only:
        plain[0x80:] = IS_PLAIN
        plain[_MARK[0]] = MAY_BE_MARK
    plain[list(steps.watched)] = NOT_PLAIN
    return plain
