"""Patterns of ``Replace`` and ``Split``: a string, or a regular expression."""

from __future__ import annotations

from dataclasses import dataclass

from vocab_tools.formats.stages.stage import Stage

__all__ = ["Pattern", "read_pattern"]


@dataclass(frozen=True)
class Pattern:
    """What is looked for.

    Attributes
    ----------
    text : str
    is_regex : bool
    """

    text: str
    is_regex: bool = False


def read_pattern(stage: Stage) -> Pattern:
    """Read ``{"String": ...}`` or ``{"Regex": ...}``.

    Raises
    ------
    UnsupportedFeatureError
        Another kind, or a string that is empty, which would match between all characters.
    SourceFormatError
    """
    kinds = set(stage.expect(dict, "an object"))
    if kinds not in ({"String"}, {"Regex"}):
        stage.refuse("only patterns of the kinds 'String' and 'Regex' are known")
    kind = kinds.pop()
    text: str = stage.below(kind).expect(str, "a string" if kind == "String" else "a regular expression")
    if not text:
        stage.below(kind).refuse("an empty pattern matches between all characters, which is not supported")
    return Pattern(text, kind == "Regex")
