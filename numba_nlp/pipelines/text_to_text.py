"""From a text to another one, by an encoder and a decoder: what translation and summaries share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import flag, string, whole
from numba_nlp.errors import RowError
from numba_nlp.kernels.segment.layout import FIRST_TEXT
from numba_nlp.pipelines.chunking import cut_text
from numba_nlp.pipelines.generation_call import Call, GeneratingPipeline, Written
from numba_nlp.pipelines.generation_options import GenerationOptions
from numba_nlp.pipelines.stopwatch import Stopwatch

__all__ = ["SourceUnits", "TextToText", "TextToTextOptions", "WrittenTexts"]


@dataclass(frozen=True)
class TextToTextOptions(GenerationOptions):
    """What translation and summaries take; beside these, the options of generation.

    Attributes
    ----------
    prefix : str or None
        Put before each text; by default what config.json says of the task.
    truncation : bool
        Cut texts that are too long at their end.
    chunk : bool
        Cut them into parts between sentences, do these one by one, and join the results.
    separator : str
        Between the results of the parts.
    max_source_length : int or None
        Most tokens that the encoder reads at once, those of the template included; by default as many as the model has
        positions and, where a text is cut, at most what the tokenizer's source says.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """

    prefix: str | None = None
    truncation: bool = False
    chunk: bool = False
    separator: str = " "
    max_source_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prefix is not None:
            string("prefix", self.prefix)
        string("separator", self.separator)
        if flag("truncation", self.truncation) and flag("chunk", self.chunk):
            raise ValueError("`truncation` and `chunk` are both True: a long text is either cut off or done in parts")
        if self.max_source_length is not None:
            whole("max_source_length", self.max_source_length, 1)


