"""``answer``: the part of a context that answers a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, flag, whole
from numba_nlp._input_layout import Texts, read_only
from numba_nlp._input_plan import choose_template
from numba_nlp.errors import RowError, UnsupportedFeatureError
from numba_nlp.kernels.tasks.answers import choose_answers, merge_answers
from numba_nlp.kernels.tasks.entities import span_words
from numba_nlp.pipelines.base import Pipeline, Result, to_array
from numba_nlp.pipelines.model_limits import position_limit
from numba_nlp.pipelines.offset_rows import join_offsets, offsets_of
from numba_nlp.pipelines.questions import check_question, join_questions
from numba_nlp.pipelines.reading_options import ReadingOptions
from numba_nlp.pipelines.rows import Inputs, take_inputs
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.windows import TokenWindows, cut_windows, encode_texts, window_limit
from numba_nlp.tokenizer import Tokenizer

__all__ = ["Answer", "AnswerOptions", "Answers"]

#: Longest window and longest overlap where nothing is said, as in transformers.
_WINDOW, _STRIDE = 384, 128
#: Tokens of templates that stand for "no answer"; models are trained to begin and end there.
_NO_ANSWER = ("[CLS]", "<cls>", "<s>")


@dataclass(frozen=True)
class AnswerOptions(ReadingOptions):
    """Options of :class:`Answer`; names and defaults are those of transformers 4.

    Attributes
    ----------
    top_k : int
        So many answers for a question, as far as there are so many spans.
    doc_stride : int or None
        Tokens of the context that a window shares with the one before; by default half of a window, at most 128.
    max_answer_len : int
        Most tokens of an answer.
    max_seq_len : int or None
        Tokens of a window, question and special tokens included; by default 384, or what the model can take.
    max_question_len : int or None
        Keep so many tokens of a question. By default all (as transformers 4 does with fast tokenizers, where its
        default of 64 has no effect).
    handle_impossible_answer : bool
        "No answer" is one of the answers, with characters 0 to 0.
    align_to_words : bool
        Answers begin and end with words.
    score_within : {"window", "context"}
        What the probabilities of an answer's start and end are shares of: the window in which it is found, as in
        transformers, so that a window without the answer should have its "no answer" token likely; or all windows of
        the context together. With one window both are the same.
    """

    top_k: int = 1
    doc_stride: int | None = None
    max_answer_len: int = 15
    max_seq_len: int | None = None
    max_question_len: int | None = None
    handle_impossible_answer: bool = False
    align_to_words: bool = True
    score_within: str = "window"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("top_k", self.top_k, 1)
        whole("max_answer_len", self.max_answer_len, 1)
        for name, least in (("doc_stride", 0), ("max_seq_len", 1), ("max_question_len", 1)):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least)
        flag("handle_impossible_answer", self.handle_impossible_answer)
        flag("align_to_words", self.align_to_words)
        choice("score_within", self.score_within, ("window", "context"))
        if self.doc_stride is not None and self.max_seq_len is not None and self.doc_stride >= self.max_seq_len:
            raise ValueError(f"`doc_stride` ({self.doc_stride}) must be less than `max_seq_len` ({self.max_seq_len})")


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of questions, the best one first.

    Attributes
    ----------
    offsets : int64[rows + 1]
        Row ``i`` has the answers ``offsets[i]`` to ``offsets[i + 1]``, at least one.
    starts, ends : int64[answers], int64[answers]
        Characters of the context; 0 and 0 for no answer.
    scores : float32[answers]
        From 0 to 1.
    texts : list of str
        These characters.
    is_single : bool
        Whether one answer was asked for, so that it is given by itself.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    scores: NDArray[np.float32]
    texts: list[str]
    is_single: bool

    def __len__(self) -> int:
        return self.offsets.size - 1

    def to_list(self) -> list[Any]:
        """A dict a row, or a list of them where more than one answer was asked for."""
        columns = self.scores.tolist(), self.starts.tolist(), self.ends.tolist(), self.texts
        answers = [
            {"score": score, "start": start, "end": end, "answer": text}
            for score, start, end, text in zip(*columns, strict=True)
        ]
        if self.is_single:
            return answers
        bounds = self.offsets.tolist()
        return [answers[first:last] for first, last in pairwise(bounds)]

    @classmethod
    def concatenate(cls, parts: Sequence[Answers]) -> Answers:
        """Answers of the rows of all parts."""
        return cls(
            offsets=join_offsets([part.offsets for part in parts]),
            starts=np.concatenate([part.starts for part in parts]),
            ends=np.concatenate([part.ends for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            texts=[text for part in parts for text in part.texts],
            is_single=parts[0].is_single,
        )


@dataclass(frozen=True)
class _Units:
    """Windows, and where an answer begins and ends that begins and ends with a token."""

    windows: TokenWindows
    begins: NDArray[np.int64]
    stops: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.windows.lengths

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self.windows.first_row + self.windows.rows


class _Chosen(NamedTuple):
    """Best answers of some windows, as ``choose_answers`` writes them."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    scores: NDArray[np.float32]
    counts: NDArray[np.int64]
    null_scores: NDArray[np.float32]
    log_sums: NDArray[np.float64]

    @classmethod
    def empty(cls, windows: int, most: int) -> _Chosen:
        return cls(
            starts=np.zeros((windows, most), np.int64),
            ends=np.zeros((windows, most), np.int64),
            scores=np.zeros((windows, most), np.float32),
            counts=np.zeros(windows, np.int64),
            null_scores=np.zeros(windows, np.float32),
            log_sums=np.zeros(windows, np.float64),
        )

    def trimmed(self, most: int) -> _Chosen:
        """So many answers of each window; there are no more."""
        kept = {name: np.ascontiguousarray(getattr(self, name)[:, :most]) for name in ("starts", "ends", "scores")}
        return self._replace(**kept)


