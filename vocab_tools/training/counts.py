"""Distinct words and how often each occurs: all that trainers need to know of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["WordCounts"]

#: Largest count, of a word and of a corpus: what int64 holds.
MAX_COUNT = (1 << 63) - 1


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
    """

    data: NDArray[np.uint8] = field(repr=False)
    offsets: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
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
        pairs: Iterable[tuple[str | bytes, int]] = items.items() if isinstance(items, Mapping) else items  # type: ignore[assignment]
        table: dict[bytes, int] = {}
        for number, (word, count) in enumerate(pairs):
            if isinstance(word, str):
                try:
                    word = word.encode()
                except UnicodeEncodeError as error:
                    raise ValueError(f"item {number}: the word {word!r} holds a lone surrogate") from error
            elif not isinstance(word, bytes):
                raise TypeError(f"item {number}: a word is str or bytes, got {type(word).__name__}")
            if isinstance(count, bool) or not isinstance(count, int | np.integer):
                raise TypeError(f"item {number}: the count of {word!r} must be an int, got {type(count).__name__}")
            if count < 0:
                raise ValueError(f"item {number}: the count of {word!r} is {count}, expected 0 or more")
            if count:
                table[word] = table.get(word, 0) + int(count)
        if sum(table.values()) > MAX_COUNT:
            raise ValueError(f"the counts add up to more than {MAX_COUNT}; divide them by a common number")
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
