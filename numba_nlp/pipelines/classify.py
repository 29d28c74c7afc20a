"""``classify``: labels of texts, or of pairs of texts, with their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, shown, whole
from numba_nlp.errors import RowError
from numba_nlp.kernels.tasks.label_scores import sigmoid_rows, softmax_rows, top_rows
from numba_nlp.pipelines.base import Pipeline, to_array
from numba_nlp.pipelines.model_limits import refuse_no_number
from numba_nlp.pipelines.reading_options import ReadingOptions
from numba_nlp.pipelines.rows import Inputs, check_text, take_inputs
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.task_config import task_config
from numba_nlp.pipelines.token_units import TokenUnits, check_cutting, room_of, tokenize_texts

__all__ = ["Classify", "ClassifyOptions", "LabelledRows"]

_FUNCTIONS = ("default", "softmax", "sigmoid", "none")
_WAYS = "cut the text with truncation=True, or classify its parts"


@dataclass(frozen=True)
class ClassifyOptions(ReadingOptions):
    """Options of :class:`Classify`.

    Attributes
    ----------
    top_k : int, None or "best"
        "best" gives the best label of a row by itself; a number a list of so many, the best one first; None a list of
        all.
    function_to_apply : {"default", "softmax", "sigmoid", "none"}
        From logits to scores. By default "none" where ``problem_type`` of the config is "regression", "sigmoid" where
        it is "multi_label_classification" or there is one label, else "softmax".
    truncation : bool or {"longest_first", "only_first", "only_second"}
        Whether what is too long is cut, and which text of a pair. False: it is an error.
    max_length : int, optional
        Most tokens of an input, special tokens included; by default as many as the model has positions, and where
        texts are cut as many as the tokenizer's files say.
    """

    top_k: int | str | None = "best"
    function_to_apply: str = "default"
    truncation: bool | str = False
    max_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.top_k, str):
            choice("top_k", self.top_k, ("best",))
        elif self.top_k is not None:
            whole("top_k", self.top_k, 1)
        choice("function_to_apply", self.function_to_apply, _FUNCTIONS)
        check_cutting(self.truncation, self.max_length)


@dataclass(frozen=True)
class LabelledRows:
    """Labels of rows, the best ones of each.

    Attributes
    ----------
    labels : tuple of str
        Names of all labels.
    indices : int32[rows, k]
        Numbers of the labels, the best one first; of equal ones the lower number.
    scores : float32[rows, k]
        Theirs.
    is_listed : bool
        Whether the plain result of a row is a list.
    """

    labels: tuple[str, ...]
    indices: NDArray[np.int32]
    scores: NDArray[np.float32]
    is_listed: bool

    def __len__(self) -> int:
        return len(self.scores)

    def to_list(self) -> list[Any]:
        """``{"label", "score"}`` of each row, or a list of these."""
        rows = [
            [{"label": self.labels[label], "score": score} for label, score in zip(numbers, scores, strict=True)]
            for numbers, scores in zip(self.indices.tolist(), self.scores.tolist(), strict=True)
        ]
        return rows if self.is_listed else [row[0] for row in rows]

    @classmethod
    def concatenate(cls, parts: Sequence[LabelledRows]) -> LabelledRows:
        """Rows of all parts."""
        return cls(
            parts[0].labels,
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.scores for part in parts]),
            parts[0].is_listed,
        )


class _Row(NamedTuple):
    """A text and the second one of a pair."""

    text: str
    pair: str | None


class _Units(NamedTuple):
    """Inputs of rows, one each, and the number of the first row."""

    tokens: TokenUnits
    first: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.tokens.lengths

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self.first + np.arange(self.lengths.size)


class Classify(Pipeline):
    """Labels of texts: ``pipeline("classify", model=folder)``; options are those of :class:`ClassifyOptions`.

    A row is a text, or ``{"text": ..., "text_pair": ...}`` for a pair.
    """

    task: ClassVar[str] = "classify"
    heads: ClassVar[tuple[str, ...]] = ("sequence_classification",)
    option_type: ClassVar[Any] = ClassifyOptions

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call over the defaults; see :meth:`Pipeline.take_options`.

        Raises
        ------
        ValueError
            ``max_length`` is more than the model has.
        """
        settled = super().take_options(defaults, options)
        room_of(self.model, self.tokenizer, settled.max_length, cuts=False)
        return settled

    def take_inputs(self, inputs: Any) -> Inputs:
        """One text or pair, many, or a stream."""
        return take_inputs(inputs, (str, Mapping))

    def check_row(self, row: Any, number: int, options: Any) -> _Row:
        """A text, or a pair of them."""
        if isinstance(row, Mapping):
            if not {"text"} <= set(row) <= {"text", "text_pair"}:
                raise RowError(
                    f'row {number}: a pair must be {{"text": ..., "text_pair": ...}}, got the keys '
                    f"{', '.join(map(repr, row)) or 'none'}",
                    number,
                )
            pair = row.get("text_pair")
            return _Row(
                check_text(row["text"], number),
                check_text(pair, number, "second text") if "text_pair" in row else None,
            )
        if isinstance(row, (list, tuple)):
            raise RowError(
                f'row {number}: a row must be a text, or {{"text": ..., "text_pair": ...}} for a pair, got '
                f"{shown(row)}",
                number,
            )
        return _Row(check_text(row, number), None)

    def tokenize(self, rows: Sequence[_Row], first: int, options: ClassifyOptions) -> _Units:
        """One input for each row."""
        tokens = tokenize_texts(
            self.tokenizer,
            self.model,
            [row.text for row in rows],
            [row.pair for row in rows],
            first,
            truncation=options.truncation,
            max_length=options.max_length,
            ways=_WAYS,
        )
        return _Units(tokens, first)

    def forward(
        self, units: _Units, batch: NDArray[np.int64], options: ClassifyOptions, watch: Stopwatch
    ) -> NDArray[np.float32]:
        """Logits, ``float32[batch, labels]``."""
        with watch("forward"):
            return to_array(self.infer(options, **units.tokens.batch(batch)).logits)

    def assemble(
        self,
        rows: Sequence[_Row],
        units: _Units,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[NDArray[np.float32]],
        options: ClassifyOptions,
        watch: Stopwatch,
    ) -> LabelledRows:
        """The best labels of each row."""
        labels = tuple(self.model.labels)
        with watch("choose"):
            logits = np.empty((len(rows), len(labels)), np.float32)
            for batch, output in zip(batches, outputs, strict=True):
                logits[batch] = output
            refuse_no_number(logits, np.arange(len(rows)), units.first)
            function = self._function(options)
            scores = logits if function == "none" else np.empty_like(logits)
            if function == "softmax":
                softmax_rows(logits, scores)
            elif function == "sigmoid":
                sigmoid_rows(logits, scores)
            k = len(labels)
            if options.top_k is not None:
                k = 1 if isinstance(options.top_k, str) else min(k, options.top_k)
            found = np.empty((len(rows), k), np.float32)
            indices = np.empty((len(rows), k), np.int32)
            top_rows(scores, k, np.empty((len(labels) + 63) // 64, np.float32), found, indices)
        return LabelledRows(labels, indices, found, is_listed=options.top_k != "best")

    def _function(self, options: ClassifyOptions) -> str:
        """The one to apply."""
        if options.function_to_apply != "default":
            return options.function_to_apply
        problem = task_config(self.model, self.task).get("problem_type")
        if problem == "regression":
            return "none"
        is_independent = problem == "multi_label_classification" or len(self.model.labels) == 1
        return "sigmoid" if is_independent else "softmax"