@dataclass(frozen=True)
class SourceUnits:
    """What the encoder reads: a text, or a part of one.

    Attributes
    ----------
    ids : list of int32[n]
        With the template.
    rows : int64[units]
        Place of the text among those that were given with it.
    starts, ends : int64[units]
        Characters of the text.
    truncated : bool[units]
        The end of the text was cut off.
    equal_before : int64[units]
        Equal ones before it.
    lengths : int64[units]
        Tokens, of all rows that are computed for it.
    first : int
        Number of the first text in the call.
    """

    ids: list[NDArray[np.int32]]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    equal_before: NDArray[np.int64]
    lengths: NDArray[np.int64]
    first: int

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the text of each."""
        return self.first + self.rows


@dataclass(frozen=True)
class WrittenTexts:
    """Texts that were written, as arrays.

    Attributes
    ----------
    texts : tuple of str
        ``rows * returned``, those of a row side by side.
    returned : int
        Texts of each row.
    chunk_offsets : int64[rows + 1]
        Row ``r`` was done in the parts ``chunk_offsets[r]`` to ``chunk_offsets[r + 1]``: one, several where it was cut,
        none where there is no text.
    chunk_starts, chunk_ends : int64[chunks]
        Characters of the row's text.
    source_tokens : int64[chunks]
        What the encoder read, those of the template included.
    scores : float32[chunks, returned]
        As of :class:`numba_nlp.generation.GenerationOutput`.
    truncated : bool[rows]
        The end of the text was left out.
    """

    texts: tuple[str, ...]
    returned: int
    chunk_offsets: NDArray[np.int64]
    chunk_starts: NDArray[np.int64]
    chunk_ends: NDArray[np.int64]
    source_tokens: NDArray[np.int64]
    scores: NDArray[np.float32]
    truncated: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.truncated)

    @property
    def n_chunks(self) -> NDArray[np.int64]:
        """Parts of each row: int64[rows]."""
        return np.diff(self.chunk_offsets)

    def to_list(self) -> list[Any]:
        """The text of each row, or a list of them where several were asked for."""
        if self.returned == 1:
            return list(self.texts)
        return [list(self.texts[at : at + self.returned]) for at in range(0, len(self.texts), self.returned)]

    @classmethod
    def concatenate(cls, parts: Sequence[WrittenTexts]) -> WrittenTexts:
        """Rows of all parts."""
        counts = np.concatenate([part.n_chunks for part in parts])
        return cls(
            texts=tuple(text for part in parts for text in part.texts),
            returned=parts[0].returned,
            chunk_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in ("chunk_starts", "chunk_ends", "source_tokens", "scores", "truncated")
            },
        )


class _Part(NamedTuple):
    """A part of a row, before the template."""

    start: int
    end: int
    ids: NDArray[np.int32]
    truncated: bool = False


class TextToText(GeneratingPipeline):
    """A text to another one; see :class:`Pipeline` and :class:`TextToTextOptions`."""

    heads = ("conditional_generation",)
    option_type: ClassVar[Any] = TextToTextOptions

    def open_call(self, options: Any) -> Call:
        """Settle what a call asks for."""
        call = super().open_call(options)
        if options.chunk and call.config.num_return_sequences > 1:
            raise ValueError(
                f"`chunk` with `num_return_sequences` {call.config.num_return_sequences}: parts of several texts "
                "make no text; ask for one"
            )
        return call

    def template(self, call: Call) -> NDArray[np.int64]:
        """What a source is made of: ids, and ``FIRST_TEXT`` for the text."""
        return self.tokenizer.input_settings.single.parts

    def prefix_and_start(self, text: str, number: int, call: Call) -> tuple[str, int]:
        """What goes before a text, or before each part of it, and where the text begins."""
        return self.prefix_of(call.options, call.values), 0

    def tokenize(self, rows: Sequence[str], first: int, options: Call) -> SourceUnits:
        """Sources, of which there are several for texts that are cut into parts."""
        template = self.template(options)
        parts: list[_Part] = []
        of_row: list[int] = []
        begun = [self.prefix_and_start(text, first + place, options) for place, text in enumerate(rows)]
        encoded = self.tokenizer.encode_batch(
            [prefix + text[start:] for text, (prefix, start) in zip(rows, begun, strict=True)]
        )
        for place, (text, (prefix, start), ids) in enumerate(zip(rows, begun, encoded, strict=True)):
            if text[start:].isspace() or start == len(text):
                continue  # nothing of which something could be made
            found = self._parts(text, prefix, start, ids, first + place, template.size - 1, options)
            parts += found
            of_row += [place] * len(found)
        sources = [_in_template(part.ids, template) for part in parts]
        numbers = np.array(of_row, np.int64) + first
        sizes = np.array([ids.size for ids in sources], np.int64)
        counted = np.zeros(len(parts), np.int64)
        if options.config.do_sample:
            counted = options.counts.count(sources, _unit_numbers(numbers))
        return SourceUnits(
            ids=sources,
            rows=np.array(of_row, np.int64),
            starts=np.array([part.start for part in parts], np.int64),
            ends=np.array([part.end for part in parts], np.int64),
            truncated=np.array([part.truncated for part in parts], np.bool_),
            equal_before=counted,
            lengths=sizes * options.per_prompt,
            first=first,
        )

    def _parts(
        self, text: str, prefix: str, start: int, ids: NDArray[np.int32], number: int, n_added: int, call: Call
    ) -> list[_Part]:
        """One row, whole or in parts."""
        options, positions = call.options, self.model.settings.positions
        given, said = options.max_source_length, self.tokenizer.input_settings.max_length
        most = min(limit for limit in (positions, given, 2**62) if limit is not None)
        soft = min(most, 2**62 if given is not None or said is None else said)
        size = ids.size + n_added
        if size <= (soft if options.chunk or options.truncation else most):
            return [_Part(start, len(text), ids)]
        room = soft - n_added
        if options.truncation and room > 0:
            return [_Part(start, len(text), ids[:room], True)]
        if options.chunk and room > 0:

            def encode(part: str) -> NDArray[np.int32]:
                found: NDArray[np.int32] = self.tokenizer.encode(prefix + part)
                return found

            try:
                cut = cut_text(text[start:], room, encode, self.tokenizer, encode("").size)
            except ValueError as error:
                raise RowError(f"row {number}: with {room} tokens for a part, {error}", number) from error
            return [_Part(start + chunk.start, start + chunk.end, chunk.ids) for chunk in cut]
        if room < 1:
            raise RowError(
                f"row {number}: with {soft} tokens at once there is no room for text beside {n_added} special tokens; "
                "give a larger `max_source_length`",
                number,
            )
        raise RowError(
            f"row {number}: the text has {size} tokens, and the model reads at most {most} at "
            "once; have it done in parts (chunk=True), or its end left out (truncation=True)",
            number,
        )

    def forward(self, units: SourceUnits, batch: NDArray[np.int64], options: Call, watch: Stopwatch) -> Written:
        """Write what becomes of some sources."""
        return self.write(
            options,
            options.config,
            [units.ids[unit] for unit in batch.tolist()],
            units.numbers[batch],
            units.equal_before[batch],
            watch,
        )

    def assemble(
        self,
        rows: Sequence[Any],
        units: SourceUnits,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[Written],
        options: Call,
        watch: Stopwatch,
    ) -> WrittenTexts:
        """Join the parts of each row."""
        returned = options.config.num_return_sequences
        texts = np.empty((units.rows.size, returned), object)
        scores = np.zeros((units.rows.size, returned), np.float32)
        for batch, written in zip(batches, outputs, strict=True):
            with watch("decode"):
                decoded = self.texts_of(written.tokens, options.options)
            texts[batch] = np.array(decoded, object).reshape(batch.size, returned)
            scores[batch] = written.scores.reshape(batch.size, returned)
        counts = np.bincount(units.rows, minlength=len(rows)).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        truncated = np.zeros(len(rows), np.bool_)
        truncated[units.rows[units.truncated]] = True
        joined = [
            options.options.separator.join(texts[offsets[row] : offsets[row + 1], place])
            for row in range(len(rows))
            for place in range(returned)
        ]
        return WrittenTexts(
            texts=tuple(joined),
            returned=returned,
            chunk_offsets=offsets,
            chunk_starts=units.starts,
            chunk_ends=units.ends,
            source_tokens=np.array([ids.size for ids in units.ids], np.int64),
            scores=scores,
            truncated=truncated,
        )


def _in_template(ids: NDArray[np.int32], template: NDArray[np.int64]) -> NDArray[np.int32]:
    """Ids of a text with those around it."""
    at = int(np.flatnonzero(template == FIRST_TEXT)[0])
    return np.concatenate([template[:at], ids, template[at + 1 :]]).astype(np.int32)


def _unit_numbers(rows: NDArray[np.int64]) -> list[int]:
    """A number for each part, in the order of rows and then of parts."""
    parts = np.arange(rows.size) - np.searchsorted(rows, rows)
    numbers: list[int] = ((rows << 32) + parts).tolist()
    return numbers