class Answer(Pipeline):
    """Finds the part of a context that answers a question.

    A long context goes through the model in windows that overlap; what several windows find is there once, with its
    best score.

    ``pipe(question=..., context=...)``, each a text or many; or dicts with these keys (others are not looked at). A
    result is ``{"score", "start", "end", "answer"}``, with ``top_k`` above 1 a list of them. Options are those of
    :class:`AnswerOptions`.

    Raises
    ------
    UnsupportedFeatureError
        The model chooses answers by beam (XLNetForQuestionAnswering): it gives no logit for each token.
    """

    task: ClassVar[str] = "answer"
    heads: ClassVar[tuple[str, ...]] = ("question_answering",)
    option_type: ClassVar[Any] = AnswerOptions

    def __init__(self, model: Any, tokenizer: Tokenizer, **options: Any) -> None:
        if getattr(model, "span_beam", None) is not None:
            raise UnsupportedFeatureError(
                "XLNetForQuestionAnswering chooses a few starts, and for each a few ends, before it is known which "
                "tokens are of the context; the pipeline of transformers does not take it either. Use the model's own "
                "output (start_top_index, end_top_index), or a checkpoint of XLNetForQuestionAnsweringSimple"
            )
        super().__init__(model, tokenizer, **options)

    def __call__(self, inputs: Any = None, *, question: Any = None, context: Any = None, **call: Any) -> Any:
        """Answer questions.

        Parameters
        ----------
        inputs : dict, list of dict, or iterator of dict, optional
            Each with ``question`` and ``context``.
        question, context : str, list, column or iterator of str, optional
            Instead of ``inputs``. A single one goes with each of the other.
        **call
            As of :meth:`Pipeline.__call__`, and options of :class:`AnswerOptions`.

        Raises
        ------
        RowError, MissingRowError, ValueError, TypeError, UnsupportedFeatureError
            As there.
        """
        return super().__call__(join_questions(inputs, question, context), **call)

    def arrays(self, inputs: Any = None, *, question: Any = None, context: Any = None, **call: Any) -> Any:
        """As a call, but as :class:`Answers`."""
        return super().arrays(join_questions(inputs, question, context), **call)

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call; see :meth:`Pipeline.take_options`."""
        settled = super().take_options(defaults, options)
        limit = position_limit(self.model)
        if settled.max_seq_len is not None and limit is not None and settled.max_seq_len > limit:
            raise ValueError(f"`max_seq_len` is {settled.max_seq_len}, but the model has {limit} positions")
        if settled.handle_impossible_answer and self._null_part() < 0:
            raise UnsupportedFeatureError(
                "`handle_impossible_answer` needs a token that stands for no answer ([CLS], <cls> or <s>), and the "
                "tokenizer puts none beside question and context"
            )
        return settled

    def take_inputs(self, inputs: Any) -> Inputs:
        """A dict is one input; see :meth:`Pipeline.take_inputs`."""
        return take_inputs(inputs, Mapping)

    def check_row(self, row: Any, number: int, options: Any) -> tuple[str, str]:
        """Question and context; see :meth:`Pipeline.check_row`."""
        return check_question(row, number)

    def tokenize(self, rows: Sequence[tuple[str, str]], first: int, options: Any) -> _Units:
        """Windows over the contexts; see :meth:`Pipeline.tokenize`."""
        settings = self.tokenizer.input_settings
        template = choose_template(settings, True, True)
        limit = window_limit(self.model, self.tokenizer)
        longest = min(limit, _WINDOW) if options.max_seq_len is None else options.max_seq_len
        stride = min(longest // 2, _STRIDE) if options.doc_stride is None else options.doc_stride
        # of models that are padded at the left the question follows, so that the end of a window is near both
        question_leads = settings.padding_side == "right"
        questions = encode_texts(self.tokenizer, [question for question, _ in rows], spans=False, words=False)
        if options.max_question_len is not None:
            questions = _cut(questions, options.max_question_len)
        # many questions may be asked of one long text
        numbers: dict[str, int] = {}
        shared = np.array([numbers.setdefault(context, len(numbers)) for _, context in rows], np.int64)
        contexts = encode_texts(self.tokenizer, list(numbers), spans=True, words=options.align_to_words)
        room = longest - template.n_added
        _refuse_long(np.diff(questions.offsets), np.diff(contexts.offsets)[shared], room, stride, longest, first)
        windows = cut_windows(
            settings,
            template,
            questions if question_leads else contexts,
            contexts if question_leads else questions,
            is_second=question_leads,
            max_length=longest,
            stride=stride,
            first_row=first,
            shared=shared,
        )
        begins, stops = contexts.starts, contexts.ends
        if options.align_to_words:
            begins, stops = np.empty_like(begins), np.empty_like(stops)
            span_words(contexts.words, contexts.offsets, contexts.starts, contexts.ends, begins, stops)
        # a tokenizer without special tokens makes nothing of white space
        return _Units(windows.select(windows.lengths > 0), read_only(begins), read_only(stops))

    def forward(self, units: _Units, batch: NDArray[np.int64], options: Any, watch: Stopwatch) -> _Chosen:
        """Best answers of some windows; see :meth:`Pipeline.forward`."""
        windows = units.windows
        with watch("forward"):
            # transformers 4 tells XLNet the question from the context, 5 has no more pipeline that could
            out = self.infer(options, **windows.inputs(batch, types=self.model.family == "xlnet"))
            starts, ends = to_array(out.start_logits), to_array(out.end_logits)
        with watch("choose"):
            windows.refuse_no_number(batch, starts, ends)
            null = self._null_part()
            start_shares, end_shares, best_ends = np.empty((3, starts.shape[1] + 1), np.float32)
            width = starts.shape[1]
            chosen = _Chosen.empty(batch.size, min(options.top_k, width * min(options.max_answer_len, width)))
            choose_answers(
                units.begins,
                units.stops,
                starts,
                ends,
                windows.places(batch),
                np.full(batch.size, -1) if null < 0 else windows.places(batch, null),
                windows.starts[batch],
                windows.ends[batch],
                options.max_answer_len,
                start_shares,
                end_shares,
                best_ends,
                np.empty(starts.shape[1] + 1, np.int64),
                *chosen,
            )
        return chosen.trimmed(int(chosen.counts.max(initial=1)))

    def assemble(
        self,
        rows: Sequence[tuple[str, str]],
        units: _Units,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[_Chosen],
        options: Any,
        watch: Stopwatch,
    ) -> Result:
        """Answers of rows from those of their windows; see :meth:`Pipeline.assemble`."""
        most = options.top_k
        with watch("choose"):
            window_rows = units.windows.rows
            found = _Chosen.empty(window_rows.size, max((one.starts.shape[1] for one in outputs), default=1))
            for batch, output in zip(batches, outputs, strict=True):
                for name, part in output._asdict().items():
                    there = getattr(found, name)
                    there[(batch, slice(part.shape[1])) if part.ndim > 1 else batch] = part
            # no answer may be one more
            held = np.bincount(window_rows, found.counts, len(rows)).max(initial=0)
            most = min(most, int(held) + 1)
            weights = np.ones(window_rows.size)
            if options.score_within == "context":
                weights = _weights(window_rows, found.log_sums, len(rows))
            starts, ends, scores, counts, *_ = _Chosen.empty(len(rows), most)
            merge_answers(
                window_rows, *found[:4], weights, found.null_scores, options.handle_impossible_answer,
                np.empty(len(rows), np.float32), starts, ends, scores, counts,
            )  # fmt: skip
            kept = np.arange(most) < counts[:, None]
        with watch("decode"):
            numbers = np.repeat(np.arange(len(rows)), counts)
            spans = zip(numbers.tolist(), starts[kept].tolist(), ends[kept].tolist(), strict=True)
            texts = [rows[row][1][start:end] for row, start, end in spans]
        return Answers(offsets_of(counts), starts[kept], ends[kept], scores[kept], texts, options.top_k == 1)

    def _null_part(self) -> int:
        """Number of the part of the template that stands for no answer, or -1."""
        template = choose_template(self.tokenizer.input_settings, True, True)
        for part, token in enumerate(template.parts.tolist()):
            if token >= 0 and self.tokenizer.id_to_token(token) in _NO_ANSWER:
                return part
        return -1


def _cut(texts: Texts, most: int) -> Texts:
    """Texts with at most so many tokens each; they have neither spans nor words."""
    lengths = np.diff(texts.offsets)
    within = np.arange(texts.values.size) - np.repeat(texts.offsets[:-1], lengths)
    return texts._replace(values=texts.values[within < most], offsets=offsets_of(np.minimum(lengths, most)))


def _refuse_long(
    questions: NDArray[np.int64], contexts: NDArray[np.int64], room: int, stride: int, longest: int, first: int
) -> None:
    """Refuse questions beside which windows have no room to go on in the context."""
    kept = room - questions
    wrong = np.flatnonzero((contexts > kept) & (kept <= stride))
    if wrong.size:
        row = first + int(wrong[0])
        raise RowError(
            f"row {row}: the question has {questions[wrong[0]]} tokens, which leaves {max(int(kept[wrong[0]]), 0)} of "
            f"the {longest} of a window to the context, and windows overlap by {stride}; ask a shorter question, raise "
            "`max_seq_len`, lower `doc_stride`, or let `max_question_len` cut it",
            row,
        )


def _weights(rows: NDArray[np.int64], log_sums: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
    """Share of each window in the sum over all windows of its row."""
    greatest = np.full(n_rows, -np.inf)
    np.maximum.at(greatest, rows, log_sums)
    powers: NDArray[np.float64] = np.exp(log_sums - greatest[rows])
    totals = np.zeros(n_rows)
    np.add.at(totals, rows, powers)
    return powers / totals[rows]
