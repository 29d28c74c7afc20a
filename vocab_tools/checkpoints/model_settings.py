"""How ids become model inputs, as the settings of a checkpoint say: padding, sides, lengths, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.model_inputs import InputSettings
from vocab_tools.formats.stages.post_processors import Template

__all__ = ["input_settings", "setting_flag"]

_DEFAULT_NAMES = ("input_ids", "attention_mask")
#: A longer limit than this is none.
_MOST_IDS = (1 << 31) - 1


def setting_flag(source: str, options: Mapping[str, Any], key: str) -> bool:
    """A setting that is true or false; false where it is missing.

    Raises
    ------
    SourceFormatError
    """
    value = options.get(key)
    if value is None:
        return False
    if type(value) is not bool:
        raise SourceFormatError(f"{source}: {key} must be true or false, got {value!r:.80}")
    return value


def input_settings(
    source: str, options: Mapping[str, Any], single: Template, pair: Template, pad_id: int | None
) -> InputSettings:
    """Model inputs.

    Parameters
    ----------
    source : str
        What errors call the checkpoint.
    options : Mapping
        Keyword arguments of the class, defaults included.
    single, pair : Template
    pad_id : int or None

    Raises
    ------
    SourceFormatError
        A setting of another form.
    """
    sides = {}
    for key in ("padding_side", "truncation_side"):
        sides[key] = options.get(key, "right")
        if sides[key] not in ("right", "left"):
            raise SourceFormatError(f"{source}: {key} must be 'right' or 'left', got {sides[key]!r:.80}")
    names = options.get("model_input_names", _DEFAULT_NAMES)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise SourceFormatError(f"{source}: model_input_names must be an array of names, got {names!r:.80}")
    kind = options.get("pad_token_type_id", 0)
    if type(kind) is not int or not 0 <= kind <= _MOST_IDS:
        raise SourceFormatError(f"{source}: pad_token_type_id must be a small number, got {kind!r:.80}")
    return InputSettings(
        single,
        pair,
        pad_id=pad_id,
        pad_type_id=kind,
        model_max_length=_limit(source, options),
        model_input_names=tuple(names),
        **sides,
    )


def _limit(source: str, options: Mapping[str, Any]) -> int | None:
    """Most ids of an input; transformers writes numbers like 1e30 for no limit."""
    value = options.get("model_max_length", options.get("max_len"))
    if value is None:
        return None
    if type(value) not in (int, float) or value < 1 or (value <= _MOST_IDS and value != int(value)):
        raise SourceFormatError(f"{source}: model_max_length must be a number of ids, got {value!r:.80}")
    return None if value > _MOST_IDS else int(value)
