"""Checks of the options of trainers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba_nlp._arguments import flag, shown, string, strings, whole

__all__ = ["check_counts", "check_flags", "check_list", "check_mark", "check_tokens", "refuse_options"]


def refuse_options(kind: str, **options: bool) -> None:
    """Raise for the first option that is given although it does not apply.

    Raises
    ------
    ValueError
    """
    for name, is_wrong in options.items():
        if is_wrong:
            raise ValueError(f"`{name}` as given does not apply to {kind}; leave it out, or choose another kind")


def check_counts(**numbers: Any) -> list[Any]:
    """Check that numbers which are given are whole and not negative.

    Returns
    -------
    list of int or None
        The numbers, as ``int``, in the order of the arguments.

    Raises
    ------
    TypeError, ValueError
    """
    return [None if value is None else whole(name, value, 0, (1 << 31) - 1) for name, value in numbers.items()]


def check_flags(**flags: Any) -> None:
    """Check that all are True or False.

    Raises
    ------
    TypeError
    """
    for name, value in flags.items():
        flag(name, value)


def check_list(name: str, items: Any) -> tuple[str, ...]:
    """Check strings whose order counts.

    Raises
    ------
    TypeError
        Something else, or a set, which has no order.
    ValueError
        One is not valid Unicode.
    """
    if isinstance(items, set | frozenset):
        raise TypeError(f"`{name}` is a set, whose order differs from run to run; pass a list, got {shown(items)}")
    return tuple(string(name, item) for item in strings(name, items))


def check_tokens(name: str, tokens: Iterable[str]) -> tuple[str, ...]:
    """Check a list of tokens.

    Raises
    ------
    TypeError, ValueError
        One is no ``str``, not valid Unicode, empty, or listed twice.
    """
    listed = check_list(name, tokens)
    seen: set[str] = set()
    for token in listed:
        if not token or token in seen:
            raise ValueError(f"`{name}` holds {token!r}{' twice' if token else ', which is empty'}")
        seen.add(token)
    return listed


def check_mark(name: str, mark: Any) -> str:
    """Check what stands before or behind tokens.

    Raises
    ------
    TypeError, ValueError
        No ``str``, not valid Unicode, or white space in it.
    """
    if mark is None:
        raise TypeError(f"`{name}` must be a str, got None; pass '' for no mark")
    if any(character.isspace() for character in string(name, mark)):
        raise ValueError(f"`{name}` must have no white space, got {mark!r}")
    return str(mark)
