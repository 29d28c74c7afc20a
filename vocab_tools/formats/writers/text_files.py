"""The line formats: rank files, merges, word lists, and codes of subword-nmt and of fastBPE."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence

from numba_nlp.errors import ConversionError
from vocab_tools.formats.bert_vocab import TRAILING_SPACE, WordPieceDescription

__all__ = ["codes_bytes", "fastbpe_bytes", "merges_bytes", "ranks_bytes", "words_bytes"]


def ranks_bytes(ranks: Mapping[bytes, int]) -> bytes:
    """A ``.tiktoken`` file, in the order of the ranks, as tiktoken's own files are written."""
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    return b"".join(base64.b64encode(piece) + b" %d\n" % rank for piece, rank in ordered)


def merges_bytes(merges: Iterable[Sequence[str]]) -> bytes:
    """A ``merges.txt``.

    Raises
    ------
    ConversionError
        A part holds a space or ends a line, or a merge would read as the version line.
    """
    return _merge_lines(merges, "merges.txt", "a tokenizer.json keeps it")


def _merge_lines(merges: Iterable[Sequence[str]], what: str, way_out: str) -> bytes:
    lines = ["#version: 0.2"]
    for number, (left, right) in enumerate(merges):
        line = f"{left} {right}"
        if any(mark in part for part in (left, right) for mark in (" ", "\n", "\r")) or line.startswith("#version"):
            raise ConversionError(
                f"the merge {number} of {left!r:.40} and {right!r:.40} cannot be a line of {what}, which has one "
                f"space between two parts; {way_out}"
            )
        lines.append(line)
    return "".join(f"{line}\n" for line in lines).encode()


def words_bytes(description: WordPieceDescription) -> bytes:
    """A ``vocab.txt``: the token of each id on its line.

    Raises
    ------
    ConversionError
        A token that no line can be.
    """
    lines = list(description.pieces)
    for token in description.added_tokens:
        if token.id < len(lines):
            lines[token.id] = token.content
    for number, line in enumerate(lines):
        if line is None:
            raise ConversionError(f"the id {number} belongs to no token, but every line of a vocab.txt is one")
        if "\n" in line or TRAILING_SPACE.search(line):
            raise ConversionError(
                f"the token {line!r:.60} (id {number}) holds a line end or ends with white space, which a line of a "
                "vocab.txt cannot; a tokenizer.json keeps it"
            )
    return "".join(f"{line}\n" for line in lines).encode()


def codes_bytes(merges: Iterable[Sequence[str]]) -> bytes:
    """Codes of subword-nmt, version 0.2.

    Raises
    ------
    ConversionError
        As of :func:`merges_bytes`.
    """
    return _merge_lines(merges, "codes", "take such characters out of the words")


def fastbpe_bytes(merges: Iterable[Sequence[str]], counts: Iterable[int]) -> bytes:
    """Codes of fastBPE: each merge with the frequency of its pair."""
    return "".join(f"{a} {b} {count}\n" for (a, b), count in zip(merges, counts, strict=True)).encode()
