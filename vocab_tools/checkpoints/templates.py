"""Templates as the classes of transformers write them, ``"<s> $A:0 </s>"``, for a ``tokenizer.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from numba_nlp.errors import SourceFormatError

__all__ = ["named_token", "template"]


def template(
    single: str | Sequence[str], pair: str | Sequence[str], ids: Mapping[str, int | None], *, source: str
) -> dict[str, Any]:
    """The post-processor ``TemplateProcessing``.

    Parameters
    ----------
    single, pair : str or sequence of str
        Parts, or parts joined by spaces: ``$A``, ``$B`` or a special token, each perhaps with ``:`` and its type.
    ids : Mapping of str to (int or None)
        Ids of the special tokens; None for one that the vocabulary does not have, which is an error.
    source : str
        What the errors call the class.

    Raises
    ------
    SourceFormatError
        A part that tokenizers does not take, or a special token without an id.
    """
    for token, number in ids.items():
        if number is None:
            raise SourceFormatError(f"{source} puts {token!r} around texts, but the vocabulary does not have it")
    parts = {
        key: [_part(part, source) for part in _split(given)] for key, given in (("single", single), ("pair", pair))
    }
    used = {part["SpecialToken"]["id"] for made in parts.values() for part in made if "SpecialToken" in part}
    if missing := used - ids.keys():
        raise SourceFormatError(f"{source}: {min(missing)!r} stands in the template, but is none of its special tokens")
    tokens = {token: {"id": token, "ids": [number], "tokens": [token]} for token, number in ids.items()}
    return {"type": "TemplateProcessing", **parts, "special_tokens": tokens}


def named_token(options: Mapping[str, Any], key: str, source: str) -> str:
    """A special token that stands in a template.

    Raises
    ------
    SourceFormatError
        It is set to null.
    """
    if options[key] is None:
        raise SourceFormatError(f"{source} puts the {key} around texts, but it is set to null; give {key}=")
    return str(options[key])


def _split(given: str | Sequence[str]) -> list[str]:
    return given.split(" ") if isinstance(given, str) else list(given)


def _part(written: str, source: str) -> dict[str, Any]:
    name, *types = written.split(":")
    if not written or len(types) > 1 or not all(re.fullmatch(r"[0-9]{1,9}", kind) for kind in types):
        raise SourceFormatError(
            f"{source}: {written!r} cannot stand in a template: a special token there has neither spaces nor colons"
        )
    kind = int(types[0]) if types else 0
    if name in ("$A", "$B"):
        return {"Sequence": {"id": name[1], "type_id": kind}}
    if name.startswith("$"):
        raise SourceFormatError(f"{source}: {written!r} cannot stand in a template: $A and $B are the only sequences")
    return {"SpecialToken": {"id": name, "type_id": kind}}
