"""``embed``: vectors of texts, or of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, flag, whole
from numba_nlp.models.families import HEADS
from numba_nlp.pipelines.base import Pipeline, to_array
from numba_nlp.pipelines.model_limits import position_limit, refuse_no_number
from numba_nlp.pipelines.reading_options import ReadingOptions
from numba_nlp.pipelines.sentence_folder import read_sentence_folder
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.token_units import (
    TokenUnits,
    check_cutting,
    room_of,
    tokenize_texts,
    tokenize_windows,
)

__all__ = ["Embed", "EmbedOptions", "RowVectors", "TokenVectors"]

#: Ways of pooling here -> those of the models.
_POOLINGS = {"mean": "mean", "cls": "first", "last": "last", "max": "max", "mean_sqrt": "mean_sqrt", "pooler": "pooler"}
_WAYS = "cut the text with truncation=True, or take the average of its windows with windows=True"
#: Least length by which a vector is divided, as in torch.
_LEAST_NORM = 1e-12


@dataclass(frozen=True)
class EmbedOptions(ReadingOptions):
    """Options of :class:`Embed`.

    Attributes
    ----------
    pooling : {"mean", "cls", "last", "max", "mean_sqrt", "pooler", "none"}
        From the vectors of the tokens, special ones included, to that of the text: their mean, the first or the last
        one, the largest of each component, their sum divided by the square root of their number, or what the model's
        own pooler makes of the first one; "none": those of the tokens as they are. By default what the folder says, if
        it is one of sentence-transformers, else "mean".
    normalize : bool
        Whether vectors get the length 1. By default what the folder says, else False.
    truncation : bool
        Whether what is too long is cut. False: it is an error.
    windows : bool
        Whether what is too long is taken in parts, of which no token is left out; the vector is the mean of theirs,
        weighed by their numbers of tokens, special ones excepted.
    stride : int
        With ``windows``: tokens that a part shares with the one before.
    max_length : int, optional
        Most tokens of an input, special tokens included. By default what a folder of sentence-transformers says, else
        as many as the model has positions, and where texts are cut as many as the tokenizer's files say.
    """

    pooling: str = "mean"
    normalize: bool = False
    truncation: bool = False
    windows: bool = False
    stride: int = 0
    max_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("pooling", self.pooling, (*_POOLINGS, "none"))
        flag("normalize", self.normalize)
        flag("windows", self.windows)
        check_cutting(self.truncation, self.max_length, (False, True))
        whole("stride", self.stride, 0)
        if self.windows and self.truncation:
            raise ValueError("give `truncation` or `windows`, not both: either what is too long is cut, or it is not")
        if self.stride and not self.windows:
            raise ValueError(f"`stride` {self.stride} is of windows=True, which is not given")
        if self.windows and self.pooling == "none":
            raise ValueError(
                "`windows` are averaged, and pooling='none' gives the vectors of all tokens; leave one out"
            )


@dataclass(frozen=True)
class RowVectors:
    """A vector for each row.

    Attributes
    ----------
    vectors : float32[rows, width]
    """

    vectors: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.vectors)

    def to_list(self) -> list[NDArray[np.float32]]:
        """``float32[width]`` of each row."""
        return list(self.vectors)

    @classmethod
    def concatenate(cls, parts: Sequence[RowVectors]) -> RowVectors:
        """Rows of all parts."""
        return cls(np.concatenate([part.vectors for part in parts]))


@dataclass(frozen=True)
class TokenVectors:
    """A vector for each token of each row, special ones included.

    Attributes
    ----------
    vectors : float32[tokens, width]
        Row ``i`` has ``vectors[offsets[i]:offsets[i + 1]]``.
    offsets : int64[rows + 1]
    ids : int32[tokens]
        The tokens.
    """

    vectors: NDArray[np.float32]
    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_list(self) -> list[NDArray[np.float32]]:
        """``float32[tokens, width]`` of each row."""
        return np.split(self.vectors, self.offsets[1:-1]) if len(self) else []

    @classmethod
    def concatenate(cls, parts: Sequence[TokenVectors]) -> TokenVectors:
        """Rows of all parts."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([part.ids for part in parts]),
        )


class _Units(NamedTuple):
    """Inputs, and which row each is of.

    Parameters
    ----------
    tokens : TokenUnits
    rows : int64[units]
    weights : int64[units]
        What counts of each in the mean of its row: its tokens, special ones excepted.
    first : int
        Number of the first row.
    """

    tokens: TokenUnits
    rows: NDArray[np.int64]
    weights: NDArray[np.int64]
    first: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.tokens.lengths

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self.first + self.rows


