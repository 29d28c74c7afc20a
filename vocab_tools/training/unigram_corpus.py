"""Words of a corpus as SentencePiece training sees them: normalised, cut at U+2581 and symbols, counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from heapq import heappush, heappushpop
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.normalize_charsmap import normalize_rows, normalized_room
from numba_nlp.kernels.segment.normalizer_tables import NormalizerTables
from numba_nlp.kernels.training.unigram_words import ALONE, SPLIT, SUFFIX, count_words, cut_rows
from vocab_tools.compiler.charsmap import normalizer_tables, symbol_units
from vocab_tools.corpus import Block, Errors, read_blocks, rows_of
from vocab_tools.formats.sentencepiece_model import NormalizerSpec
from vocab_tools.training.counts import MOST_THREADS, WordCounts
from vocab_tools.training.unigram_options import TrainingOptions

__all__ = ["count_corpus"]


class _Words:
    """Distinct words and their counts, growing; belongs to one thread at a time."""

    def __init__(self) -> None:
        self._sizes = np.zeros(1, np.int64)
        self._table = np.full(1 << 12, -1, np.int32)
        self._hashes = np.empty(1 << 11, np.uint64)
        self._counts = np.empty(1 << 11, np.int64)
        self._offsets = np.zeros((1 << 11) + 1, np.int64)
        self._bytes = np.empty(1 << 15, np.uint8)
        self.n_rows = 0
        self.n_skipped = 0

    def add(self, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        done = 0
        while True:
            done = int(
                count_words(
                    text, starts, ends, done, self._sizes, self._table, self._hashes, self._offsets, self._bytes,
                    self._counts,
                )
            )  # fmt: skip
            if done == starts.size:
                return
            self._grow(int(ends[done] - starts[done]))

    def _grow(self, n_bytes: int) -> None:
        n = int(self._sizes[0])
        used = int(self._offsets[n])
        if used + n_bytes > self._bytes.size:
            self._bytes = np.resize(self._bytes, 2 * (used + n_bytes))
        if 2 * (n + 1) > self._table.size or n >= self._counts.size:
            self._hashes = np.resize(self._hashes, 2 * self._hashes.size)
            self._counts = np.resize(self._counts, self._hashes.size)
            self._offsets = np.resize(self._offsets, self._hashes.size + 1)
            self._table = np.full(2 * self._table.size, -1, np.int32)
            self._enter(n)

    def _enter(self, n: int) -> None:
        """Put the words into the new table, all at once: those whose slot is taken try the next one."""
        mask = self._table.size - 1
        words = np.arange(n, dtype=np.int32)
        slots = (self._hashes[:n] & np.uint64(mask)).astype(np.int64)
        while words.size:
            free = self._table[slots] < 0
            self._table[slots[free]] = words[free]
            waiting = self._table[slots] != words
            words, slots = words[waiting], (slots[waiting] + 1) & mask

    def items(self) -> Iterator[tuple[bytes, int]]:
        n = int(self._sizes[0])
        content, bounds = self._bytes[: int(self._offsets[n])].tobytes(), self._offsets.tolist()
        for word, count in enumerate(self._counts[:n].tolist()):
            yield content[bounds[word] : bounds[word + 1]], count


class _Counting:
    """What is done to each block."""

    def __init__(self, options: TrainingOptions, spec: NormalizerSpec, errors: Errors) -> None:
        symbols = [symbol.encode() for symbol in options.user_defined_symbols]
        self._tables: NormalizerTables = normalizer_tables(spec, symbols)
        self._symbols = symbol_units(symbols)
        self._rules = (
            SPLIT * (options.split_by_whitespace or options.model_type == "word")
            + SUFFIX * options.treat_whitespace_as_suffix
            + ALONE * options.allow_whitespace_only_pieces
        )
        self._longest = options.max_sentence_length
        self._errors = errors

    def add(self, block: Block, words: _Words) -> None:
        data, starts, ends = rows_of(block, True, self._errors)
        fits = (ends - starts <= self._longest) & (ends > starts)
        words.n_skipped += int(((ends - starts) > self._longest).sum())
        starts, ends = starts[fits], ends[fits]
        words.n_rows += starts.size
        if not starts.size:
            return
        offsets = np.zeros(starts.size + 1, np.int64)
        room = 3 * int((ends - starts).sum()) + 16 * starts.size
        text = np.empty(room, np.uint8)
        n = int(normalize_rows(self._tables, data, starts, ends, text, offsets))
        if n < 0:
            room = sum(int(normalized_room(self._tables, length)) for length in (ends - starts).tolist())
            text = np.empty(room, np.uint8)
            n = int(normalize_rows(self._tables, data, starts, ends, text, offsets))
        begins, stops = np.empty(max(n, 1), np.int64), np.empty(max(n, 1), np.int64)
        n_words = int(cut_rows(text, offsets, self._rules, self._symbols, begins, stops))
        words.add(text, begins[:n_words], stops[:n_words])


def count_corpus(
    source: Any, options: TrainingOptions, spec: NormalizerSpec, *, errors: Errors = "strict", progress: bool = False
) -> tuple[WordCounts, int]:
    """Count the words of a corpus.

    Parameters
    ----------
    source : path, paths, iterable of str, Arrow column
        One sentence a line or item. Only counts are kept, so it may be larger than memory.
    options : TrainingOptions
    spec : NormalizerSpec
    errors : {"strict", "replace"}
        What is done with bytes that are not UTF-8.
    progress : bool
        Show a bar.

    Returns
    -------
    counts, n_skipped : WordCounts, int
        The words, and the number of sentences left out, being longer than ``max_sentence_length`` bytes.

    Raises
    ------
    InvalidTextError
        Text that is not valid, with ``errors="strict"``.
    """
    from tqdm import tqdm

    n_threads = min(options.threads(), MOST_THREADS)
    counting = _Counting(options, spec, errors)
    free: SimpleQueue[_Words] = SimpleQueue()
    tables = [_Words() for _ in range(n_threads)]
    for table in tables:
        free.put(table)

    def add(block: Block) -> int:
        words = free.get()
        try:
            counting.add(block, words)
        finally:
            free.put(words)
        return block.size

    waiting: deque[Future[int]] = deque()
    with ThreadPoolExecutor(n_threads) as pool, tqdm(disable=not progress, desc="counting words", unit="") as bar:
        for block in _chosen_blocks(source, options, errors):
            waiting.append(pool.submit(add, block))
            if len(waiting) > 2 * n_threads:
                bar.update(waiting.popleft().result())
        while waiting:
            bar.update(waiting.popleft().result())
    counts = WordCounts.from_items(item for table in tables for item in table.items())
    return counts, sum(table.n_skipped for table in tables)


def _chosen_blocks(source: Any, options: TrainingOptions, errors: Errors) -> Iterator[Block]:
    """Blocks of all sentences, or of those that ``input_sentence_size`` asks for."""
    wanted = options.input_sentence_size
    if not wanted:
        yield from read_blocks(source, errors)
        return
    random = np.random.default_rng(options.seed)
    #: ``(-key, number, sentence)``: the sentences with the smallest keys so far, the largest of them first.
    kept: list[tuple[float, int, bytes]] = []
    number = 0
    for block in read_blocks(source, errors):
        data, starts, ends = rows_of(block, True, errors)
        keys = random.random(starts.size) if options.shuffle_input_sentence else np.arange(starts.size) + number
        content = data.tobytes()
        for row in np.flatnonzero(keys < (-kept[0][0] if len(kept) == wanted else np.inf)).tolist():
            entry = -float(keys[row]), number + row, content[starts[row] : ends[row]]
            if len(kept) < wanted:
                heappush(kept, entry)
            else:
                heappushpop(kept, entry)
        number += starts.size
        if not options.shuffle_input_sentence and len(kept) == wanted:
            break
    sentences = [sentence for _, _, sentence in sorted(kept, key=lambda entry: entry[1])]
    yield Block("the chosen sentences", 0, b"".join(sentence + b"\n" for sentence in sentences))
