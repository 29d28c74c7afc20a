"""``classify_zero_shot``: labels that are chosen when it is called, by a model that knows what follows from a text.

Each label is put into a sentence, and the model is asked whether the text entails it (Yin, Hay and Roth 2019,
arXiv:1909.00161).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import flag, shown, string, strings
from numba_nlp._input_plan import choose_template
from numba_nlp.errors import RowError, UnsupportedFeatureError
from numba_nlp.kernels.tasks.label_scores import softmax_rows, top_rows
from numba_nlp.pipelines.base import Pipeline, to_array
from numba_nlp.pipelines.entailment import find_entailment
from numba_nlp.pipelines.model_limits import refuse_no_number
from numba_nlp.pipelines.paired_units import PairedUnits
from numba_nlp.pipelines.reading_options import ReadingOptions
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.token_units import check_cutting, room_of
from numba_nlp.tokenizer import Tokenizer

__all__ = ["ClassifyZeroShot", "ZeroShotOptions", "ZeroShotRows"]


@dataclass(frozen=True)
class ZeroShotOptions(ReadingOptions):
    """Options of :class:`ClassifyZeroShot`.

    Attributes
    ----------
    candidate_labels : tuple of str
        The labels; a list of them, or a string with commas between them. Needed in each call that the pipeline has
        none for.
    hypothesis_template : str
        The sentence that a label is put into, at ``{}``.
    multi_label : bool
        Whether several labels may be true of a text: then each has a probability of its own, of entailment against
        contradiction, else all add up to 1.
    truncation : bool or "only_first"
        Whether a text that is too long is cut; the sentence with the label never is. False: it is an error.
    max_length : int, optional
        Most tokens of text and sentence, special tokens included; by default as many as the model has positions, and
        where texts are cut as many as the tokenizer's files say.
    """

    candidate_labels: Any = ()
    hypothesis_template: str = "This example is {}."
    multi_label: bool = False
    truncation: bool | str = False
    max_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        labels = self.candidate_labels
        if isinstance(labels, str):
            labels = [label for part in labels.split(",") if (label := part.strip())]
            if not labels:
                raise ValueError(f"`candidate_labels` holds no label: {shown(self.candidate_labels)}")
        labels = strings("candidate_labels", labels)
        for label in labels:
            string("candidate_labels", label)
            if not label.strip():
                raise ValueError(f"`candidate_labels` holds an empty label: {shown(labels)}")
        if len(set(labels)) < len(labels):
            raise ValueError(f"`candidate_labels` holds a label twice: {shown(labels)}")
        object.__setattr__(self, "candidate_labels", labels)
        template = string("hypothesis_template", self.hypothesis_template)
        if _fill(template, "one label") == _fill(template, "two labels"):
            raise ValueError(f"`hypothesis_template` must have {{}} where the label goes, got {shown(template)}")
        flag("multi_label", self.multi_label)
        check_cutting(self.truncation, self.max_length, (False, True, "only_first"))


@dataclass(frozen=True)
class ZeroShotRows:
    """Labels of rows, all of each, the best one first.

    Attributes
    ----------
    sequences : tuple of str
        The texts.
    labels : tuple of str
        The labels as they were given.
    indices : int32[rows, labels]
        Their numbers, that of the best one first; of equal ones the lower number.
    scores : float32[rows, labels]
        Probabilities, in the same order.
    """

    sequences: tuple[str, ...]
    labels: tuple[str, ...]
    indices: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sequences)

    def to_list(self) -> list[dict[str, Any]]:
        """``{"sequence", "labels", "scores"}`` of each row."""
        return [
            {"sequence": text, "labels": [self.labels[number] for number in numbers], "scores": scores}
            for text, numbers, scores in zip(self.sequences, self.indices.tolist(), self.scores.tolist(), strict=True)
        ]

    @classmethod
    def concatenate(cls, parts: Sequence[ZeroShotRows]) -> ZeroShotRows:
        """Rows of all parts."""
        return cls(
            tuple(text for part in parts for text in part.sequences),
            parts[0].labels,
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )


class ClassifyZeroShot(Pipeline):
    """Labels that are chosen when it is called.

    ``pipeline("classify_zero_shot", model=folder)(texts, ["sport", "politics"])``; options are those of
    :class:`ZeroShotOptions`.

    Raises
    ------
    UnsupportedFeatureError
        The model has no label whose name begins with "entail".
    ValueError
        The tokenizer has no template for pairs of texts.
    """

    task: ClassVar[str] = "classify_zero_shot"
    heads: ClassVar[tuple[str, ...]] = ("sequence_classification",)
    option_type: ClassVar[Any] = ZeroShotOptions

    def __init__(self, model: Any, tokenizer: Tokenizer, **options: Any) -> None:
        self._entailment = find_entailment(model)
        self._template = choose_template(tokenizer.input_settings, True, True)
        super().__init__(model, tokenizer, **options)

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call over the defaults; see :meth:`Pipeline.take_options`.

        Raises
        ------
        ValueError
            ``max_length`` is more than the model has.
        UnsupportedFeatureError
            Labels are to be judged by themselves, and the model has no label that its config calls contradiction.
        """
        settled = super().take_options(defaults, options)
        room_of(self.model, self.tokenizer, settled.max_length, cuts=False)
        alone = settled.multi_label or len(settled.candidate_labels) == 1
        if alone and self._entailment.contradiction is None:
            raise UnsupportedFeatureError(
                "probabilities of labels by themselves (multi_label=True, or one label) compare entailment with "
                f"contradiction, and none of the labels {', '.join(map(repr, self.model.labels))} is called so; name "
                "it in `id2label` and `label2id` of config.json"
            )
        return settled

    def __call__(self, inputs: Any, candidate_labels: Any = None, **options: Any) -> Any:
        """Do the task; see :meth:`Pipeline.__call__`.

        Parameters
        ----------
        inputs : str, sequence, column or iterator
            Texts.
        candidate_labels : list of str, or str, optional
            As of :class:`ZeroShotOptions`.
        **options
            As of :meth:`Pipeline.__call__`.

        Raises
        ------
        ValueError
            There are no labels.
        RowError, MissingRowError, TypeError
            As of :meth:`Pipeline.__call__`.
        """
        return super().__call__(inputs, **self._with_labels(candidate_labels, options))

    def arrays(self, inputs: Any, candidate_labels: Any = None, **options: Any) -> ZeroShotRows:
        """Do the task and give arrays; see :meth:`Pipeline.arrays`.

        Parameters
        ----------
        inputs, candidate_labels, **options
            As of a call.

        Raises
        ------
        ValueError
            There are no labels.
        RowError, MissingRowError, TypeError
            As of a call.
        """
        found: ZeroShotRows = super().arrays(inputs, **self._with_labels(candidate_labels, options))
        return found

    def _with_labels(self, labels: Any, options: dict[str, Any]) -> dict[str, Any]:
        if labels is not None:
            options = {**options, "candidate_labels": labels}
        given = options.get("candidate_labels", self.options.candidate_labels)
        # those that have no length are told so by the options
        if given is None or (hasattr(given, "__len__") and len(given) == 0):
            raise ValueError(
                "`candidate_labels` are missing: give the labels to choose from, such as ['sport', 'politics']"
            )
        return options

    def tokenize(self, rows: Sequence[str], first: int, options: ZeroShotOptions) -> PairedUnits:
        """Each row with the sentence of each label."""
        sentences = [_fill(options.hypothesis_template, label) for label in options.candidate_labels]
        firsts, seconds = self.tokenizer.encode_batch(rows), self.tokenizer.encode_batch(sentences)
        needed = seconds.row_lengths + self._template.n_added
        kept = np.repeat(firsts.row_lengths, len(sentences))
        units = PairedUnits(firsts, seconds, kept, self._template, self.tokenizer.input_settings, first)
        room = room_of(self.model, self.tokenizer, options.max_length, cuts=options.truncation is not False)
        if room is not None:
            self._fit(units, np.tile(room - needed, len(rows)), room, sentences, options)
        return units

    def _fit(
        self,
        units: PairedUnits,
        left: NDArray[np.int64],
        room: int,
        sentences: list[str],
        options: ZeroShotOptions,
    ) -> None:
        """Cut texts to what the sentences leave of the room, or refuse them."""
        long = np.flatnonzero(units.kept > left)
        if not long.size:
            return
        if options.truncation is False:
            place, which = divmod(int(long[0]), len(sentences))
            row = units.first + place
            raise RowError(
                f"row {row}: {int(units.lengths[long[0]])} tokens with the sentence {shown(sentences[which])}, and the "
                f"most are {room}; cut the text with truncation='only_first', or classify its parts",
                row,
            )
        without = long[left[long] < 1]
        if without.size:
            place, which = divmod(int(without[0]), len(sentences))
            row = units.first + place
            raise RowError(
                f"row {row}: the sentence {shown(sentences[which])} leaves no room for the text within {room} tokens; "
                "shorten the label or `hypothesis_template`",
                row,
            )
        units.kept[long] = left[long]

    def forward(
        self, units: PairedUnits, batch: NDArray[np.int64], options: ZeroShotOptions, watch: Stopwatch
    ) -> NDArray[np.float32]:
        """Logits of pairs, ``float32[batch, labels of the model]``."""
        with watch("forward"):
            return to_array(self.infer(options, **units.batch(batch)).logits)

    def assemble(
        self,
        rows: Sequence[str],
        units: PairedUnits,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[NDArray[np.float32]],
        options: ZeroShotOptions,
        watch: Stopwatch,
    ) -> ZeroShotRows:
        """Labels of each row, in order."""
        n = len(options.candidate_labels)
        with watch("choose"):
            logits = np.empty((len(rows) * n, len(self.model.labels)), np.float32)
            for batch, output in zip(batches, outputs, strict=True):
                logits[batch] = output
            refuse_no_number(logits, np.repeat(np.arange(len(rows)), n), units.first)
            scores = self._scores(logits, n, options)
            found = np.empty((len(rows), n), np.float32)
            indices = np.empty((len(rows), n), np.int32)
            top_rows(scores, n, np.empty((n + 63) // 64, np.float32), found, indices)
        return ZeroShotRows(tuple(rows), options.candidate_labels, indices, found)

    def _scores(self, logits: NDArray[np.float32], n: int, options: ZeroShotOptions) -> NDArray[np.float32]:
        """Probabilities ``float32[rows, n]``."""
        entailment, contradiction = self._entailment
        if not options.multi_label and n > 1:
            chosen = np.ascontiguousarray(logits[:, entailment].reshape(-1, n))
            scores = np.empty_like(chosen)
            softmax_rows(chosen, scores)
            return scores
        assert contradiction is not None
        chosen = np.ascontiguousarray(logits[:, [contradiction, entailment]])
        scores = np.empty_like(chosen)
        softmax_rows(chosen, scores)
        return np.ascontiguousarray(scores[:, 1].reshape(-1, n))


def _fill(template: str, label: str) -> str:
    """The sentence with a label in it.

    Raises
    ------
    ValueError
        There is no place for it.
    """
    try:
        return template.format(label)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"`hypothesis_template` must have {{}} where the label goes, got {shown(template)}") from error
