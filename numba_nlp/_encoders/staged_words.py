"""Words of raw text behind general stages: the encoder in front of that of the stages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.cached import CachedEncoder, Context
from numba_nlp._encoders.plain_words import plain_tables
from numba_nlp._encoders.rows import NO_IDS, Encoded, Segments, frozen, whole_segments
from numba_nlp._encoders.sources import LeaveToGeneralWayError
from numba_nlp._encoders.spanned import SpanContext, SpannedRows
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import staged_words
from numba_nlp._fastcall.texts import TextStages, run_spans, run_stages
from numba_nlp._fastcall.words import STAGES, encode_spanned_words
from numba_nlp._stages.cutter import Cutter
from numba_nlp._stages.normalizer import Normalizer, read_only
from numba_nlp.kernels.segment.cut_program import ALWAYS, CUT_METASPACE, CUT_STEP, FIRST, NEVER
from numba_nlp.kernels.segment.normalize_program import OP_PREPEND, STEP
from numba_nlp.kernels.segment.spanned_rows_memory import MOST_IDS
from numba_nlp.kernels.segment.staged_words import (
    IDS_PER_BYTE,
    WordScratch,
    WordTables,
    new_word_scratch,
    new_word_tables,
)
from numba_nlp.kernels.tables.word_cache import SPARE_IDS, new_word_cache
from numba_nlp.vocabulary import Vocabulary

__all__ = ["StagedWordEncoder"]

#: Bytes that the stages have room for; a batch with a word that does not fit goes through them in blocks.
_CAPACITY = 1 << 14


class _Stages:
    """Normalizer and pre-tokenizer as the first word of a row, or all others, pass through them."""

    def __init__(self, vocabulary: Vocabulary, begins_row: bool) -> None:
        arrays = dict(vocabulary.arrays)
        if not begins_row:
            steps = arrays["normalizer_program"].reshape(-1, STEP)
            arrays["normalizer_program"] = steps[steps[:, 0] != OP_PREPEND].reshape(-1)
        steps = arrays["cut_program"].reshape(-1, CUT_STEP).copy()
        only_first = (steps[:, 0] == CUT_METASPACE) & (steps[:, 2] == FIRST)
        steps[only_first, 2] = ALWAYS if begins_row else NEVER
        arrays["cut_program"] = steps.reshape(-1)
        self._normalizer = Normalizer(arrays)
        self._cutter = Cutter(arrays)

    def of_texts(self, aligned: bool) -> TextStages:
        """Memory for one thread, with alignment or without; compiles the stages."""
        stages = TextStages((), False, _CAPACITY)
        stages.use(self._normalizer.program(), self._cutter.program(), self._cutter.rewrites, aligned)
        return stages

    def run(self, text: bytes) -> list[bytes]:
        """Pieces of one word."""
        data = np.frombuffer(text, np.uint8)
        bounds = np.zeros(1, np.int64), np.full(1, data.size, np.int64)
        pieces = self._cutter.cut(self._normalizer.normalize(data, read_only(bounds[0]), read_only(bounds[1]), False))
        content = pieces.source.text.tobytes()
        return [content[start:end] for start, end in zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True)]


class StagedModel(Protocol):
    """What :class:`StagedWordEncoder` asks of the encoder behind it.

    Attributes
    ----------
    short_pieces : int
        Pieces of up to so many bytes are solved at once; longer ones are cut further and looked up.
    """

    short_pieces: int

    def family(self) -> _fastcall.Family: ...

    def _new_context(self) -> Context: ...


def _no_row_is_left(*_: Any) -> None:
    raise AssertionError("words give the spans of every row")


class _WordContext(Context):
    """With what the addresses in the scratch belong to."""

    __slots__ = ("_kept",)

    def __init__(self, *parts: Any, kept: tuple[Any, ...]) -> None:
        super().__init__(*parts)
        self._kept = kept


class _SpannedWords(SpannedRows):
    """Words with spans: a batch that they cannot encode goes through the stages in blocks."""

    def __init__(self, tables: WordTables, new_parts: Callable[[bool], tuple[WordScratch, tuple[Any, ...]]]) -> None:
        self._new_parts = new_parts
        super().__init__(
            encode_spanned_words,
            tables,
            lambda capacity: new_parts(True)[0],
            kept_capacity=_CAPACITY,
            capacity_limit=_CAPACITY,
            ids_per_byte=IDS_PER_BYTE,
        )

    def _new_context(self) -> SpanContext:
        scratch, kept = self._new_parts(True)
        return SpanContext(scratch, _CAPACITY, kept)

    def _refuse(self, n: int) -> NoReturn:
        raise LeaveToGeneralWayError


class StagedWordEncoder(CachedEncoder):
    """Encodes rows by their words (:mod:`numba_nlp.kernels.segment.staged_words`), as far as that is possible.

    Parameters
    ----------
    vocabulary : Vocabulary
        With ``solid_pages`` and ``solid_blocks``.
    watched : Watched
    model : StagedModel
        What encodes pieces of normalized text.
    """

    kind = "words of raw text"
    ids_per_byte = IDS_PER_BYTE
    capacity_limit: ClassVar[int] = _CAPACITY

    def __init__(self, vocabulary: Vocabulary, watched: Watched, model: StagedModel) -> None:
        self._model = model
        self._first, self._next = _Stages(vocabulary, True), _Stages(vocabulary, False)
        steps = vocabulary["cut_program"].reshape(-1, CUT_STEP)
        #: Whether a text behind a special token is not treated as one that begins its row.
        self._rows_only = bool(((steps[:, 0] == CUT_METASPACE) & (steps[:, 2] == FIRST)).any())
        self._vocabulary = vocabulary
        tables = new_word_tables(frozen(vocabulary["solid_pages"]), frozen(vocabulary["solid_blocks"]))
        super().__init__(tables, "words", watched)

    @cached_property
    def _word_tables(self) -> WordTables:
        """The tables with which words are plain, which takes the stages to be compiled."""
        return plain_tables(self.tables, self._vocabulary.arrays, self._first.run, self._next.run)

    @cached_property
    def spanned(self) -> SpannedRows | None:
        if self._vocabulary.size > MOST_IDS:
            return None
        return _SpannedWords(self._word_tables, self._new_parts)

    def family(self) -> _fastcall.Family:
        return staged_words()

    def encode_rows(self, pattern: str) -> Any:
        raise AssertionError("words are encoded by address only")

    def new_scratch(self, capacity: int) -> WordScratch:
        return new_word_scratch(_CAPACITY + SPARE_IDS, np.zeros(STAGES, np.int64))

    def _new_parts(self, aligned: bool) -> tuple[WordScratch, tuple[Any, ...]]:
        """Working memory of one thread, and what the addresses in it belong to."""
        model = self._model._new_context()
        assert model.control is not None
        family = self._model.family()
        function = family.segment if aligned else family.solve
        assert function is not None
        first, following = self._first.of_texts(aligned), self._next.of_texts(aligned)
        scratch = self.new_scratch(_CAPACITY)
        scratch.stages[:] = (
            (run_spans if aligned else run_stages).address,
            model.control.address,
            first.address,
            following.address,
            function.address,
            self._model.short_pieces,
        )
        return scratch, (model, first, following)

    def _new_context(self) -> Context:
        scratch, kept = self._new_parts(False)
        cache = new_word_cache()
        control = _fastcall.ControlBlock(
            self.family(), self._pattern, self._word_tables, cache, scratch, self._watched, self.ids_per_byte
        )
        return _WordContext(cache, scratch, control, kept=kept)

    def _encode_chunk(
        self,
        context: Context,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> int:
        end = self._call(context, data, starts, ends, fixed, 0, ids, offsets, 0)
        if end < 0:
            raise LeaveToGeneralWayError
        return end

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        unit: str | None,
        num_threads: int,
    ) -> Encoded:
        """As of the base class.

        Raises
        ------
        LeaveToGeneralWayError
            The batch has to go through the stages in blocks.
        """
        if segments is not None and segments.second is not None:
            raise LeaveToGeneralWayError
        sizes = ends - starts
        fixed = NO_IDS
        if segments is not None:
            fixed = segments.fixed
            if self._rows_only:
                inside = segments.starts != np.repeat(starts, np.diff(segments.first_of_row))
                fixed = frozen(np.where((fixed < 0) & inside, np.int32(-2), fixed))
        if unit is not None:
            if self.spanned is None:
                raise LeaveToGeneralWayError
            whole = whole_segments(starts, ends, None if segments is None else segments._replace(fixed=fixed))
            return self.spanned.encode(data, starts, ends, whole, unit, num_threads, _no_row_is_left, None)
        if segments is None:
            return self.encode_segments(data, starts, ends, NO_IDS, None, sizes, num_threads, None)
        return self.encode_segments(
            data, segments.starts, segments.ends, fixed, segments.first_of_row, sizes, num_threads, None
        )
