"""``fill_mask``: the words that masks in a text may stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import shown, string, strings, whole
from numba_nlp.errors import RowError, UnsupportedFeatureError
from numba_nlp.kernels.tasks.word_scores import best_targets, best_tokens
from numba_nlp.pipelines.base import Pipeline, to_array
from numba_nlp.pipelines.mask_tokens import absent_ids, find_mask, target_ids
from numba_nlp.pipelines.model_limits import refuse_no_number
from numba_nlp.pipelines.reading_options import ReadingOptions
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.token_units import TokenUnits, check_cutting, room_of, tokenize_texts
from numba_nlp.tokenizer import Tokenizer

__all__ = ["FillMask", "FillMaskOptions", "FilledMasks"]

#: Families whose decoder reads the source again, and so has a word for each of its tokens.
_REREADING = ("bart", "mbart")
_WAYS = "shorten the text around the mask, or cut its end with truncation=True"


@dataclass(frozen=True)
class FillMaskOptions(ReadingOptions):
    """Options of :class:`FillMask`.

    Attributes
    ----------
    top_k : int
        So many words for each mask, the most probable one first; all where there are fewer.
    targets : tuple of str
        Only these words; each must be one token. None: all.
    mask_token : str, optional
        By default "[MASK]" or "<mask>", whichever the vocabulary has.
    truncation : bool
        Whether a text that is too long is cut; one whose mask is cut off is an error. False: it is an error.
    max_length : int, optional
        Most tokens of an input, special tokens included; by default as many as the model has positions, and where
        texts are cut as many as the tokenizer's files say.
    """

    top_k: int = 5
    targets: Any = None
    mask_token: str | None = None
    truncation: bool = False
    max_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("top_k", self.top_k, 1)
        if self.targets is not None:
            targets = (self.targets,) if isinstance(self.targets, str) else strings("targets", self.targets)
            if not targets:
                raise ValueError("`targets` holds no word; leave it out to look at all")
            object.__setattr__(self, "targets", tuple(string("targets", word) for word in targets))
        if self.mask_token is not None:
            string("mask_token", self.mask_token)
        check_cutting(self.truncation, self.max_length, (False, True))


@dataclass(frozen=True)
class FilledMasks:
    """Words for the masks of rows.

    Attributes
    ----------
    offsets : int64[rows + 1]
        Row ``i`` has the masks ``offsets[i]`` to ``offsets[i + 1]``.
    tokens : int32[masks, k]
        The words, the most probable one first; of equal ones the lower id.
    scores : float32[masks, k]
        Their probabilities.
    token_strs : tuple of tuple of str
        Text of each word by itself.
    sequences : tuple of tuple of str
        The text with the word in place of the mask. Where a row has several masks, the others stay, and so do special
        tokens.
    """

    offsets: NDArray[np.int64]
    tokens: NDArray[np.int32]
    scores: NDArray[np.float32]
    token_strs: tuple[tuple[str, ...], ...]
    sequences: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_list(self) -> list[Any]:
        """``{"score", "token", "token_str", "sequence"}`` of each word of a row, in a list a mask if it has several."""
        columns = (self.scores.tolist(), self.tokens.tolist(), self.token_strs, self.sequences)
        names = ("score", "token", "token_str", "sequence")
        masks = [
            [dict(zip(names, word, strict=True)) for word in zip(*mask, strict=True)]
            for mask in zip(*columns, strict=True)
        ]
        bounds = self.offsets.tolist()
        rows = [masks[begin:end] for begin, end in pairwise(bounds)]
        return [row[0] if len(row) == 1 else row for row in rows]

    @classmethod
    def concatenate(cls, parts: Sequence[FilledMasks]) -> FilledMasks:
        """Rows of all parts."""
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([part.tokens for part in parts]),
            np.concatenate([part.scores for part in parts]),
            tuple(mask for part in parts for mask in part.token_strs),
            tuple(mask for part in parts for mask in part.sequences),
        )


class _Units(NamedTuple):
    """Inputs of rows, one each.

    Parameters
    ----------
    tokens : TokenUnits
    mask : int
        Id of the mask.
    offsets : int64[rows + 1]
        Masks of each row.
    places : int64[masks]
        Where they are in their rows.
    first : int
        Number of the first row.
    """

    tokens: TokenUnits
    mask: int
    offsets: NDArray[np.int64]
    places: NDArray[np.int64]
    first: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.tokens.lengths

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self.first + np.arange(self.lengths.size)


class _Words(NamedTuple):
    """Words for the masks of a batch: which masks among all, ``float32[n, k]`` and ``int32[n, k]``."""

    masks: NDArray[np.int64]
    scores: NDArray[np.float32]
    tokens: NDArray[np.int32]


class FillMask(Pipeline):
    """Words for masks: ``pipeline("fill_mask", model=folder)``; options are those of :class:`FillMaskOptions`.

    Raises
    ------
    UnsupportedFeatureError
        The model is an encoder-decoder that does not read its source again (only BART and mBART do), or no special
        token is called as a mask is.
    """

    task: ClassVar[str] = "fill_mask"
    heads: ClassVar[tuple[str, ...]] = ("masked_lm", "conditional_generation")
    option_type: ClassVar[Any] = FillMaskOptions
    #: Fewer than elsewhere: the model gives a number for each token and each word.
    batch_tokens: ClassVar[int] = 1024

    def __init__(self, model: Any, tokenizer: Tokenizer, **options: Any) -> None:
        if model.head == "conditional_generation" and model.family not in _REREADING:
            raise UnsupportedFeatureError(
                f"task 'fill_mask' needs a masked language model, or {' or '.join(_REREADING)}; a {model.family} has "
                "no word for each token of its source"
            )
        self._absent = absent_ids(tokenizer, model.settings.vocabulary)
        super().__init__(model, tokenizer, **options)

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call over the defaults; see :meth:`Pipeline.take_options`.

        Raises
        ------
        ValueError
            One of the targets is no single token, the mask no special token, or ``max_length`` more than the model has.
        """
        settled = super().take_options(defaults, options)
        room_of(self.model, self.tokenizer, settled.max_length, cuts=False)
        find_mask(self.tokenizer, settled.mask_token)
        self._targets(settled)
        return settled

    def _targets(self, options: FillMaskOptions) -> NDArray[np.int32] | None:
        if options.targets is None:
            return None
        return target_ids(self.tokenizer, options.targets, self.model.settings.vocabulary)

    def _number_of_words(self, options: FillMaskOptions) -> int:
        targets = self._targets(options)
        most = self.model.settings.vocabulary - self._absent.size if targets is None else targets.size
        return min(options.top_k, most)

    def tokenize(self, rows: Sequence[str], first: int, options: FillMaskOptions) -> _Units:
        """One input for each row, and where its masks are."""
        token, mask = find_mask(self.tokenizer, options.mask_token)
        tokens = tokenize_texts(
            self.tokenizer,
            self.model,
            rows,
            [None] * len(rows),
            first,
            truncation=options.truncation,
            max_length=options.max_length,
            ways=_WAYS,
            # a mask is one whatever the policy of the vocabulary
            special="match",
        )
        ids = tokens.ids.compact()
        places = np.flatnonzero(ids.values == mask)
        counts = np.diff(np.searchsorted(places, ids.offsets))
        without = np.flatnonzero(counts == 0)
        if without.size:
            place = int(without[0])
            cut = " within its first tokens, to which it is cut" if token in rows[place] else ""
            raise RowError(
                f"row {first + place}: the text holds no mask{cut}; put {token} where the word is sought, got "
                f"{shown(rows[place])}",
                first + place,
            )
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return _Units(tokens, mask, offsets, places - np.repeat(ids.offsets[:-1], counts), first)

    def forward(self, units: _Units, batch: NDArray[np.int64], options: FillMaskOptions, watch: Stopwatch) -> _Words:
        """Words for the masks of some rows; the numbers over the vocabulary are not kept."""
        inputs = units.tokens.batch(batch)
        counts = np.diff(units.offsets)[batch]
        row = np.repeat(np.arange(batch.size), counts)
        within = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
        masks = units.offsets[batch][row] + within
        with watch("forward"):
            logits = to_array(self.infer(options, at=(row, units.places[masks]), **inputs).logits)
        with watch("choose"):
            refuse_no_number(logits, batch[row], units.first)
            k, targets = self._number_of_words(options), self._targets(options)
            scores, tokens = np.empty((masks.size, k), np.float32), np.empty((masks.size, k), np.int32)
            if targets is None:
                maxima = np.empty((logits.shape[1] + 63) // 64, np.float32)
                best_tokens(logits, self._absent, k, maxima, scores, tokens)
            else:
                maxima, chosen = np.empty((targets.size + 63) // 64, np.float32), np.empty(targets.size, np.float32)
                best_targets(logits, targets, k, maxima, chosen, scores, tokens)
        return _Words(masks, scores, tokens)

    def assemble(
        self,
        rows: Sequence[str],
        units: _Units,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[_Words],
        options: FillMaskOptions,
        watch: Stopwatch,
    ) -> FilledMasks:
        """Words in the order of rows and masks, with the texts that they make."""
        shape = int(units.offsets[-1]), self._number_of_words(options)
        scores, tokens = np.empty(shape, np.float32), np.empty(shape, np.int32)
        for output in outputs:
            scores[output.masks], tokens[output.masks] = output.scores, output.tokens
        with watch("decode"):
            words = self._decode(list(tokens.reshape(-1, 1)), skip_special_tokens=False)
            sequences = self._sequences(units, tokens)
        k = shape[1]
        return FilledMasks(units.offsets, tokens, scores, _by_mask(words, k), _by_mask(sequences, k))

    def _sequences(self, units: _Units, tokens: NDArray[np.int32]) -> list[str]:
        """The text of a row with each word in place of each of its masks."""
        counts = np.diff(units.offsets)
        row_of = np.repeat(np.arange(counts.size), counts)
        pad = self.tokenizer.input_settings.pad_id
        rows = []
        for mask, row in enumerate(row_of.tolist()):
            filled = np.repeat(units.tokens.ids[row][None], tokens.shape[1], 0)
            filled[:, units.places[mask]] = tokens[mask]
            rows += [one if pad is None else one[one != pad] for one in filled]
        # among several masks the others have to be seen
        alone = np.repeat(counts[row_of] == 1, tokens.shape[1])
        texts = np.empty(len(rows), object)
        for chosen, skips in ((np.flatnonzero(alone), True), (np.flatnonzero(~alone), False)):
            texts[chosen] = self._decode([rows[place] for place in chosen.tolist()], skip_special_tokens=skips)
        return list(texts)

    def _decode(self, rows: list[NDArray[np.int32]], *, skip_special_tokens: bool) -> list[Any]:
        return self.tokenizer.decode_batch(rows, skip_special_tokens=skip_special_tokens)


def _by_mask(texts: list[str], k: int) -> tuple[tuple[str, ...], ...]:
    """Texts of the words of each mask."""
    return tuple(tuple(texts[first : first + k]) for first in range(0, len(texts), k))
