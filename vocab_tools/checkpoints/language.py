"""The language of a text, whose code the translation models put around it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.options import text_of

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["language_of"]

_SHOWN = 8


def language_of(document: Document, options: dict[str, Any], default: str, known: Collection[str]) -> tuple[str, int]:
    """Code and id of the language in whose template texts are put.

    Parameters
    ----------
    document : Document
    options : dict
        ``src_lang`` and ``tgt_lang``; with ``target`` true the second counts, by default the first.
    default : str
        The source language where none is given.
    known : collection of str
        Codes of the model family.

    Raises
    ------
    SourceFormatError
        The code is neither an added token nor one of ``known`` with an id. The reference would put the unknown token
        there, or a piece of text that happens to be written so.
    """
    source, target = text_of(options, "src_lang", default), text_of(options, "tgt_lang", None)
    option, code = ("tgt_lang", target) if options["target"] and target is not None else ("src_lang", source)
    assert code is not None, "there is a default"
    number = document.token_id(code)
    added = {token["content"] for token in document.state["added_tokens"]}
    if number is not None and (code in added or code in known):
        return code, number
    there = [other for other in known if document.token_id(other) is not None]
    there += sorted(token for token in added if token not in known and "_" in token)
    shown = ", ".join(there[:_SHOWN]) + (f", ... ({len(there)} in all)" if len(there) > _SHOWN else "")
    raise SourceFormatError(
        f"{option}={code!r}: the vocabulary has no such language; "
        + (f"it has {shown}" if there else "it has no language codes, give them as extra_special_tokens=[...]")
    )