class Embed(Pipeline):
    """Vectors of texts: ``pipeline("embed", model=folder)``; options are those of :class:`EmbedOptions`.

    The head of the model does not matter. Of an encoder-decoder, vectors are those of the encoder.
    """

    task: ClassVar[str] = "embed"
    heads: ClassVar[tuple[str, ...]] = HEADS
    option_type: ClassVar[Any] = EmbedOptions

    @classmethod
    def read_folder(cls, model: Any, source: Any, hub: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        """What a folder of sentence-transformers says.

        Raises
        ------
        SourceFormatError
            Its files are damaged.
        UnsupportedFeatureError
            Vectors go through something that is not here.
        """
        found = read_sentence_folder(source, hub, chosen="pooling" in options)
        limit = position_limit(model)
        if "max_length" in found and limit is not None:
            found["max_length"] = min(found["max_length"], limit)
        return found

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call over the defaults; see :meth:`Pipeline.take_options`.

        Raises
        ------
        ValueError
            The model has no pooler, ``max_length`` is more than it has, or ``stride`` as long as a window.
        """
        settled = super().take_options(defaults, options)
        room = room_of(self.model, self.tokenizer, settled.max_length, cuts=settled.windows)
        left = None if room is None else room - self.tokenizer.input_settings.single.n_added
        if left is not None and settled.stride >= left:
            raise ValueError(f"`stride` must be less than the {left} tokens of text in a window, got {settled.stride}")
        has_pooler = self.model.head == "none" and getattr(self.model, "pooler", None) is not None
        if settled.pooling == "pooler" and not has_pooler:
            raise ValueError(
                f"pooling='pooler': this {self.model.family} with the head {self.model.head!r} has no pooler; take "
                "pooling='cls' for the vector of the first token"
            )
        return settled

    def tokenize(self, rows: Sequence[str], first: int, options: EmbedOptions) -> _Units:
        """One input for each row, or its windows."""
        added = self.tokenizer.input_settings.single.n_added
        if options.windows:
            room = room_of(self.model, self.tokenizer, options.max_length, cuts=True)
            if room is not None:
                tokens, numbers = tokenize_windows(self.tokenizer, rows, first, room=room, stride=options.stride)
                return _Units(tokens, numbers, tokens.lengths - added, first)
        tokens = tokenize_texts(
            self.tokenizer,
            self.model,
            rows,
            [None] * len(rows),
            first,
            truncation=options.truncation,
            max_length=options.max_length,
            ways=_WAYS,
        )
        return _Units(tokens, np.arange(len(rows)), tokens.lengths - added, first)

    def forward(
        self, units: _Units, batch: NDArray[np.int64], options: EmbedOptions, watch: Stopwatch
    ) -> NDArray[np.float32]:
        """Vectors, ``float32[batch, width]``, or those of all tokens one after the other."""
        from numba_nlp.generation.inference import infer_hidden, infer_vectors

        inputs: dict[str, Any] = {**options.computing, **units.tokens.batch(batch)}
        with watch("forward"):
            if options.pooling != "none":
                return to_array(infer_vectors(self.model, _POOLINGS[options.pooling], **inputs))
            hidden = to_array(infer_hidden(self.model, **inputs))
        chosen: NDArray[np.float32] = hidden[inputs["attention_mask"] == 1]
        return chosen

    def assemble(
        self,
        rows: Sequence[str],
        units: _Units,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[NDArray[np.float32]],
        options: EmbedOptions,
        watch: Stopwatch,
    ) -> RowVectors | TokenVectors:
        """Vectors in the order of the rows."""
        with watch("choose"):
            if options.pooling == "none":
                return self._token_vectors(units, batches, outputs, options)
            vectors = np.empty((units.rows.size, self._width), np.float32)
            for batch, output in zip(batches, outputs, strict=True):
                vectors[batch] = output
            refuse_no_number(vectors, units.rows, units.first, choices=False)
            if units.rows.size > len(rows):
                vectors = _means(vectors, units.rows, units.weights, len(rows))
            return RowVectors(_unit_length(vectors) if options.normalize else vectors)

    def _token_vectors(
        self,
        units: _Units,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[NDArray[np.float32]],
        options: EmbedOptions,
    ) -> TokenVectors:
        ids = units.tokens.ids.compact()
        vectors = np.empty((ids.values.size, self._width), np.float32)
        for batch, output in zip(batches, outputs, strict=True):
            starts = np.concatenate([[0], np.cumsum(units.lengths[batch])])
            for unit, start, end in zip(batch.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True):
                vectors[ids.offsets[unit] : ids.offsets[unit + 1]] = output[start:end]
        refuse_no_number(vectors, np.repeat(units.rows, ids.row_lengths), units.first, choices=False)
        return TokenVectors(_unit_length(vectors) if options.normalize else vectors, ids.offsets, ids.values)

    @property
    def _width(self) -> int:
        settings = self.model.settings
        return int(settings.width if hasattr(settings, "width") else settings.encoder.width)


def _means(
    vectors: NDArray[np.float32], rows: NDArray[np.int64], weights: NDArray[np.int64], n: int
) -> NDArray[np.float32]:
    """Means of the vectors of each row, weighed; those of a row are neighbours, and each row has some."""
    # a text without tokens of its own has one part, which then counts
    share = np.maximum(weights, 1).astype(np.float64)
    firsts = np.searchsorted(rows, np.arange(n))
    total = np.add.reduceat(vectors * share[:, None], firsts)
    means: NDArray[np.float32] = (total / np.add.reduceat(share, firsts)[:, None]).astype(np.float32)
    return means


def _unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors of the length 1; zeros stay."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (vectors / np.maximum(lengths, _LEAST_NORM)).astype(np.float32)
    return scaled
