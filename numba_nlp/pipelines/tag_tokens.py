"""``tag_tokens``: labels of tokens, and entities made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, strings, whole
from numba_nlp._input_layout import NO_TEXTS, read_only
from numba_nlp._input_plan import choose_template
from numba_nlp.kernels.tasks.entities import AVERAGE, FIRST, MAX, join_entities, join_words
from numba_nlp.pipelines.base import Pipeline, Result, to_array
from numba_nlp.pipelines.model_limits import position_limit
from numba_nlp.pipelines.offset_rows import join_offsets, offsets_of
from numba_nlp.pipelines.reading_options import ReadingOptions
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.tag_schemes import read_labels
from numba_nlp.pipelines.tag_words import decode_entities, name_tokens
from numba_nlp.pipelines.windows import TokenWindows, cut_windows, encode_texts, window_limit
from numba_nlp.ragged import Ragged

__all__ = ["TagOptions", "TagTokens", "Tags"]

#: Longest overlap of windows where nothing is said.
_STRIDE = 128
_BY_WORDS = {"first": FIRST, "max": MAX, "average": AVERAGE}


@dataclass(frozen=True)
class TagOptions(ReadingOptions):
    """Options of :class:`TagTokens`; names and defaults are those of transformers, but for windows.

    Attributes
    ----------
    aggregation_strategy : {"none", "simple", "first", "average", "max"}
        "none" gives tokens. The others join neighbours to entities: "simple" by the label of each token; the rest give
        all tokens of a word one label first, that of its first token, that with the best average score, or that of the
        token with the best score.
    ignore_labels : sequence of str
        Labels, and with entities types, that are left out.
    stride : int or None
        Tokens that a window over a long text shares with the one before; by default half of a window, at most 128.
    max_length : int or None
        Tokens of a window, special tokens included; by default what the model can take.
    """

    aggregation_strategy: str = "none"
    ignore_labels: Sequence[str] = ("O",)
    stride: int | None = None
    max_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("aggregation_strategy", self.aggregation_strategy, ("none", "simple", *_BY_WORDS))
        object.__setattr__(self, "ignore_labels", strings("ignore_labels", self.ignore_labels))
        for name, least in (("stride", 0), ("max_length", 1)):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least)


@dataclass(frozen=True, eq=False)
class Tags:
    """Labels of tokens, or entities, in the order of the text.

    Attributes
    ----------
    offsets : int64[rows + 1]
        Row ``i`` has the entities ``offsets[i]`` to ``offsets[i + 1]``.
    starts, ends : int64[entities], int64[entities]
        Characters of the text.
    labels : int32[entities]
        Numbers in `names`.
    scores : float32[entities]
        Probability of the label; of entities the mean of those of their tokens or words.
    indexes : int64[entities]
        Place of the (first) token in its text with the special tokens before it.
    names : tuple of str
        Labels of the model; with entities their types.
    words : list of str
        Tokens as the vocabulary writes them; with entities their text as decoded from ids.
    is_joined : bool
        Whether these are entities.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    labels: NDArray[np.int32]
    scores: NDArray[np.float32]
    indexes: NDArray[np.int64]
    names: tuple[str, ...]
    words: list[str]
    is_joined: bool

    def __len__(self) -> int:
        return self.offsets.size - 1

    def to_list(self) -> list[list[dict[str, Any]]]:
        """A list of dicts a row, with the keys that transformers has."""
        key = "entity_group" if self.is_joined else "entity"
        columns = (self.labels, self.scores, self.indexes, self.starts, self.ends)
        tags: list[dict[str, Any]] = []
        for label, score, index, start, end, word in zip(*(each.tolist() for each in columns), self.words, strict=True):
            place = {} if self.is_joined else {"index": index}
            tags.append({key: self.names[label], "score": score, **place, "word": word, "start": start, "end": end})
        bounds = self.offsets.tolist()
        return [tags[first:last] for first, last in pairwise(bounds)]

    @classmethod
    def concatenate(cls, parts: Sequence[Tags]) -> Tags:
        """Tags of the rows of all parts."""
        arrays = ("starts", "ends", "labels", "scores", "indexes")
        return cls(
            offsets=join_offsets([part.offsets for part in parts]),
            names=parts[0].names,
            words=[word for part in parts for word in part.words],
            is_joined=parts[0].is_joined,
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays},
        )


