"""What each option of a generation may be: one table, from which every error is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any

__all__ = ["CHECKS", "NEUTRAL_UNSUPPORTED"]

Check = Callable[[Any], Any]
_INT32_LARGEST = 2**31 - 1


class _Wrong(Exception):
    """A value that an option cannot have; the text says what it must be."""


def _whole(least: int) -> Check:
    def check(value: Any) -> int:
        try:
            number = index(value)
        except TypeError:
            raise _Wrong(f"must be a whole number of at least {least}") from None
        if isinstance(value, bool) or number < least:
            raise _Wrong(f"must be a whole number of at least {least}")
        if number > _INT32_LARGEST:
            raise _Wrong(f"must be a whole number of at most {_INT32_LARGEST}")
        return number

    return check


def _number(text: str, accept: Callable[[float], bool] = lambda value: True) -> Check:
    def check(value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise _Wrong(f"must be {text}") from None
        if isinstance(value, (bool, str)) or not math.isfinite(number) or not accept(number):
            raise _Wrong(f"must be {text}")
        return number

    return check


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("must be True or False")
    return value


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _ids(value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, bytes, bool)) or not isinstance(value, Iterable):
        raise _Wrong("must be token ids in a list")
    try:
        return tuple(_whole(0)(entry) for entry in value)
    except _Wrong:
        raise _Wrong(f"must be token ids in a list: whole numbers from 0 to {_INT32_LARGEST}") from None


def _id_or_ids(value: Any) -> int | tuple[int, ...]:
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        found = _ids(value)
        if not found:
            raise _Wrong("must hold a token id, or be None")
        return found
    return int(_whole(0)(value))


def _several_ids(value: Any) -> tuple[tuple[int, ...], ...]:
    text = f"must be a list of lists of token ids (whole numbers from 0 to {_INT32_LARGEST}), none of them empty"
    if isinstance(value, (str, bytes, bool)) or not isinstance(value, Iterable):
        raise _Wrong(text)
    try:
        rows = tuple(_ids(row) for row in value)
    except _Wrong:
        raise _Wrong(text) from None
    if not all(rows):
        raise _Wrong(text)
    return rows


def _texts(value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Iterable) or isinstance(texts, (bytes, Mapping)):
        raise _Wrong("must be a text or a list of them")
    texts = tuple(texts)
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise _Wrong("must be a text or a list of them, none of them empty, or None")
    return texts


def _early_stopping(value: Any) -> bool | str:
    if isinstance(value, bool) or (isinstance(value, str) and value == "never"):
        return value
    raise _Wrong("must be True, False or 'never'")


_share = _number("a probability above 0, up to 1", lambda value: 0.0 < value <= 1.0)
# What logits are divided by: of less, float32 would not hold logits of some millions any more.
_penalty = _number("a number of at least 1e-30", lambda value: value >= 1e-30)
_temperature = _number(
    "a number of at least 1e-30 (for the most probable tokens leave out `do_sample`)", lambda value: value >= 1e-30
)

#: What each option may be: the check gives the value in the form in which it is kept.
_KINDS: dict[str, Check] = {
    "max_length": _optional(_whole(1)),
    "max_new_tokens": _optional(_whole(1)),
    "min_length": _whole(0),
    "min_new_tokens": _optional(_whole(0)),
    "early_stopping": _early_stopping,
    "do_sample": _flag,
    "num_beams": _whole(1),
    "num_beam_groups": _whole(1),
    "diversity_penalty": _number("a number of at least 0", lambda value: value >= 0.0),
    "num_return_sequences": _whole(1),
    "temperature": _temperature,
    "top_k": lambda value: 0 if value is None else _whole(0)(value),
    "top_p": _share,
    "min_p": _optional(_number("a probability from 0 to 1", lambda value: 0.0 <= value <= 1.0)),
    "typical_p": _share,
    "repetition_penalty": _penalty,
    "length_penalty": _number("a finite number"),
    "no_repeat_ngram_size": _whole(0),
    "encoder_no_repeat_ngram_size": _whole(0),
    "bad_words_ids": _optional(_several_ids),
    "renormalize_logits": _flag,
    "suppress_tokens": _optional(_ids),
    "begin_suppress_tokens": _optional(_ids),
    "forced_bos_token_id": _optional(_whole(0)),
    "forced_eos_token_id": _optional(_id_or_ids),
    "stop_sequences": _optional(_several_ids),
    "stop_strings": _optional(_texts),
    "pad_token_id": _optional(_whole(0)),
    "bos_token_id": _optional(_whole(0)),
    "eos_token_id": _optional(_id_or_ids),
    "decoder_start_token_id": _optional(_whole(0)),
}


def _named(name: str, check: Check) -> Check:
    def checked(value: Any) -> Any:
        try:
            return check(value)
        except _Wrong as error:
            raise ValueError(f"`{name}` {error}, got {value!r}") from None

    return checked


CHECKS: dict[str, Check] = {name: _named(name, check) for name, check in _KINDS.items()}

#: Keys of transformers that would change the tokens and are not supported, with the values that change nothing.
NEUTRAL_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "assistant_early_exit": (None,),
    "constraints": (None,),
    "dola_layers": (None,),
    "encoder_repetition_penalty": (None, 1.0),
    "epsilon_cutoff": (None, 0.0),
    "eta_cutoff": (None, 0.0),
    "exponential_decay_length_penalty": (None,),
    "force_words_ids": (None,),
    "guidance_scale": (None, 1.0),
    "max_time": (None,),
    "penalty_alpha": (None, 0.0),
    "prompt_lookup_num_tokens": (None,),
    "remove_invalid_values": (None, False),
    "sequence_bias": (None,),
    "token_healing": (None, False),
    "top_h": (None,),
    "use_mtp": (None, False),
    "watermarking_config": (None,),
}
