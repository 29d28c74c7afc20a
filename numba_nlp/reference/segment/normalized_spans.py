"""Plain twin of :mod:`numba_nlp.kernels.segment.normalized_spans`: spans of the tokens of one row."""

from __future__ import annotations

from typing import NamedTuple

from numba_nlp.reference.segment.code_points import is_white_space

__all__ = ["Match", "Token", "span_of_match", "span_of_token"]


class Token(NamedTuple):
    """One token of normalized text.

    Attributes
    ----------
    text : bytes
        Its bytes, an added space included.
    ranges : list of (int, int)
        Byte range in the row of each byte of ``text``; an added space has that of the byte behind it.
    has_added_space : bool
    """

    text: bytes
    ranges: list[tuple[int, int]]
    has_added_space: bool


class Match(NamedTuple):
    """A special token's match in the row: byte range."""

    start: int
    end: int


def _characters(row: bytes, span: tuple[int, int]) -> tuple[int, int]:
    """A range of bytes as one of characters."""
    return len(row[: span[0]].decode()), len(row[: span[1]].decode())


def _trimmed(span: tuple[int, int], leading: int, trailing: int, keeps_one: bool) -> tuple[int, int]:
    first, last = span
    if not (keeps_one and leading == 1):
        first = min(first + leading, last)
    if last >= trailing:
        last = max(last - trailing, first)
    return first, last


def span_of_token(row: bytes, token: Token, unit: str, trim: bool, keep_first: bool, is_first: bool) -> tuple[int, int]:
    """Span of a token.

    Parameters
    ----------
    row : bytes
        The original row.
    token : Token
    unit : {"byte", "char"}
    trim : bool
        ``trim_offsets``.
    keep_first : bool
        One leading space stays where the token is the first of the row, or starts at 0.
    is_first : bool
    """
    span = token.ranges[0][0], token.ranges[-1][1]
    spaces_before = len(token.text) - len(token.text.lstrip(b" "))
    spaces_behind = len(token.text) - len(token.text.rstrip(b" "))
    if unit == "char":
        span = _characters(row, span)
        keeps_one = keep_first and (is_first or span[0] == 0)
        return _trimmed(span, spaces_before, spaces_behind, keeps_one) if trim else span
    own = list(zip(token.text, token.ranges, strict=True))[token.has_added_space :]
    if not own:
        span = span[0], span[0]
    if not trim:
        return span
    stays = keep_first and (is_first or span[0] == 0) and not token.has_added_space and spaces_before == 1
    words = [place for place, (byte, _) in enumerate(own) if byte != ord(" ")]
    if not words:
        empty = span[0] if stays else span[1]
        return (empty, empty) if own else span
    first = own[words[0]][1][0] if words[0] > 0 and not stays else span[0]
    last = max(own[words[-1]][1][1], first) if words[-1] < len(own) - 1 else span[1]
    return first, last


def span_of_match(row: bytes, match: Match, unit: str, trim: bool, keep_first: bool, is_first: bool) -> tuple[int, int]:
    """Span of a special token; the parameters are those of :func:`span_of_token`."""
    span = match.start, match.end
    text = row[match.start : match.end].decode()
    sizes = [len(letter.encode()) if unit == "byte" else 1 for letter in text]
    space = [is_white_space(ord(letter)) or letter == "\u0120" for letter in text]
    if unit == "char":
        span = _characters(row, span)
    if not trim:
        return span
    n_before = next((place for place, is_space in enumerate(space) if not is_space), len(space))
    n_behind = next((place for place, is_space in enumerate(reversed(space)) if not is_space), len(space))
    first, last = span
    if not (keep_first and (is_first or span[0] == 0) and n_before == 1):
        first = min(first + sum(sizes[:n_before]), last)
    trailing = sum(sizes[len(sizes) - n_behind :])
    if last >= trailing:
        last = max(last - trailing, first)
    return first, last