@dataclass(frozen=True)
class _Units:
    """Windows, and the tokens that are labelled from each."""

    windows: TokenWindows
    owned_starts: NDArray[np.int64]
    owned_ends: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.windows.lengths

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self.windows.first_row + self.windows.rows


class _Labelled(NamedTuple):
    """Best label of tokens, its share, and the shares of all labels where they are needed."""

    tokens: NDArray[np.int64]
    labels: NDArray[np.int32]
    scores: NDArray[np.float32]
    shares: NDArray[np.float32]


class TagTokens(Pipeline):
    """Labels the tokens of a text, such as names and parts of speech, and joins them to entities.

    A long text goes through the model in windows that overlap; each token is labelled from the window in which it has
    most text around it, and entities are joined over the whole text.

    A result is a list of ``{"entity", "score", "index", "word", "start", "end"}``, one for each token that has a label
    of interest; with an ``aggregation_strategy`` of ``{"entity_group", "score", "word", "start", "end"}``, one for each
    entity. Options are those of :class:`TagOptions`.
    """

    task: ClassVar[str] = "tag_tokens"
    heads: ClassVar[tuple[str, ...]] = ("token_classification",)
    option_type: ClassVar[Any] = TagOptions

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call; see :meth:`Pipeline.take_options`."""
        settled = super().take_options(defaults, options)
        limit = position_limit(self.model)
        if settled.max_length is not None and limit is not None and settled.max_length > limit:
            raise ValueError(f"`max_length` is {settled.max_length}, but the model has {limit} positions")
        longest, stride = self._windows(settled)
        room = longest - choose_template(self.tokenizer.input_settings, False, True).n_added
        if room < 1:
            raise ValueError(f"`max_length` {longest} has no room for text beside {longest - room} special tokens")
        if stride >= room:
            raise ValueError(
                f"`stride` must be less than the tokens of text that a window has room for, {room}, got {stride}"
            )
        return settled

    def tokenize(self, rows: Sequence[str], first: int, options: Any) -> _Units:
        """Windows over the texts; see :meth:`Pipeline.tokenize`."""
        longest, stride = self._windows(options)
        texts = encode_texts(self.tokenizer, rows, spans=True, words=options.aggregation_strategy in _BY_WORDS)
        settings = self.tokenizer.input_settings
        windows = cut_windows(
            settings,
            choose_template(settings, False, True),
            texts,
            NO_TEXTS,
            is_second=False,
            max_length=longest,
            stride=stride,
            first_row=first,
        )
        windows = windows.select(windows.ends > windows.starts)
        return _Units(windows, *windows.owned())

    def forward(self, units: _Units, batch: NDArray[np.int64], options: Any, watch: Stopwatch) -> _Labelled:
        """Labels of the tokens of some windows; see :meth:`Pipeline.forward`."""
        windows = units.windows
        with watch("forward"):
            logits = to_array(self.infer(options, **windows.inputs(batch)).logits)
        with watch("choose"):
            windows.refuse_no_number(batch, logits)
            starts, counts = units.owned_starts[batch], units.owned_ends[batch] - units.owned_starts[batch]
            window = np.repeat(np.arange(batch.size), counts)
            within = np.arange(window.size) - np.repeat(np.cumsum(counts) - counts, counts)
            tokens = starts[window] + within
            places = (windows.places(batch) + starts - windows.starts[batch])[window] + within
            picked = logits[window, places]
            shares = np.exp(picked - picked.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            labels = shares.argmax(axis=1)
            scores = shares[np.arange(labels.size), labels]
        if options.aggregation_strategy != "average":
            shares = shares[:0]
        return _Labelled(tokens, labels.astype(np.int32), scores, shares)

    def assemble(
        self,
        rows: Sequence[str],
        units: _Units,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[_Labelled],
        options: Any,
        watch: Stopwatch,
    ) -> Result:
        """Tags of rows from the labels of their tokens; see :meth:`Pipeline.assemble`."""
        texts = units.windows.texts
        is_joined = options.aggregation_strategy != "none"
        with watch("choose"):
            labels, scores, shares = _in_order(outputs, texts.values.size)
            token_firsts = np.arange(texts.values.size)
            token_lasts, offsets = token_firsts, texts.offsets
            names: tuple[str, ...] = self.model.labels
            if options.aggregation_strategy in _BY_WORDS:
                token_firsts, token_lasts, labels, scores, offsets = _words(
                    texts.words, offsets, labels, scores, shares, _BY_WORDS[options.aggregation_strategy]
                )
            if is_joined:
                scheme = read_labels(names)
                names = scheme.names
                firsts, lasts, labels, scores, offsets = _entities(scheme.types, scheme.roles, offsets, labels, scores)
                token_firsts, token_lasts = token_firsts[firsts], token_lasts[lasts]
            is_kept = ~np.array([name in options.ignore_labels for name in names], bool)[labels]
            row_numbers = np.repeat(np.arange(len(rows)), np.diff(offsets))[is_kept]
            token_firsts, token_lasts = token_firsts[is_kept], token_lasts[is_kept]
            before = units.windows.template.parts
            indexes = token_firsts - texts.offsets[row_numbers] + int(np.argmax(before < 0))
        with watch("decode"):
            words = self._words(rows, row_numbers, texts, token_firsts, token_lasts, is_joined)
        return Tags(
            offsets=offsets_of(np.bincount(row_numbers, minlength=len(rows))),
            starts=texts.starts[token_firsts],
            ends=texts.ends[token_lasts],
            labels=labels[is_kept],
            scores=scores[is_kept],
            indexes=indexes,
            names=names,
            words=words,
            is_joined=is_joined,
        )

    def _windows(self, options: Any) -> tuple[int, int]:
        """Tokens of a window, and those that it shares with the next one."""
        longest = window_limit(self.model, self.tokenizer) if options.max_length is None else options.max_length
        return longest, min(longest // 2, _STRIDE) if options.stride is None else options.stride

    def _words(
        self,
        rows: Sequence[str],
        row_numbers: NDArray[np.int64],
        texts: Any,
        firsts: NDArray[np.int64],
        lasts: NDArray[np.int64],
        is_joined: bool,
    ) -> list[str]:
        counts = lasts - firsts + 1
        offsets = offsets_of(counts)
        tokens = np.repeat(firsts - offsets[:-1], counts) + np.arange(offsets[-1])
        spans = zip(
            np.repeat(row_numbers, counts).tolist(), texts.starts[tokens].tolist(), texts.ends[tokens].tolist(),
            strict=True,
        )  # fmt: skip
        pieces = [rows[row][start:end] for row, start, end in spans]
        ids = texts.values[tokens]
        if not is_joined:
            return name_tokens(self.tokenizer, ids, pieces)
        return decode_entities(self.tokenizer, Ragged(ids, offsets), pieces)


def _in_order(
    outputs: Sequence[_Labelled], n: int
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """Labels, scores and shares of all tokens, in their order."""
    labels, scores = np.empty(n, np.int32), np.empty(n, np.float32)
    sample = outputs[0].shares if outputs else np.empty((0, 0), np.float32)
    shares = np.empty((n if len(sample) else 0, sample.shape[1]), np.float32)
    for output in outputs:
        labels[output.tokens] = output.labels
        scores[output.tokens] = output.scores
        if len(shares):
            shares[output.tokens] = output.shares
    return labels, scores, shares


def _words(
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    labels: NDArray[np.int32],
    scores: NDArray[np.float32],
    shares: NDArray[np.float32],
    way: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """First and last tokens, labels and scores of words, and the words of rows."""
    firsts, lasts = (np.empty(words.size, np.int64) for _ in range(2))
    word_labels, word_scores = np.zeros(words.size, np.int32), np.zeros(words.size, np.float32)
    word_offsets = np.empty(offsets.size, np.int64)
    n = join_words(
        read_only(words), offsets, labels, scores, shares, way, firsts, lasts, word_labels, word_scores, word_offsets
    )
    return firsts[:n], lasts[:n], word_labels[:n], word_scores[:n], word_offsets


def _entities(
    types: NDArray[np.int32],
    roles: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    labels: NDArray[np.int32],
    scores: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """First and last members, types and scores of entities, and the entities of rows."""
    firsts, lasts = (np.empty(labels.size, np.int64) for _ in range(2))
    kinds, means = np.empty(labels.size, np.int32), np.empty(labels.size, np.float32)
    entity_offsets = np.empty(offsets.size, np.int64)
    n = join_entities(types, roles, read_only(offsets), labels, scores, firsts, lasts, kinds, means, entity_offsets)
    return firsts[:n], lasts[:n], kinds[:n], means[:n], entity_offsets
