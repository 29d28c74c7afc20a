"""Checks of the options of trainers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["check_counts", "check_mark", "check_tokens", "refuse_options"]


def refuse_options(kind: str, **options: bool) -> None:
    """Raise for the first option that is given although it does not apply.

    Raises
    ------
    ValueError
    """
    for name, is_wrong in options.items():
        if is_wrong:
            raise ValueError(f"`{name}` as given does not apply to {kind}; leave it out, or choose another kind")


def check_counts(**numbers: int | None) -> None:
    """Check that numbers which are given are whole and not negative.

    Raises
    ------
    TypeError, ValueError
    """
    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"`{name}` must be an int, got {type(number).__name__}")
        if not 0 <= number < 1 << 31:
            raise ValueError(f"`{name}` must be 0 to {(1 << 31) - 1}, got {number}")


def check_tokens(name: str, tokens: Sequence[str]) -> tuple[str, ...]:
    """Check a list of tokens.

    Raises
    ------
    TypeError, ValueError
        One is no ``str``, empty, or listed twice.
    """
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(f"`{name}` must be a list of str, got {tokens!r}")
    seen: set[str] = set()
    for token in tokens:
        if not token or token in seen:
            raise ValueError(f"`{name}` holds {token!r}{' twice' if token else ', which is empty'}")
        token.encode()
        seen.add(token)
    return tuple(tokens)


def check_mark(name: str, mark: str) -> str:
    """Check what stands before or behind tokens.

    Raises
    ------
    ValueError
        White space in it.
    """
    if any(character.isspace() for character in mark):
        raise ValueError(f"`{name}` must have no white space, got {mark!r}")
    return mark
