"""Plain-Python twin of :mod:`numba_nlp.kernels.segment.special`: tries every token at every place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.special_matcher import (
    FIRST_SEARCH,
    FLAG_LSTRIP,
    FLAG_RSTRIP,
    FLAG_SINGLE_WORD,
    SECOND_SEARCH,
    SpecialMatcher,
)
from numba_nlp.reference.segment.code_points import is_white_space, is_word

#: (token, first byte, end)
Match = tuple[int, int, int]


def find_specials(
    matcher: SpecialMatcher,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    match_rows: NDArray[np.int64],
    match_starts: NDArray[np.int64],
    match_ends: NDArray[np.int64],
    match_tokens: NDArray[np.int32],
) -> int:
    """Find the special tokens in a batch of rows; writes as many as fit, returns how many there are."""
    found = []
    for row, (start, stop) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        text = data[start:stop].tobytes()
        pieces = _cut(0, len(text), _search(matcher, text, FIRST_SEARCH))
        for token, first, end in pieces:
            if token >= 0:
                found.append((row, token, start + first, start + end))
                continue
            inner = text[first:end]
            for inner_token, a, b in _search(matcher, inner, SECOND_SEARCH):
                found.append((row, inner_token, start + first + a, start + first + b))
    for i, (row, token, first, end) in enumerate(found[: match_rows.size]):
        match_rows[i], match_tokens[i], match_starts[i], match_ends[i] = row, token, first, end
    return len(found)


def _cut(start: int, stop: int, matches: list[Match]) -> list[Match]:
    """Put the text between matches, as token -1, into the list; empty text vanishes."""
    pieces = []
    for token, first, end in matches:
        if start < first:
            pieces.append((-1, start, first))
        pieces.append((token, first, end))
        start = end
    if start < stop:
        pieces.append((-1, start, stop))
    return pieces


def _search(matcher: SpecialMatcher, text: bytes, search: int) -> list[Match]:
    """Matches of the tokens of one search in one stretch of text."""
    content = matcher.special_bytes.tobytes()
    bounds = matcher.special_offsets.tolist()
    tokens = {
        content[bounds[i] : bounds[i + 1]]: i for i in range(matcher.searches.size) if matcher.searches[i] == search
    }
    matches = []
    taken = position = 0
    while position < len(text):
        here = [token for token in tokens if text.startswith(token, position)]
        if not here:
            position += 1
            continue
        content_here = max(here, key=len)
        token = tokens[content_here]
        flags = int(matcher.token_flags[token])
        before, after = text[:position].decode(), text[position + len(content_here) :].decode()
        first, position = position, position + len(content_here)
        end = position
        if flags & FLAG_SINGLE_WORD and (
            (before and is_word(matcher.word_bits, ord(before[-1])))
            or (after and is_word(matcher.word_bits, ord(after[0])))
        ):
            continue
        if flags & FLAG_LSTRIP:
            while before and is_white_space(ord(before[-1])):
                first -= len(before[-1].encode())
                before = before[:-1]
            first = max(first, taken)
        if flags & FLAG_RSTRIP:
            while after and is_white_space(ord(after[0])):
                end += len(after[0].encode())
                after = after[1:]
        if first < end:
            matches.append((token, first, end))
            taken = end
    return matches


def split_rows(
    match_rows: NDArray[np.int64],
    match_starts: NDArray[np.int64],
    match_ends: NDArray[np.int64],
    match_tokens: NDArray[np.int32],
    n_matches: int,
    special_ids: NDArray[np.int32],
    template: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    seg_starts: NDArray[np.int64],
    seg_ends: NDArray[np.int64],
    seg_fixed: NDArray[np.int32],
    row_first_segment: NDArray[np.int64],
) -> int:
    """Cut rows into segments of text (-1) and segments that are one id."""
    segments: list[tuple[int, int, int]] = []
    for row, (start, stop) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        row_first_segment[row] = len(segments)
        matches = [
            (int(match_tokens[i]), int(match_starts[i]), int(match_ends[i]))
            for i in range(n_matches)
            if match_rows[i] == row
        ]
        for part in template.tolist() or [-1]:
            if part >= 0:
                segments.append((part, -1, -1))
                continue
            for token, first, end in _cut(start, stop, matches):
                segments.append((-1 if token < 0 else int(special_ids[token]), first, end))
    row_first_segment[starts.size] = len(segments)
    if len(segments) > seg_starts.size:
        return STATUS_OUTPUT_FULL
    for i, (fixed, first, end) in enumerate(segments):
        seg_fixed[i], seg_starts[i], seg_ends[i] = fixed, first, end
    return len(segments)
