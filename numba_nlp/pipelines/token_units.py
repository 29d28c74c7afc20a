"""Texts, or pairs of them, as inputs of a model; what is too long is refused, or cut where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, whole
from numba_nlp.errors import RowError
from numba_nlp.pipelines.model_limits import position_limit
from numba_nlp.ragged import Ragged
from numba_nlp.tokenizer import Tokenizer

__all__ = [
    "TokenUnits",
    "check_cutting",
    "refuse_unfit",
    "room_of",
    "tokenize_texts",
    "tokenize_windows",
]

#: Values of ``truncation``, besides False.
CUTS = (True, "longest_first", "only_first", "only_second")


@dataclass(frozen=True)
class TokenUnits:
    """Inputs of a model, without padding.

    Attributes
    ----------
    ids : Ragged
        Of each input.
    types : Ragged or None
        Token types, where models of this kind take them.
    pad_id, pad_type_id : int
        What fills short ones, at the right.
    """

    ids: Ragged
    types: Ragged | None
    pad_id: int
    pad_type_id: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """In tokens."""
        return self.ids.row_lengths

    def batch(self, units: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Some inputs as a model takes them, padded to the longest one."""
        ids, mask = self.ids.take(units).to_padded(self.pad_id)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.types is not None:
            inputs["token_type_ids"] = self.types.take(units).to_padded(self.pad_type_id)[0]
        return inputs


def check_cutting(truncation: Any, max_length: Any, ways: tuple[Any, ...] = (False, *CUTS)) -> None:
    """Check the two options that say what becomes of long texts.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """
    choice("truncation", truncation, ways)
    if max_length is not None:
        whole("max_length", max_length, 1)


def room_of(model: Any, tokenizer: Tokenizer, max_length: int | None, *, cuts: bool) -> int | None:
    """Most tokens of an input.

    Parameters
    ----------
    model : Model
    tokenizer : Tokenizer
    max_length : int or None
        What the caller says.
    cuts : bool
        Whether longer texts are cut: then what the tokenizer's files say counts as well, as in transformers. Where
        nothing is cut only what the model cannot do is refused.

    Raises
    ------
    ValueError
        The caller asks for more than the model has, or for no text beside the special tokens.
    """
    limit = position_limit(model)
    if max_length is not None:
        if limit is not None and max_length > limit:
            raise ValueError(f"`max_length` is {max_length}, but the model has {limit} positions")
        added = tokenizer.input_settings.single.n_added
        if max_length <= added:
            raise ValueError(
                f"`max_length` is {max_length}, which leaves no room for text beside {added} special tokens"
            )
        return max_length
    known = [limit, tokenizer.input_settings.max_length if cuts else None]
    return min((each for each in known if each is not None), default=None)


def tokenize_texts(
    tokenizer: Tokenizer,
    model: Any,
    texts: Sequence[str],
    pairs: Sequence[str | None],
    first: int,
    *,
    truncation: bool | str,
    max_length: int | None,
    ways: str,
    special: str | None = None,
) -> TokenUnits:
    """Inputs of a model, one for each row.

    Parameters
    ----------
    tokenizer : Tokenizer
    model : Model
    texts : sequence of str
    pairs : sequence of (str or None)
        The second text of each row; None: it has none.
    first : int
        Number of the first row in the call.
    truncation : bool or str
        False, or how texts are cut, as of the tokenizer.
    max_length : int or None
        Most tokens of an input; by default as many as :func:`room_of` says.
    ways : str
        What a caller can do about a row that is too long, for the message.
    special : str, optional
        As of the tokenizer.

    Returns
    -------
    TokenUnits

    Raises
    ------
    RowError
        A row is too long, cannot be cut, or gives no token.
    ValueError
        ``max_length`` is more than the model has, or the tokenizer has no template for pairs.
    """
    room = room_of(model, tokenizer, max_length, cuts=truncation is not False)
    options: dict[str, Any] = {"truncation": False, "special": special}
    if truncation is not False and room is not None:
        options.update(truncation=truncation, max_length=room)
    single = [place for place, pair in enumerate(pairs) if pair is None]
    paired = [place for place, pair in enumerate(pairs) if pair is not None]
    parts = []
    for places in (single, paired):
        if places or (places is single and not paired):
            second = None if places is single else [pairs[place] for place in places]
            parts.append(_encode(tokenizer, [texts[place] for place in places], second, places, first, options))
    names = parts[0].keys()
    # back into the order of the rows
    order = np.argsort(np.array([*single, *paired], np.int64), kind="stable")
    whole_rows = {name: Ragged.concatenate([part[name] for part in parts]).take(order) for name in names}
    units = _units_of(tokenizer, whole_rows)
    refuse_unfit(units.lengths, first, room, ways)
    return units


