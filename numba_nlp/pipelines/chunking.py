"""Long texts in parts that fit into a model: cut between sentences, and within one only where it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.pipelines.sentences import sentence_spans, trimmed

__all__ = ["Chunk", "cut_text"]

Encode = Callable[[str], NDArray[np.int32]]


class Chunk(NamedTuple):
    """A part of a text.

    Parameters
    ----------
    start, end : int
        Characters of the text.
    ids : int32[n]
    """

    start: int
    end: int
    ids: NDArray[np.int32]


def cut_text(text: str, room: int, encode: Encode, tokenizer: Any, prefix_room: int = 0) -> list[Chunk]:
    """Cut a text into parts, each as many sentences as there is room for.

    Parameters
    ----------
    text : str
    room : int
        Most ids of a part.
    encode : callable
        ``text -> ids``, of a part as the model reads it, but for the tokens of the template.
    tokenizer : Tokenizer
        Tells the places of tokens in a sentence that is too long by itself.
    prefix_room : int
        Ids that `encode` puts before a text; an estimate.

    Returns
    -------
    list of Chunk
        In order; white space between them belongs to none. Sentences that are too long are cut between words; words,
        and sentences of languages without spaces, between tokens.

    Raises
    ------
    ValueError
        There is no room for a single character.
    """
    spans: list[tuple[int, int]] = []
    counts: list[int] = []
    found = sentence_spans(text)
    lengths = tokenizer.count_batch([text[a:b] for a, b in found.tolist()]) if len(found) else []
    for (start, end), length in zip(found.tolist(), np.asarray(lengths).tolist(), strict=True):
        # near the limit only the ids themselves tell
        if length + prefix_room > room or (2 * length > room and encode(text[start:end]).size > room):
            pieces = list(_cut_sentence(text, start, end, room, encode, tokenizer, prefix_room))
        else:
            pieces = [(start, end, length)]
        for piece_start, piece_end, piece_length in pieces:
            spans.append((piece_start, piece_end))
            counts.append(piece_length)
    return _fill(text, spans, counts, room, encode, prefix_room)


def _fill(
    text: str, spans: list[tuple[int, int]], counts: list[int], room: int, encode: Encode, prefix_room: int
) -> list[Chunk]:
    """Join sentences, each of which fits by itself, into parts that are as long as may be."""
    chunks = []
    first = 0
    while first < len(spans):
        start = spans[first][0]
        # ids of several sentences are nearly the sum of theirs
        last, total = first + 1, prefix_room + counts[first]
        while last < len(spans) and total + counts[last] <= room:
            total += counts[last]
            last += 1
        ids = encode(text[start : spans[last - 1][1]])
        while ids.size > room and last > first + 1:
            last -= 1
            ids = encode(text[start : spans[last - 1][1]])
        while last < len(spans):
            more = encode(text[start : spans[last][1]])
            if more.size > room:
                break
            ids, last = more, last + 1
        chunks.append(Chunk(start, spans[last - 1][1], ids))
        first = last
    return chunks


def _cut_sentence(
    text: str, start: int, end: int, room: int, encode: Encode, tokenizer: Any, prefix_room: int
) -> list[tuple[int, int, int]]:
    """Parts of a sentence that is too long: their places and numbers of ids, the prefix not counted."""
    _, starts, ends = tokenizer.encode(text[start:end], spans=True)
    # tokens that come from no text have no place of their own
    starts, ends = np.maximum.accumulate(starts), np.maximum.accumulate(ends)
    borders = np.unique(ends[ends > 0])
    pieces = []
    at = start
    while at < end:
        # the farthest border of tokens that there may be room for
        first = int(np.searchsorted(starts, at - start))
        place = min(first + max(1, room - prefix_room), ends.size) - 1
        cut = max(start + int(ends[place]), at + 1) if ends.size else end
        while True:
            cut = _word_end(text, at, cut, end)
            size = encode(text[at:cut]).size
            if size <= room:
                break
            cut = _earlier(text, at, cut, start + borders)
        pieces.append((at, cut, max(0, size - prefix_room)))
        at = trimmed(text, cut, end)[0]
    return pieces


def _word_end(text: str, start: int, cut: int, end: int) -> int:
    """The last end of a word up to a place, or the place itself where no word ends before."""
    if cut >= end or text[cut].isspace():
        return trimmed(text, start, min(cut, end))[1]
    for place in range(cut - 1, start, -1):
        if text[place].isspace():
            return trimmed(text, start, place)[1]
    return cut


def _earlier(text: str, start: int, cut: int, borders: NDArray[np.int64]) -> int:
    """The border of tokens before a place."""
    place = int(np.searchsorted(borders, cut)) - 1
    earlier = int(borders[place]) if place >= 0 else start
    if earlier > start:
        return earlier
    if cut - start > 1:
        return cut - 1
    raise ValueError(f"there is no room for the character {text[start]!r}; a part must have more tokens")
