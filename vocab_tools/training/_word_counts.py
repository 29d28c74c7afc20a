"""Counted words, and whether what trainers add up of them stays within int64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError

__all__ = ["WordCounts", "check_occurrences"]

#: Largest count, of a word and of a corpus: what int64 holds.
MAX_COUNT = (1 << 63) - 1
_TOO_MANY = f"the counts add up to more than {MAX_COUNT}; divide them by a common number"


@dataclass(frozen=True)
class WordCounts:
    """Distinct words as rows of UTF-8, in the order of their bytes, and how often each occurs.

    Attributes
    ----------
    data : uint8[m]
        The words, one behind the other.
    offsets : int64[n + 1]
        Word ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    counts : int64[n]
        At least 1 each.

    Raises
    ------
    ValueError
        A count is less than 1, or their sum is more than int64 holds.
    """

    data: NDArray[np.uint8] = field(repr=False)
    offsets: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
        if int(self.counts.min(initial=1)) < 1:
            raise ValueError(f"`counts` must be at least 1 each, got {int(self.counts.min())}")
        if _sum_of_products(self.counts, np.ones_like(self.counts)) > MAX_COUNT:
            raise ValueError(_TOO_MANY)
        for array in (self.data, self.offsets, self.counts):
            array.flags.writeable = False

    def __len__(self) -> int:
        return int(self.counts.size)

    @property
    def total(self) -> int:
        """Number of words of the corpus, each as often as it occurs."""
        return int(self.counts.sum())

    @classmethod
    def from_items(
        cls, items: Mapping[str, int] | Mapping[bytes, int] | Iterable[tuple[str | bytes, int]]
    ) -> WordCounts:
        """Words and counts that are known already; counts of the same word are added.

        Parameters
        ----------
        items : Mapping or iterable of pairs
            Words as ``str`` or UTF-8 ``bytes``, and how often they occur. Words that occur zero times are left out.

        Returns
        -------
        WordCounts

        Raises
        ------
        TypeError
            A word or a count of another type; the message has its place.
        ValueError
            A count below 0, or a sum of counts beyond int64.
        """
        pairs: Iterable[tuple[str | bytes, int]] = items.items() if isinstance(items, Mapping) else items
        table: dict[bytes, int] = {}
        for number, (word, count) in enumerate(pairs):
            key = _word_bytes(word, number)
            if isinstance(count, bool) or not isinstance(count, int | np.integer):
                raise TypeError(f"item {number}: the count of {word!r} must be an int, got {type(count).__name__}")
            if count < 0:
                raise ValueError(f"item {number}: the count of {word!r} is {count}, expected 0 or more")
            if count:
                table[key] = table.get(key, 0) + int(count)
        if sum(table.values()) > MAX_COUNT:
            raise ValueError(_TOO_MANY)
        words = sorted(table)
        offsets = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.array([len(word) for word in words], np.int64), out=offsets[1:])
        counts = np.array([table[word] for word in words], np.int64)
        return cls(np.frombuffer(b"".join(words), np.uint8), offsets, counts)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Words and counts, in the order of the words' bytes."""
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        for row, count in enumerate(self.counts.tolist()):
            yield data[bounds[row] : bounds[row + 1]], count


def _word_bytes(word: object, number: int) -> bytes:
    if isinstance(word, bytes):
        key = word
    elif isinstance(word, str):
        key = word.encode("utf-8", "surrogatepass")
    else:
        raise TypeError(f"item {number}: a word is str or bytes, got {type(word).__name__}")
    try:
        key.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"item {number}: the word {word!r} is not valid Unicode") from error
    return key


def check_occurrences(words: WordCounts, what: str, *, longest: int | None = None) -> None:
    """Check that what a trainer adds up stays within int64: with larger counts it would wrap, and train on nonsense.

    Parameters
    ----------
    words : WordCounts
    what : {"bytes", "characters"}
        What words consist of for the trainer. Nothing that it counts occurs more often than these do in all words.
    longest : int, optional
        Most of them in a piece, by whose length the trainer multiplies; none by default.

    Raises
    ------
    SourceFormatError
        Names the sum.
    """
    lengths = np.diff(words.offsets)
    factor = 1 if longest is None else min(longest, int(lengths.max(initial=1)))
    # Bytes are enough to tell for nearly every corpus.
    if factor * float(np.dot(words.counts.astype(np.float64), lengths)) < MAX_COUNT / 2:
        return
    if what == "characters":
        before = np.zeros(words.data.size + 1, np.int64)
        np.cumsum((words.data & 0xC0) != 0x80, out=before[1:])
        lengths = before[words.offsets[1:]] - before[words.offsets[:-1]]
        factor = 1 if longest is None else min(longest, int(lengths.max(initial=1)))
    total = factor * _sum_of_products(words.counts, lengths)
    if total > MAX_COUNT:
        weighed = "" if longest is None else f", times the {factor} of the longest piece"
        raise SourceFormatError(
            f"the {what} of all words, each as often as it occurs{weighed}, add up to {total}, more than {MAX_COUNT}; "
            "divide the counts by a common number"
        )


def _sum_of_products(numbers: NDArray[np.int64], weights: NDArray[np.int64]) -> int:
    """Exact, also beyond int64; neither has negative numbers."""
    if np.dot(numbers.astype(np.float64), weights) < MAX_COUNT / 2:
        return int(np.dot(numbers, weights))
    return sum(number * weight for number, weight in zip(numbers.tolist(), weights.tolist(), strict=True))
