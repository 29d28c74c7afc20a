"""What the tasks that generate share: a call's settled options, a batch through ``generate``, and its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import UnknownIdError
from numba_nlp.generation.clock import StepClock
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.pipelines.base import Pipeline, to_array
from numba_nlp.pipelines.generation_options import GenerationOptions, merge_options, settle_generation, task_values
from numba_nlp.pipelines.prompt_counts import PromptCounts
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary

__all__ = ["Call", "GeneratingPipeline", "Written", "pad_right"]


@dataclass(frozen=True)
class Call:
    """One call of a task that generates.

    Attributes
    ----------
    options : GenerationOptions
        Of the task.
    config : GenerationConfig
        Settled.
    values : mapping
        What config.json says of the task.
    counts : PromptCounts
        Of the prompts of the call.
    """

    options: Any
    config: GenerationConfig
    values: Mapping[str, Any] = field(default_factory=dict)
    counts: PromptCounts = field(default_factory=PromptCounts)

    @property
    def per_prompt(self) -> int:
        """Rows that the model computes for each prompt."""
        return max(self.config.num_beams, self.config.num_return_sequences)


class Written(NamedTuple):
    """What a batch became, the rows of a prompt side by side.

    Parameters
    ----------
    tokens : list of int32[n]
        New tokens of each row, up to its end.
    scores : float32[rows]
        As of :class:`numba_nlp.generation.GenerationOutput`.
    """

    tokens: list[NDArray[np.int32]]
    scores: NDArray[np.float32]


def pad_right(rows: Sequence[NDArray[np.int32]], padding: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of ids as a matrix and its mask, padding at the right.

    Parameters
    ----------
    rows : sequence of int32[n]
    padding : int
        Id.

    Returns
    -------
    ids, mask : int64[rows, width]
    """
    width = max(map(len, rows))
    ids = np.full((len(rows), width), padding, np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for number, row in enumerate(rows):
        ids[number, : row.size] = row
        mask[number, : row.size] = 1
    return ids, mask


class GeneratingPipeline(Pipeline):
    """A task whose result is written by ``generate``; see :class:`Pipeline` and :class:`GenerationOptions`."""

    option_type: ClassVar[Any] = GenerationOptions
    # writing takes so long that nobody should wait for many rows
    stream_rows: ClassVar[int] = 32
    # steps read all weights for a few rows, so that more rows are quicker everywhere
    tokens_on_two_cores: ClassVar[int | None] = None
    #: What config.json calls the task, in `task_specific_params`.
    task_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: Any, tokenizer: Tokenizer, **options: Any) -> None:
        self._is_made = False
        #: what decodes, by `clean_up_tokenization_spaces`
        self._decoders: dict[bool, Tokenizer] = {}
        super().__init__(model, tokenizer, **options)
        self.check_defaults()
        self._is_made = True

    def check_defaults(self) -> None:
        """Refuse options of the pipeline that no call could have."""
        self.open_call(self.options)

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of the pipeline or, once it is made, of a call: a :class:`Call`."""
        merged = merge_options(defaults, options, self.task)
        return self.open_call(merged) if self._is_made else merged

    def open_call(self, options: Any) -> Call:
        """Settle what a call asks for."""
        return self.settle(options, self.task_values(options))

    def task_values(self, options: Any) -> dict[str, Any]:
        """What config.json says of the task."""
        return task_values(self.model, *self.task_names)

    def settle(self, options: Any, values: Mapping[str, Any]) -> Call:
        """A call with the config of its generation."""
        pad_id = self.tokenizer.input_settings.pad_id
        return Call(options, settle_generation(self.model, options, values, pad_id), values)

    def prefix_of(self, options: Any, values: Mapping[str, Any]) -> str:
        """What is put before a text: as asked for, else as config.json says."""
        for prefix in (options.prefix, values.get("prefix"), self.model.config.get("prefix")):
            if isinstance(prefix, str):
                return prefix
        return ""

    def write(
        self,
        call: Call,
        config: GenerationConfig,
        prompts: Sequence[NDArray[np.int32]],
        numbers: NDArray[np.int64],
        equal_before: NDArray[np.int64],
        watch: Stopwatch,
    ) -> Written:
        """Generate for a batch.

        Parameters
        ----------
        call : Call
        config : GenerationConfig
            Of these prompts.
        prompts : sequence of int32[n]
            Ids, or those of sources.
        numbers : int64[prompts]
            Of the rows in the call.
        equal_before : int64[prompts]
            Of :class:`PromptCounts`.
        watch : Stopwatch
        """
        clock, begin = StepClock(), perf_counter()
        out = self.generate_ids(call, config, prompts, numbers, equal_before, clock=clock)
        new = out.sequences[:, out.prompt_width :].cpu().numpy().astype(np.int32)
        tokens = _up_to_ends(new, to_array(out.token_scores), config)
        scores = to_array(out.scores)
        watch.add("forward", clock.seconds)
        watch.add("choose", perf_counter() - begin - clock.seconds)
        return Written(tokens, scores)

    def generate_ids(
        self,
        call: Call,
        config: GenerationConfig,
        prompts: Sequence[NDArray[np.int32]],
        numbers: NDArray[np.int64],
        equal_before: NDArray[np.int64],
        **more: Any,
    ) -> Any:
        """What ``generate`` gives for a batch; parameters as of :meth:`write`, and keywords of its own."""
        options = call.options
        ids, mask = pad_right(prompts, 0 if config.pad_token_id is None else config.pad_token_id)
        try:
            return self.model.generate(
                ids,
                mask,
                config=config,
                seed=options.seed,
                equal_before=equal_before if config.do_sample else None,
                processors=options.processors,
                prefix_allowed_tokens_fn=self._allowed(options.prefix_allowed_tokens_fn, numbers),
                tokenizer=self.tokenizer if config.stop_strings else None,
                engine=options.engine,
                weights=options.weights,
                **more,
            )
        except UnknownIdError as error:
            raise error.of_row(int(numbers[error.row])) from error

    def _allowed(self, function: Any, numbers: NDArray[np.int64]) -> Any:
        """A prefix function of the caller, who knows the numbers of rows, for a batch, which has its own."""
        if not callable(function):
            return function  # none, or refused by generate
        # here, since this imports torch
        from numba_nlp.generation.edits import take_allowed

        settings = self.model.settings
        vocabulary = getattr(settings, "decoder_vocabulary", settings.vocabulary)

        def allowed(prompt: int, tokens: NDArray[np.int32]) -> NDArray[np.int64]:
            number = int(numbers[prompt])
            # looked at here, for generate would name the prompt of the batch
            found: NDArray[np.int64] = take_allowed(function(number, tokens), number, tokens, vocabulary)
            return found

        return allowed

    def texts_of(self, rows: Sequence[NDArray[np.int32]], options: GenerationOptions) -> list[str]:
        """Text of rows of ids, without special tokens."""
        if not rows:
            return []
        decoder = self.decoder(options.clean_up_tokenization_spaces)
        return [text or "" for text in decoder.decode_batch(rows, skip_special_tokens=True)]

    def decoder(self, cleans_up: bool | None) -> Tokenizer:
        """What decodes with or without `clean_up_tokenization_spaces`."""
        metadata = self.tokenizer.vocabulary.metadata
        if cleans_up is None or cleans_up == metadata.get("clean_up", False):
            return self.tokenizer
        if cleans_up not in self._decoders:
            vocabulary = self.tokenizer.vocabulary
            changed = Vocabulary(vocabulary.arrays, {**metadata, "clean_up": cleans_up})
            self._decoders[cleans_up] = Tokenizer(changed)
        return self._decoders[cleans_up]


def _up_to_ends(
    rows: NDArray[np.int32], values: NDArray[np.float32], config: GenerationConfig
) -> list[NDArray[np.int32]]:
    """Tokens of each row without the padding behind its end."""
    ends = np.array(config.eos_ids, np.int32)
    stops = bool(config.stop_strings or config.stop_sequences)
    padding = config.pad_token_id if config.pad_token_id is not None else (config.eos_ids or (0,))[0]
    found = []
    for row, value in zip(rows, values, strict=True):
        end = np.flatnonzero(np.isin(row, ends))
        if end.size:
            found.append(row[: end[0] + 1])
            continue
        width = row.size
        while stops and width and row[width - 1] == padding and value[width - 1] == 0:
            width -= 1
        found.append(row[:width])
    return found
