"""The keywords of model inputs, checked before any text is encoded: padding, truncation, what is returned."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from numba_nlp._arguments import choice, shown, whole
from numba_nlp._input_settings import InputSettings, Template
from numba_nlp.kernels.segment.truncate import LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND

__all__ = ["NO_LIMIT", "Padding", "Truncation", "check_adding", "choose_template", "plan_padding", "plan_truncation"]

#: Room of a row that is not cut.
NO_LIMIT = 2**62
_STRATEGIES = {"longest_first": LONGEST_FIRST, "only_first": ONLY_FIRST, "only_second": ONLY_SECOND}
_SIDES = ("right", "left")


class Truncation(NamedTuple):
    """How long texts are cut.

    Parameters
    ----------
    strategy : int
        Of :mod:`numba_nlp.kernels.segment.truncate`.
    room : int
        Most ids of the texts of a row, ``NO_LIMIT`` when nothing is cut.
    stride : int
        Ids that a window shares with the one before.
    from_end : bool
        Cut at the start, keep the end.
    max_length : int or None
        For messages.
    """

    strategy: int
    room: int
    stride: int
    from_end: bool
    max_length: int | None


class Padding(NamedTuple):
    """How short inputs are filled.

    Parameters
    ----------
    pad_id : int
    length : int or None
        Width; None is that of the longest input.
    multiple_of : int
        The width is rounded up to a multiple of this.
    left : bool
    """

    pad_id: int
    length: int | None
    multiple_of: int
    left: bool

    def width(self, longest: int) -> int:
        """Width of a batch whose longest input has ``longest`` ids."""
        length = longest if self.length is None else self.length
        return -(-length // self.multiple_of) * self.multiple_of


def check_adding(add_special_tokens: Any) -> None:
    """Refuse what may be meant as the tokens themselves.

    Raises
    ------
    TypeError
    """
    if not isinstance(add_special_tokens, (bool, np.bool_)):
        raise TypeError(
            "`add_special_tokens` must be True (put the text into the vocabulary's template) or False, got "
            f"{shown(add_special_tokens)}"
        )


def choose_template(settings: InputSettings, is_pair: bool, add_special_tokens: bool) -> Template:
    """The template of a call.

    Raises
    ------
    TypeError
        ``add_special_tokens`` is neither True nor False.
    ValueError
        The vocabulary has none for pairs.
    """
    check_adding(add_special_tokens)
    template = settings.pair if is_pair else settings.single
    if template is None:
        raise ValueError(
            "this vocabulary has no template for pairs of texts; compile it again from its source, or join the texts"
        )
    return template if add_special_tokens else template.without_ids()


def plan_truncation(
    settings: InputSettings,
    template: Template,
    *,
    truncation: bool | str | None,
    max_length: int | None,
    stride: int,
    side: str | None,
    is_padded: bool,
    wants_windows: bool,
    name: str = "max_length",
) -> Truncation:
    """What ``truncation``, ``max_length``, ``stride`` and ``truncation_side`` mean.

    Parameters
    ----------
    settings : InputSettings
    template : Template
        That of the call.
    truncation, max_length, stride, side
        As of :func:`numba_nlp.inputs.model_inputs`.
    is_padded : bool
        Whether padding was asked for.
    wants_windows : bool
        Whether the rest of a text goes into further inputs.
    name : str
        What the caller calls ``max_length``.

    Raises
    ------
    ValueError
        A value that the option cannot have, or a length that leaves no room.
    """
    if max_length is not None:
        max_length = whole(name, max_length, 0, NO_LIMIT - 1)
    stride = whole("stride", stride, 0, NO_LIMIT - 1)
    if truncation is not None:
        truncation = choice("truncation", truncation, (True, False, *_STRATEGIES, "do_not_truncate"))
    from_end = _side("truncation_side", side, settings.truncation_side) == "left"
    if truncation is None:
        truncation = "longest_first" if max_length is not None and not is_padded else False
    strategy = "longest_first" if truncation is True else truncation
    not_cut = Truncation(LONGEST_FIRST, NO_LIMIT, 0, from_end, None)
    if strategy is False or strategy == "do_not_truncate":
        return not_cut
    if max_length is None:
        max_length = settings.max_length
    if max_length is None:
        return not_cut
    room = max_length - template.n_added
    if room < 0:
        raise ValueError(
            f"`{name}` must be at least the number of special tokens, {template.n_added}, got {max_length}; raise "
            "it or pass add_special_tokens=False"
        )
    if stride and stride >= room:
        raise ValueError(
            f"`stride` must be less than the ids of text that `max_length` has room for, {room}, got {stride}"
        )
    if wants_windows and room == 0:
        raise ValueError(
            f"`max_length` {max_length} has no room for text beside {template.n_added} special tokens, so no number of "
            "windows covers a text; raise it, or leave return_overflowing_tokens out"
        )
    return Truncation(_STRATEGIES[str(strategy)], room, stride, from_end, max_length)


def plan_padding(
    settings: InputSettings,
    truncation: Truncation,
    *,
    padding: bool | str,
    max_length: int | None,
    multiple_of: int | None,
    side: str | None,
    pad_id: int | None,
) -> Padding | None:
    """What ``padding``, ``pad_to_multiple_of`` and ``padding_side`` mean; None: rows stay as long as they are.

    Parameters
    ----------
    settings : InputSettings
    truncation : Truncation
    padding, max_length, multiple_of, side
        As of :func:`numba_nlp.inputs.model_inputs`.
    pad_id : int or None
        What the caller chose; None is that of the vocabulary.

    Raises
    ------
    ValueError
        A value that the option cannot have, or there is no padding token.
    """
    left = _side("padding_side", side, settings.padding_side) == "left"
    multiple = 1 if multiple_of is None else whole("pad_to_multiple_of", multiple_of, 1, NO_LIMIT - 1)
    padding = choice("padding", padding, (True, False, "longest", "max_length", "do_not_pad"))
    if padding is False or padding == "do_not_pad":
        return None
    if pad_id is None:
        pad_id = settings.pad_id
    if pad_id is None:
        raise ValueError(
            "this vocabulary has no padding token; choose one with pad_token= or pad_id= (models of the kind of GPT-2 "
            "take their end-of-text token, with padding_side='left' for generation)"
        )
    length = None
    if padding == "max_length":
        length = settings.max_length if max_length is None else max_length
        if length is None:
            raise ValueError("padding='max_length' needs `max_length`; this vocabulary names none")
    elif max_length is not None and truncation.room == NO_LIMIT:
        warnings.warn(
            f"`max_length` ({max_length}) is ignored: padding={padding!r} pads to the longest row and nothing is "
            "truncated. Pass truncation=True or padding='max_length'.",
            UserWarning,
            stacklevel=3,
        )
    limit = truncation.max_length
    if limit is not None and limit % multiple:
        raise ValueError(
            f"`max_length` must be a multiple of `pad_to_multiple_of` when texts are cut and padded, got {limit} and "
            f"{multiple}"
        )
    return Padding(pad_id, length, multiple, left)


def _side(name: str, given: str | None, default: str) -> str:
    return default if given is None else str(choice(name, given, _SIDES))
