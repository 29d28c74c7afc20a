"""``compare``: counts of two tokenizers on one corpus, their common pieces, and the rows that they cut differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError
from numba_nlp.loading import load_tokenizer
from numba_nlp.ragged import Ragged
from numba_nlp.text_rows import TextRows
from numba_nlp.tokenizer import Tokenizer
from vocab_tools.comparing.pieces import piece_texts, unknown_id
from vocab_tools.corpus import Corpus, blocks

__all__ = ["Comparison", "CorpusCounts", "DifferentRow", "TokenizerCounts", "compare"]

_WHITE = np.zeros(256, np.bool_)
_WHITE[[*range(9, 14), 32]] = True


@dataclass(frozen=True)
class CorpusCounts:
    """Sizes of a corpus.

    Attributes
    ----------
    rows : int
    words : int
        What white space parts (``str.split``).
    characters : int
        Code points, without ASCII white space.
    bytes : int
        Of UTF-8, without line ends.
    """

    rows: int = 0
    words: int = 0
    characters: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class TokenizerCounts:
    """What one tokenizer makes of a corpus.

    Attributes
    ----------
    name, algorithm : str
    vocab_size : int
    pieces : int
        Distinct texts of pieces, see :func:`vocab_tools.comparing.pieces.piece_texts`.
    tokens : int
    unknown_tokens : int
    unknown_characters : int
        Characters in unknown tokens, without ASCII white space.
    used : int
        Ids that occur.
    corpus : CorpusCounts
    """

    name: str
    algorithm: str
    vocab_size: int
    pieces: int
    tokens: int
    unknown_tokens: int
    unknown_characters: int
    used: int
    corpus: CorpusCounts = field(repr=False)

    @property
    def tokens_per_word(self) -> float:
        """Fertility; not a number for a corpus without words."""
        return _ratio(self.tokens, self.corpus.words)

    @property
    def tokens_per_byte(self) -> float:
        """Fertility by bytes, which does not depend on what a word is."""
        return _ratio(self.tokens, self.corpus.bytes)

    @property
    def unknown_rate(self) -> float:
        """Share of unknown tokens among all."""
        return _ratio(self.unknown_tokens, self.tokens)

    @property
    def coverage(self) -> float:
        """Share of the characters that are not in unknown tokens."""
        return 1.0 - _ratio(self.unknown_characters, self.corpus.characters)

    @property
    def used_share(self) -> float:
        """Share of the ids that occur."""
        return self.used / self.vocab_size


@dataclass(frozen=True)
class DifferentRow:
    """A row that two tokenizers cut at different places.

    Attributes
    ----------
    row : int
        Its number in the corpus, from 0.
    text : str
    first, second : tuple of str
        Tokens, as vocabulary files write them.
    """

    row: int
    text: str
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two tokenizers on one corpus.

    Attributes
    ----------
    corpus : CorpusCounts
    first, second : TokenizerCounts
    common_pieces : int
        Texts that both have a piece for.
    differing_rows : int
        Rows that are cut at different places, ASCII white space aside.
    shown : tuple of DifferentRow
        The first ones of them.
    """

    corpus: CorpusCounts
    first: TokenizerCounts
    second: TokenizerCounts
    common_pieces: int
    differing_rows: int
    shown: tuple[DifferentRow, ...] = field(repr=False)

    @property
    def common_of_first(self) -> float:
        """Share of the first one's pieces that the second one has."""
        return _ratio(self.common_pieces, self.first.pieces)

    @property
    def common_of_second(self) -> float:
        """Share of the second one's pieces that the first one has."""
        return _ratio(self.common_pieces, self.second.pieces)


def compare(
    first: Any,
    second: Any,
    corpus: Corpus,
    *,
    show: int = 10,
    first_options: Mapping[str, Any] | None = None,
    second_options: Mapping[str, Any] | None = None,
    num_threads: int | None = None,
) -> Comparison:
    """Compare two tokenizers, of whatever kinds, on a corpus.

    The corpus is gone through in blocks of rows. Special tokens written in it are taken as plain text.

    Parameters
    ----------
    first, second : Tokenizer, or what load_tokenizer takes
    corpus : path-like, iterable of path-like, or TextRows
        Text files, whose rows are their lines; ``"-"`` is the standard input.
    show : int, default 10
        How many of the rows that are cut differently to give.
    first_options, second_options : Mapping, optional
        Keyword arguments of :func:`numba_nlp.load_tokenizer` for each.
    num_threads : int, optional
        As of :meth:`numba_nlp.Tokenizer.encode_batch`.

    Returns
    -------
    Comparison

    Raises
    ------
    SourceFormatError
        The corpus has no words.
    NumbaNlpError, OSError
        A vocabulary or the corpus cannot be read.
    ValueError
        ``show`` is negative.
    """
    if show < 0:
        raise ValueError(f"`show` must be at least 0, got {show}")
    sides = (_Side(first, first_options, num_threads), _Side(second, second_options, num_threads))
    rows = words = characters = n_bytes = differing = 0
    shown: list[DifferentRow] = []
    for block in blocks(corpus):
        places = _Places(block)
        cuts = [side.add(block, places) for side in sides]
        different = _rows_cut_differently(len(block), *cuts)
        differing += different.size
        for row in different[: show - len(shown)].tolist():
            text = block[row]
            assert isinstance(text, str)
            tokens = [side.tokens(cut.encoded, row) for side, cut in zip(sides, cuts, strict=True)]
            shown.append(DifferentRow(rows + row, text, *tokens))
        rows += len(block)
        words += sum(len(text.split()) for text in block if text)
        characters += places.n_characters
        n_bytes += int((block.ends - block.starts).sum())
    if not words:
        raise SourceFormatError("the corpus has no words, so there is nothing to compare; give one with text")
    counted = CorpusCounts(rows, words, characters, n_bytes)
    texts = [set(piece_texts(side.tokenizer).values()) for side in sides]
    return Comparison(
        corpus=counted,
        first=sides[0].counts(len(texts[0]), counted),
        second=sides[1].counts(len(texts[1]), counted),
        common_pieces=len(texts[0] & texts[1]),
        differing_rows=differing,
        shown=tuple(shown),
    )


