"""Distinct words and how often each occurs: all that trainers need to know of a corpus."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from queue import SimpleQueue
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from numba_nlp._encoders.rows import NO_IDS, resolve_threads
from numba_nlp.errors import SourceFormatError
from numba_nlp.kernels.segment.prefix import prefix_spaces
from numba_nlp.text_rows import TextRows
from vocab_tools.corpus import Block, Errors, is_column, read_blocks, rows_of
from vocab_tools.formats.character_description import BertOptions
from vocab_tools.training._options import check_tokens
from vocab_tools.training._word_tables import GrowingTable, join_tables, sort_words
from vocab_tools.training.cuts import Cut, choose_cut

__all__ = ["MOST_THREADS", "Errors", "RowNormalizer", "WordCounts", "count_words", "split_counted"]

_Rows = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]

#: Largest count, of a word and of a corpus: what int64 holds.
MAX_COUNT = (1 << 63) - 1
#: Each thread that counts has a table and a few blocks of text; more than there are processors gain nothing.
MOST_THREADS = max(64, os.cpu_count() or 1)


@runtime_checkable
class RowNormalizer(Protocol):
    """Normalises all rows of a block; threads share it."""

    def normalize_rows(self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> _Rows:
        """Data, starts and ends of the normalised rows, valid UTF-8; row ``i`` is ``data[starts[i]:ends[i]]``."""
        ...


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


def split_counted(source: Any) -> tuple[WordCounts | None, Any]:
    """Tell words that are counted from text.

    Parameters
    ----------
    source : object
        As of :func:`count_words`.

    Returns
    -------
    counts, source : WordCounts or None, object
        The counts, or None and what the text is to be read from: an iterator that was looked into stays whole.
    """
    if isinstance(source, WordCounts):
        return source, None
    if isinstance(source, Mapping):
        return WordCounts.from_items(source), None
    if isinstance(source, str | bytes | TextRows) or not isinstance(source, Iterable) or is_column(source):
        return None, source
    items = iter(source)
    for head in items:
        whole = chain((head,), items)
        if isinstance(head, tuple):
            return WordCounts.from_items(_pairs(whole)), None
        return None, whole
    return None, ()


def _pairs(items: Iterable[Any]) -> Iterator[tuple[str | bytes, int]]:
    for number, item in enumerate(items):
        if not isinstance(item, tuple) or len(item) != 2:
            raise TypeError(f"item {number} of `source` is {item!r:.60}, expected a word and its count as before")
        yield item


def count_words(
    source: Any,
    *,
    cut: str | BertOptions,
    normalize: Callable[[str], str] | RowNormalizer | None = None,
    add_prefix_space: bool = False,
    user_defined_symbols: Sequence[str] = (),
    errors: Errors = "strict",
    n_threads: int | None = None,
    progress: bool = False,
) -> WordCounts:
    """Cut a corpus into words and count them; memory holds the counts and a few blocks of text.

    Parameters
    ----------
    source : path-like, str, iterable of path-like or str, Arrow column, Mapping, iterable of pairs, WordCounts
        Files of text (UTF-8, ``.gz`` too), of which each line is a row; a ``str`` by itself is a path. Or rows: an
        iterable of ``str``, ``TextRows``, an Arrow column or an iterable of such columns (missing rows are empty).
        Words with their counts, a mapping or pairs, are taken as they are.
    cut : str or BertOptions
        The name of a byte-level pattern (``"gpt2"``, ``"llama3"``, ...); lines keep their ends, as in tokenizers.
        ``"whitespace"``: what characters with the Unicode property White_Space part. ``"spaces"``: what U+0020 parts,
        as in subword-nmt. ``"metaspace"``: as of tokenizers' ``Metaspace``, words begin with U+2581.
        ``"sentencepiece"``: what runs of spaces part, with U+2581 put before each. ``"bert"`` or ``BertOptions``:
        BERT's normaliser and pre-tokeniser. ``"none"``: each row is a word.
    normalize : callable or RowNormalizer, optional
        What is done to each row first: ``str`` to ``str``, or all rows of a block at once.
    add_prefix_space : bool
        Byte-level patterns: a space is put before rows that do not begin with one.
    user_defined_symbols : sequence of str
        Parts of the text that are no words: rows are cut there. Of several that begin at a place the longest counts.
    errors : {"strict", "replace"}
        Text that is no valid Unicode raises, or has U+FFFD put there.
    n_threads : int, optional
        Default: ``NUMBA_NLP_NUM_THREADS``, else the processors that this process may use. The result does not depend
        on it.
    progress : bool
        Show a progress bar (tqdm) on stderr.

    Returns
    -------
    WordCounts

    Raises
    ------
    SourceFormatError
        ``cut`` is unknown, or an option does not apply to it.
    InvalidTextError
        Text is not valid Unicode; names the file and the byte.
    TypeError, ValueError, OSError
        A source of another type, counts that are none (:meth:`WordCounts.from_items`), a file that cannot be read.

    Examples
    --------
    >>> from vocab_tools.training.counts import count_words
    >>> dict(count_words(["to be or not to be"], cut="whitespace").items())
    {b'be': 2, b'not': 1, b'or': 1, b'to': 2}
    """
    counted, source = split_counted(source)
    if counted is not None:
        return counted
    chosen = choose_cut(cut)
    if add_prefix_space and not chosen.is_byte_level:
        raise SourceFormatError(f"add_prefix_space=True applies to byte-level patterns, not to cut={cut!r}")
    if errors not in ("strict", "replace"):
        raise ValueError(f"`errors` must be 'strict' or 'replace', got {errors!r}")
    prepare = _Preparation(chosen, normalize, add_prefix_space, user_defined_symbols, errors)
    tables = _count_blocks(read_blocks(source, errors), chosen, prepare, resolve_threads(n_threads), progress)
    table = join_tables(tables)
    if chosen.name == "bert":
        chunks, table = table.words(), GrowingTable()
        table.add_bert_words(chosen.rules, chunks)
    return WordCounts(*sort_words(table.words(), chosen.prefix))


def _count_blocks(
    blocks: Iterator[Block], cut: Cut, prepare: _Preparation, n_threads: int, progress: bool
) -> list[GrowingTable]:
    """Count all blocks; as many are in memory as there are threads, and one more that is being read."""
    n_threads = min(n_threads, MOST_THREADS)
    tables = [GrowingTable() for _ in range(n_threads)]
    free: SimpleQueue[GrowingTable] = SimpleQueue()
    for table in tables:
        free.put(table)

    def count(block: Block) -> int:
        rows = prepare.rows(block)
        table = free.get()
        try:
            table.add_rows(cut.name, cut.rules, *rows)
        finally:
            free.put(table)
        return block.size

    with (
        tqdm(desc="words", unit="B", unit_scale=True, disable=not progress) as bar,
        ThreadPoolExecutor(n_threads) as pool,
    ):
        waiting: deque[Future[int]] = deque()
        try:
            for block in blocks:
                waiting.append(pool.submit(count, block))
                if len(waiting) > n_threads:
                    bar.update(waiting.popleft().result())
            while waiting:
                bar.update(waiting.popleft().result())
        finally:
            for future in waiting:
                future.cancel()
    return tables


class _Preparation:
    """What is done to rows before they are cut."""

    def __init__(
        self,
        cut: Cut,
        normalize: Callable[[str], str] | RowNormalizer | None,
        add_prefix_space: bool,
        user_defined_symbols: Sequence[str],
        errors: Errors,
    ) -> None:
        self._strips, self._errors = cut.strips, errors
        self._normalize, self._add_prefix_space = normalize, add_prefix_space
        self._symbols: re.Pattern[bytes] | None = None
        check_tokens("user_defined_symbols", user_defined_symbols)
        if user_defined_symbols:
            longest_first = sorted((symbol.encode() for symbol in user_defined_symbols), key=len, reverse=True)
            self._symbols = re.compile(b"|".join(map(re.escape, longest_first)))

    def rows(self, block: Block) -> _Rows:
        data, starts, ends = rows_of(block, self._strips, self._errors)
        if self._normalize is not None:
            if isinstance(self._normalize, RowNormalizer):
                data, starts, ends = self._normalize.normalize_rows(data, starts, ends)
            else:
                data, starts, ends = _each_row(self._normalize, data, starts, ends)
        if self._symbols is not None:
            starts, ends = _without(self._symbols, data, starts, ends)
        if self._add_prefix_space:
            room = np.empty(int((ends - starts).sum()) + starts.size, np.uint8)
            new_starts, new_ends = np.empty_like(starts), np.empty_like(ends)
            prefix_spaces(data, starts, ends, NO_IDS, room, new_starts, new_ends)
            data, starts, ends = room, new_starts, new_ends
        return _frozen(data), _frozen(starts), _frozen(ends)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for one kind of array."""
    view = array.view()
    view.flags.writeable = False
    return view


def _each_row(
    normalize: Callable[[str], str], data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> _Rows:
    texts = (data[start:end].tobytes().decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
    rows = TextRows.from_strings(map(normalize, texts))
    return rows.data, rows.starts, rows.ends


def _without(
    symbols: re.Pattern[bytes], data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The stretches of rows between matches; a match lies in one row."""
    kept: list[tuple[int, int]] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        begin = start
        for match in symbols.finditer(data[start:end].tobytes()):
            kept.append((begin, start + match.start()))
            begin = start + match.end()
        kept.append((begin, end))
    parts = np.array(kept, np.int64).reshape(-1, 2)
    return np.ascontiguousarray(parts[:, 0]), np.ascontiguousarray(parts[:, 1])
