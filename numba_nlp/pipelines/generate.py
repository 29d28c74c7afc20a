"""Texts that go on from a prompt, by GPT, GPT-2 and XLNet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, flag, string
from numba_nlp.errors import RowError
from numba_nlp.pipelines.decoder_prompts import (
    DecoderPipeline,
    PromptUnits,
    asked_tokens,
    by_row,
    default_tokens,
    least_tokens,
    refuse_overlong,
)
from numba_nlp.pipelines.generation_call import Call, Written
from numba_nlp.pipelines.generation_options import GenerationOptions
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.text_stream import stream_pieces
from numba_nlp.ragged import Ragged

__all__ = ["Generate", "GenerateOptions", "GeneratedTexts"]


@dataclass(frozen=True)
class GenerateOptions(GenerationOptions):
    """What text generation takes; beside these, the options of generation.

    Attributes
    ----------
    return_full_text : bool
        Give the prompt with what follows, as it was given; else the new text alone.
    prefix : str or None
        Put before each prompt and not given back; by default what config.json says. It does not count for `max_length`
        and `min_length`.
    handle_long_generation : "hole" or None
        "hole" leaves the front of prompts out that do not fit into the model with their new tokens.
    add_special_tokens : bool
        Put prompts into the template of the vocabulary, such as XLNet's, which ends them.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """

    return_full_text: bool = True
    prefix: str | None = None
    handle_long_generation: str | None = None
    add_special_tokens: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        flag("return_full_text", self.return_full_text)
        flag("add_special_tokens", self.add_special_tokens)
        choice("handle_long_generation", self.handle_long_generation, (None, "hole"))
        if self.prefix is not None:
            string("prefix", self.prefix)


