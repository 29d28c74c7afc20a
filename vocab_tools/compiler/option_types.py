"""Types of the options of ``compile`` for files: what a value may be, said with the name of the option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba_nlp._arguments import flag, path, shown, string, strings, whole

__all__ = ["OPTIONS", "check_options"]


def _ids(name: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(token, str) for token in value):
        raise TypeError(f"`{name}` must be a mapping of str to ids, got {shown(value)}")


_CHECKS: dict[str, Callable[[str, Any], object]] = {
    "allow_gaps": flag,
    "do_lower_case": flag,
    "family": string,
    "ignore": strings,
    "max_input_chars_per_word": whole,
    "merges": whole,
    "name": string,
    "pattern": string,
    "separator": string,
    "special_tokens": _ids,
    "strip_accents": flag,
    "tokenize_chinese_chars": flag,
    "vocabulary": path,
    "vocabulary_threshold": whole,
    **{f"{token}_token": string for token in ("unk", "sep", "pad", "cls", "mask")},
}

#: Options of ``compile`` for files.
OPTIONS = frozenset(_CHECKS)


def check_options(options: Mapping[str, Any]) -> None:
    """Check the types of options that were given; their readers check the values.

    Parameters
    ----------
    options : Mapping of str to object
        Those that are None count as not given.

    Raises
    ------
    TypeError
        Names the option, the value, and what it may be.
    """
    for name, value in options.items():
        if value is not None and name in _CHECKS:
            _CHECKS[name](name, value)
