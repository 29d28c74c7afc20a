"""Words of raw text behind general stages: the encoder in front of that of the stages."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.cached import CachedEncoder, Context
from numba_nlp._encoders.rows import NO_IDS, Encoded, Segments, frozen
from numba_nlp._encoders.sources import LeaveToGeneralWayError
from numba_nlp._fastcall.families import staged_words
from numba_nlp._fastcall.texts import TextStages, run_stages
from numba_nlp._stages.cutter import Cutter
from numba_nlp._stages.normalizer import Normalizer
from numba_nlp.kernels.segment.cut_program import ALWAYS, CUT_METASPACE, CUT_STEP, FIRST, NEVER
from numba_nlp.kernels.segment.normalize_program import OP_PREPEND, STEP
from numba_nlp.kernels.segment.staged_words import IDS_PER_BYTE, WordScratch, WordTables, new_word_scratch
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

    def of_texts(self) -> TextStages:
        """Memory for one thread; compiles the stages."""
        stages = TextStages((), False, _CAPACITY)
        stages.use(self._normalizer.program(), self._cutter.program(), self._cutter.rewrites, False)
        return stages


class _WordContext(Context):
    """With what the addresses in the scratch belong to."""

    __slots__ = ("_kept",)

    def __init__(self, *parts: Any, kept: tuple[Any, ...]) -> None:
        super().__init__(*parts)
        self._kept = kept


class StagedWordEncoder(CachedEncoder):
    """Encodes rows by their words (:mod:`numba_nlp.kernels.segment.staged_words`), as far as that is possible.

    Parameters
    ----------
    vocabulary : Vocabulary
        With ``solid_pages`` and ``solid_blocks``.
    special_first : uint8[256]
    model : CachedEncoder
        What encodes pieces of normalized text.
    """

    kind = "words of raw text"
    ids_per_byte = IDS_PER_BYTE
    capacity_limit: ClassVar[int] = _CAPACITY

    def __init__(self, vocabulary: Vocabulary, special_first: NDArray[np.uint8], model: CachedEncoder) -> None:
        self._model = model
        self._first, self._next = _Stages(vocabulary, True), _Stages(vocabulary, False)
        steps = vocabulary["cut_program"].reshape(-1, CUT_STEP)
        #: Whether a text behind a special token is not treated as one that begins its row.
        self._rows_only = bool(((steps[:, 0] == CUT_METASPACE) & (steps[:, 2] == FIRST)).any())
        tables = WordTables(frozen(vocabulary["solid_pages"]), frozen(vocabulary["solid_blocks"]))
        super().__init__(tables, "words", special_first)

    def family(self) -> _fastcall.Family:
        return staged_words()

    def encode_rows(self, pattern: str) -> Any:
        raise AssertionError("words are encoded by address only")

    def new_scratch(self, capacity: int) -> WordScratch:
        return new_word_scratch(_CAPACITY + SPARE_IDS, np.zeros(4, np.int64))

    def _new_context(self) -> Context:
        model = self._model._new_context()
        assert model.control is not None
        first, following = self._first.of_texts(), self._next.of_texts()
        cache, scratch = new_word_cache(), self.new_scratch(_CAPACITY)
        scratch.stages[:] = (
            run_stages.address,
            model.control.address,
            first.address,
            following.address,
        )
        control = _fastcall.ControlBlock(
            self.family(), self._pattern, self.tables, cache, scratch, self._special_first, self.ids_per_byte
        )
        return _WordContext(cache, scratch, control, kept=(model, first, following))

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
        """As of the base class, without spans.

        Raises
        ------
        LeaveToGeneralWayError
            The batch has to go through the stages in blocks.
        """
        if unit is not None or (segments is not None and segments.second is not None):
            raise LeaveToGeneralWayError
        sizes = ends - starts
        if segments is None:
            return self.encode_segments(data, starts, ends, NO_IDS, None, sizes, num_threads, None)
        fixed = segments.fixed
        if self._rows_only:
            inside = segments.starts != np.repeat(starts, np.diff(segments.first_of_row))
            fixed = frozen(np.where((fixed < 0) & inside, np.int32(-2), fixed))
        return self.encode_segments(
            data, segments.starts, segments.ends, fixed, segments.first_of_row, sizes, num_threads, None
        )