@dataclass(frozen=True)
class GeneratedTexts:
    """Texts that were generated, as arrays.

    Attributes
    ----------
    texts : tuple of str
        ``rows * returned``, those of a row side by side.
    returned : int
        Texts of each row.
    tokens : Ragged
        New tokens of each text, up to its end.
    scores : float32[rows * returned]
        As of :class:`numba_nlp.generation.GenerationOutput`.
    left_out : int64[rows]
        Tokens at the front of the prompt that the model did not read (``handle_long_generation="hole"``).
    """

    texts: tuple[str, ...]
    returned: int
    tokens: Ragged
    scores: NDArray[np.float32]
    left_out: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.left_out)

    def to_list(self) -> list[Any]:
        """The text of each row, or a list of them where several were asked for."""
        if self.returned == 1:
            return list(self.texts)
        return [list(self.texts[at : at + self.returned]) for at in range(0, len(self.texts), self.returned)]

    @classmethod
    def concatenate(cls, parts: Sequence[GeneratedTexts]) -> GeneratedTexts:
        """Rows of all parts."""
        return cls(
            texts=tuple(text for part in parts for text in part.texts),
            returned=parts[0].returned,
            tokens=Ragged.concatenate([part.tokens for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            left_out=np.concatenate([part.left_out for part in parts]),
        )


class Generate(DecoderPipeline):
    """What follows on a text; see :class:`Pipeline` and :class:`GenerateOptions`.

    ``pipe(text)`` is a ``str``, or a list of them with `num_return_sequences`; :meth:`Pipeline.arrays` gives
    :class:`GeneratedTexts`, and :meth:`stream` the text as it comes. An empty text begins with the token that begins
    texts.
    """

    task = "generate"
    option_type: ClassVar[Any] = GenerateOptions
    task_names = ("text-generation",)

    @classmethod
    def default_model(cls) -> Any:
        """The small model of Shakespeare's plays that comes with the package."""
        from numba_nlp.models import own_model

        return own_model("shakespeare")

    def tokenize(self, rows: Sequence[str], first: int, options: Call) -> PromptUnits:
        """Prompts, with as many new tokens as the options and the model have room for."""
        chosen = options.options
        prefix = self.prefix_of(chosen, options.values)
        added = chosen.add_special_tokens
        more = self.tokenizer.encode(prefix, add_special_tokens=added).size if prefix else 0
        ids, rooms, left_out = [], [], []
        encoded = self.tokenizer.encode_batch([prefix + row for row in rows], add_special_tokens=added)
        for number, row in enumerate(encoded, first):
            whole = row if row.size else self._beginning(options, number)
            asked = asked_tokens(options.config, whole.size, number, more)
            new = default_tokens(whole.size, self.positions) if asked is None else asked
            least = least_tokens(options.config, whole.size, more)
            cut = self._left_out(whole.size, new, number) if chosen.handle_long_generation == "hole" else 0
            prompt = whole[cut:]
            refuse_overlong(
                prompt.size,
                new,
                self.positions,
                number,
                "ask for fewer (max_new_tokens=), or leave the front of the prompt out (handle_long_generation='hole')",
            )
            ids.append(prompt)
            rooms.append((new, min(least, new)))
            left_out.append(cut)
        return PromptUnits.make(ids, rooms, left_out, options, first)

    def _beginning(self, call: Call, number: int) -> NDArray[np.int32]:
        """What an empty prompt is."""
        begin = call.config.bos_token_id
        if begin is None:
            raise RowError(
                f"row {number}: the text is empty, and the model has no token that begins texts (bos_token_id); "
                "give it a text to go on from",
                number,
            )
        return np.array([begin], np.int32)

    def _left_out(self, size: int, new: int, number: int) -> int:
        """Tokens at the front of a prompt that there is no room for."""
        limit = self.positions if self.positions is not None else self.tokenizer.input_settings.max_length
        if limit is None or size + new <= limit:
            return 0
        if new >= limit:
            raise RowError(
                f"row {number}: {new} new tokens are asked for, and the model has {limit} positions in all, which "
                "leaves no room for a prompt; ask for fewer",
                number,
            )
        return size + new - limit

    def assemble(
        self,
        rows: Sequence[Any],
        units: PromptUnits,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[Written],
        options: Call,
        watch: Stopwatch,
    ) -> GeneratedTexts:
        """Text behind that of the prompt, cut where the text of the prompt alone ends."""
        returned = options.config.num_return_sequences
        tokens: list[NDArray[np.int32]] = []
        scores = np.zeros((len(rows), returned), np.float32)
        for row, (written, place) in enumerate(by_row(units, batches, outputs)):
            part = slice(place * returned, (place + 1) * returned)
            tokens += written.tokens[part]
            scores[row] = written.scores[part]
        with watch("decode"):
            before = [prompt for prompt in units.ids for _ in range(returned)]
            # a decoder may write the first token of a text otherwise than in its middle
            whole = self.texts_of([np.concatenate(pair) for pair in zip(before, tokens, strict=True)], options.options)
            lengths = [len(text) for text in self.texts_of(units.ids, options.options)]
            texts = [
                (rows[number // returned] if options.options.return_full_text else "")
                + text[lengths[number // returned] :]
                for number, text in enumerate(whole)
            ]
        return GeneratedTexts(
            texts=tuple(texts),
            returned=returned,
            tokens=_ragged(tokens),
            scores=scores.ravel(),
            left_out=units.left_out,
        )

    def stream(self, text: str, **options: Any) -> Iterator[str]:
        """Text as it comes, in pieces that are final.

        Parameters
        ----------
        text : str
            One prompt. With ``return_full_text`` it is the first piece.
        **options
            As of a call, but for beams and several texts.

        Returns
        -------
        iterator of str
            The pieces, put together, are what a call gives. The model runs in another thread; closing the iterator
            ends it.

        Raises
        ------
        RowError, MissingRowError, ValueError, TypeError
            As of a call.
        """
        call = self.take_options(self.options, options)
        if call.per_prompt > 1:
            raise ValueError(
                f"text is streamed of one row: `num_beams` {call.config.num_beams} and `num_return_sequences` "
                f"{call.config.num_return_sequences} must be 1"
            )
        units = self.tokenize([self.check_row(text, 0, call)], 0, call)
        config = call.config.replace(
            max_length=None, max_new_tokens=int(units.new[0]), min_length=0, min_new_tokens=int(units.least[0])
        )
        before = self.texts_of(units.ids, call.options)[0]

        def run(streamer: Any) -> object:
            return self.generate_ids(call, config, units.ids, np.arange(1), units.equal_before, streamer=streamer)

        pieces = stream_pieces(run, self.decoder(call.options.clean_up_tokenization_spaces), len(before))
        return _with_prompt(text, pieces) if call.options.return_full_text and text else pieces


def _with_prompt(text: str, pieces: Iterator[str]) -> Iterator[str]:
    yield text
    yield from pieces


def _ragged(rows: Sequence[NDArray[np.int32]]) -> Ragged:
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    values = np.concatenate(rows).astype(np.int32) if rows else np.zeros(0, np.int32)
    return Ragged(values, offsets)
