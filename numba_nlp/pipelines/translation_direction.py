"""From which language to which, as each family of models is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numba_nlp.pipelines.language_names import Language, find_language
from numba_nlp.pipelines.languages import choose_code, described_codes

__all__ = [
    "Direction",
    "code_direction",
    "marian_direction",
    "named_language",
    "named_pair",
    "t5_direction",
    "translation_values",
]

#: As config.json calls the translations that a model can do.
_TASK = re.compile(r"translation_(?P<source>\w+?)_to_(?P<target>\w+)", re.ASCII)
#: How the makers of Marian models call them: by two languages, or groups of them.
_PAIR = re.compile(r"opus-mt(?:-tc)?(?:-(?:big|base|tiny))*-(?P<source>[A-Za-z_]+)-(?P<target>[A-Za-z_]+)\Z")


@dataclass(frozen=True)
class Direction:
    """What tells a model the languages.

    Attributes
    ----------
    prefix : str or None
        Before each text; None where the languages say nothing of it.
    source_id : int
        Token of the source's language in the template; -1 where there is none.
    options : mapping
        Of the generation.
    codes : mapping of str to int
        Of Marian: one of these begins each text, since no target was named.
    """

    prefix: str | None = None
    source_id: int = -1
    options: Mapping[str, int] = field(default_factory=dict)
    codes: Mapping[str, int] = field(default_factory=dict)


def named_language(name: str, given: str) -> Language:
    """The language that is meant.

    Raises
    ------
    ValueError
        There is none of this code or name.
    """
    language = find_language(given)
    if language is None:
        raise ValueError(f"`{name}` {given!r} is no code of ISO 639-1 or 639-3 and no English name of a language here")
    return language


def translation_values(params: Any, source: str | None, target: str | None) -> tuple[str, dict[str, Any]]:
    """Of ``task_specific_params``, the name and values of the translation that is asked for; empty where there is none.

    Raises
    ------
    ValueError
        Nothing is asked for and there are several.
    """
    if not isinstance(params, Mapping):
        return "", {}
    pairs = {key: found for key in params if isinstance(key, str) and (found := _TASK.fullmatch(key))}
    fitting = [
        key for key, found in pairs.items() if _may_be(source, found["source"]) and _may_be(target, found["target"])
    ]
    if source is None and target is None and len(fitting) > 1:
        raise ValueError(
            f"`source_language` and `target_language` are missing: the model has {', '.join(fitting)}; say which"
        )
    if len(fitting) == 1:
        return fitting[0], dict(params[fitting[0]] or {})
    if not fitting and isinstance(params.get("translation"), Mapping):
        return "translation", dict(params["translation"])
    return "", {}


def _may_be(given: str | None, code: str) -> bool:
    if given is None or given.casefold() == code.casefold():
        return True
    language = find_language(given)
    return language is not None and language == find_language(code)


def t5_direction(source: str | None, target: str | None, values: Mapping[str, Any]) -> Direction:
    """T5 is told in words: "translate English to German: ".

    Raises
    ------
    ValueError
        A language is missing or unknown.
    """
    if isinstance(values.get("prefix"), str):
        return Direction(prefix=values["prefix"])
    for name, given in (("source_language", source), ("target_language", target)):
        if given is None:
            raise ValueError(
                f"`{name}` is missing: T5 is told the languages by their names; give a code of ISO 639 or an English "
                "name, or `prefix`, what is put before each text (perhaps '')"
            )
    assert source is not None
    assert target is not None
    first, second = named_language("source_language", source), named_language("target_language", target)
    return Direction(prefix=f"translate {first.name} to {second.name}: ")


def named_pair(config: Mapping[str, Any]) -> tuple[str, str] | None:
    """The languages of a Marian model by the name that its config.json has; None where it has none of that kind."""
    name = config.get("_name_or_path")
    found = _PAIR.search(name) if isinstance(name, str) else None
    return None if found is None else (found["source"], found["target"])


def marian_direction(
    source: str | None, target: str | None, codes: Mapping[str, int], pair: tuple[str, str] | None
) -> Direction:
    """Marian is told the target by a code, ``>>fra<<``, if it knows several; the source never.

    Raises
    ------
    ValueError
        The model has no such target, or another pair of languages only.
    """
    if codes:
        if target is None:
            return Direction(codes=codes)
        code = choose_code("target_language", target, codes, "this model")
        return Direction(prefix=f">>{code}<< ")
    for name, given, has in zip(("source_language", "target_language"), (source, target), pair or (), strict=False):
        known = find_language(has)
        if given is not None and known is not None and named_language(name, given) != known:
            assert pair is not None
            raise ValueError(f"`{name}` {given!r}: this model translates {pair[0]} to {pair[1]} only")
    return Direction()


def code_direction(
    source: str | None,
    target: str | None,
    codes: Mapping[str, int],
    *,
    default_target: int | None,
    begins_with_target: bool,
) -> Direction:
    """mBART, M2M100 and NLLB are told by tokens: the source's beside the text, the target's as the first one written.

    Parameters
    ----------
    source, target : str or None
    codes : mapping of str to int
        Of the vocabulary.
    default_target : int or None
        Token that the checkpoint begins its rows with.
    begins_with_target : bool
        The decoder begins with the target's token, as the first mBART does, instead of being made to write it.

    Raises
    ------
    ValueError
        A language is missing, unknown or ambiguous.
    """
    if not codes:
        raise ValueError(
            "the vocabulary has no tokens of languages, which this model is told them by; load its tokenizer from the "
            "checkpoint's folder"
        )
    if source is None:
        raise ValueError(f"`source_language` is missing; the model has {described_codes(list(codes))}")
    source_id = codes[choose_code("source_language", source, codes, "this model")]
    if target is not None:
        target_id = codes[choose_code("target_language", target, codes, "this model")]
    elif default_target in codes.values():
        assert default_target is not None
        target_id = default_target
    else:
        raise ValueError(f"`target_language` is missing; the model has {described_codes(list(codes))}")
    option = "decoder_start_token_id" if begins_with_target else "forced_bos_token_id"
    return Direction(source_id=source_id, options={option: target_id})