class _Places:
    """Positions of a block of rows, counted without white space."""

    def __init__(self, rows: TextRows) -> None:
        self._starts = rows.starts
        self._base = int(rows.starts[0])
        data = rows.data[self._base : int(rows.ends[-1])]
        seen = ~_WHITE[data]
        # what lies between rows (line ends) is white space too
        self._bytes = np.concatenate(([0], np.cumsum(seen)))
        self._characters = np.concatenate(([0], np.cumsum(seen & ((data & 0xC0) != 0x80))))
        ends = rows.ends - self._base
        self.n_characters = int((self._characters[ends] - self._characters[rows.starts - self._base]).sum())

    def spans(self, encoded: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Row, start and end of each token; the last two in bytes of the block that are no white space."""
        assert encoded.starts is not None
        assert encoded.ends is not None
        rows = np.repeat(np.arange(encoded.row_lengths.size), encoded.row_lengths)
        begin = self._starts[rows] - self._base
        return rows, self._bytes[encoded.starts + begin], self._bytes[encoded.ends + begin]

    def characters(self, encoded: Ragged, chosen: NDArray[np.bool_]) -> int:
        """Number of characters in some of the tokens."""
        assert encoded.starts is not None
        assert encoded.ends is not None
        rows = np.repeat(np.arange(encoded.row_lengths.size), encoded.row_lengths)[chosen]
        begin = self._starts[rows] - self._base
        lengths = self._characters[encoded.ends[chosen] + begin] - self._characters[encoded.starts[chosen] + begin]
        return int(lengths.sum())


@dataclass(frozen=True)
class _Cut:
    """Tokens of a block that are more than white space."""

    encoded: Ragged
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class _Side:
    """One of the two tokenizers, and what was counted so far."""

    def __init__(self, given: Any, options: Mapping[str, Any] | None, num_threads: int | None) -> None:
        self.tokenizer = given if isinstance(given, Tokenizer) else load_tokenizer(given, **(options or {}))
        self._threads = num_threads
        self._unknown = unknown_id(self.tokenizer)
        self._used: NDArray[np.bool_] = np.zeros(self.tokenizer.vocab_size, np.bool_)
        self._tokens = self._unknown_tokens = self._unknown_characters = 0

    def add(self, rows: TextRows, places: _Places) -> _Cut:
        encoded = self.tokenizer.encode_batch(rows, spans=True, unit="byte", special="plain", num_threads=self._threads)
        self._used[encoded.values] = True
        self._tokens += encoded.values.size
        unknown = encoded.values == self._unknown
        self._unknown_tokens += int(np.count_nonzero(unknown))
        self._unknown_characters += places.characters(encoded, unknown)
        row, starts, ends = places.spans(encoded)
        seen = ends > starts
        return _Cut(encoded, row[seen], starts[seen], ends[seen])

    def tokens(self, encoded: Ragged, row: int) -> tuple[str, ...]:
        ids = encoded.values[encoded.offsets[row] : encoded.offsets[row + 1]]
        return tuple(self.tokenizer.id_to_token(number) for number in ids.tolist())

    def counts(self, pieces: int, corpus: CorpusCounts) -> TokenizerCounts:
        metadata = self.tokenizer.vocabulary.metadata
        return TokenizerCounts(
            name=metadata["name"],
            algorithm=metadata["algorithm"],
            vocab_size=self.tokenizer.vocab_size,
            pieces=pieces,
            tokens=self._tokens,
            unknown_tokens=self._unknown_tokens,
            unknown_characters=self._unknown_characters,
            used=int(np.count_nonzero(self._used)),
            corpus=corpus,
        )


def _rows_cut_differently(n_rows: int, first: _Cut, second: _Cut) -> NDArray[np.int64]:
    lengths = [np.bincount(cut.rows, minlength=n_rows) for cut in (first, second)]
    alike = lengths[0] == lengths[1]
    one, two = alike[first.rows], alike[second.rows]
    # rows with as many tokens on both sides lie at the same places in what is left
    moved = (first.starts[one] != second.starts[two]) | (first.ends[one] != second.ends[two])
    alike[first.rows[one][moved]] = False
    return np.flatnonzero(~alike)


def _ratio(number: int, of: int) -> float:
    return number / of if of else float("nan")