def tokenize_windows(
    tokenizer: Tokenizer, texts: Sequence[str], first: int, *, room: int, stride: int
) -> tuple[TokenUnits, NDArray[np.int64]]:
    """Inputs of a model, several for a row that is too long.

    Parameters
    ----------
    tokenizer : Tokenizer
    texts : sequence of str
    first : int
        Number of the first row in the call.
    room : int
        Most tokens of an input.
    stride : int
        Tokens that a window shares with the one before.

    Returns
    -------
    units : TokenUnits
    rows : int64[units]
        Which of the texts each is of; those of a text are neighbours.

    Raises
    ------
    RowError
        A row gives no token.
    ValueError
        There is no room for the text, or none beside the stride.
    """
    inputs = tokenizer(
        list(texts),
        truncation=True,
        max_length=room,
        stride=stride,
        return_attention_mask=False,
        return_overflowing_tokens=True,
    )
    units, rows = _units_of(tokenizer, inputs), inputs["overflow_to_sample_mapping"]
    empty = np.flatnonzero(units.lengths == 0)
    if empty.size:
        refuse_unfit(np.zeros(1, np.int64), first + int(rows[empty[0]]), None, "")
    return units, rows


def refuse_unfit(lengths: NDArray[np.int64], first: int, room: int | None, ways: str) -> None:
    """Refuse rows without tokens, and those that have too many.

    Parameters
    ----------
    lengths : int64[rows]
        In tokens.
    first : int
        Number of the first row.
    room : int or None
        Most tokens.
    ways : str
        What a caller can do about it.

    Raises
    ------
    RowError
    """
    empty = lengths == 0
    long = np.zeros(lengths.size, bool) if room is None else lengths > room
    wrong = np.flatnonzero(empty | long)
    if not wrong.size:
        return
    place = int(wrong[0])
    row = first + place
    if empty[place]:
        raise RowError(f"row {row}: the text gives no token, so that there is nothing to read; leave it out", row)
    raise RowError(f"row {row}: {lengths[place]} tokens, and the most are {room}; {ways}", row)


def _units_of(tokenizer: Tokenizer, inputs: Any) -> TokenUnits:
    """What a tokenizer gave, by name."""
    settings = tokenizer.input_settings
    return TokenUnits(
        ids=inputs["input_ids"],
        types=inputs.get("token_type_ids"),
        pad_id=0 if settings.pad_id is None else settings.pad_id,
        pad_type_id=settings.pad_type_id,
    )


def _encode(
    tokenizer: Tokenizer,
    texts: list[str],
    second: list[str | None] | None,
    places: list[int],
    first: int,
    options: dict[str, Any],
) -> Any:
    try:
        return tokenizer(texts, second, return_attention_mask=False, **options)
    except ValueError:
        # a row of these, whose number is another among all
        for number, place in enumerate(places):
            pair = None if second is None else [second[number]]
            try:
                tokenizer([texts[number]], pair, return_attention_mask=False, **options)
            except ValueError as error:
                row = first + place
                raise RowError(f"row {row}: {str(error).removeprefix('row 0: ')}", row) from error
        raise
