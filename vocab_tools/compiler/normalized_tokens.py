"""Added tokens that are looked for in normalized text, as tokenizers writes them when it decodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from numba_nlp._second_search import normalized_contents
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.stages import CompiledStages
from vocab_tools.formats.description import AddedToken

__all__ = ["keeps_kind", "normalized_tokens"]


def normalized_tokens(normalizing: CompiledStages, added: Iterable[AddedToken]) -> dict[AddedToken, str]:
    """Normalized form of each token that is looked for in normalized text.

    Parameters
    ----------
    normalizing : CompiledStages
        The normalizers.
    added : iterable of AddedToken

    Raises
    ------
    UnsupportedFeatureError
        A form is empty, or that of two tokens.
    """
    tokens = [token for token in added if token.normalized]
    if not tokens or not normalizing.arrays["normalizer_program"].size:
        return {}
    classes = class_tables("tokenizers")
    arrays: Mapping[str, NDArray[Any]] = {
        **normalizing.arrays,
        "class_index": classes.class_index,
        "class_blocks": classes.class_blocks,
    }
    forms = normalized_contents(arrays, normalizing.regexes, [token.content for token in tokens])
    return {token: form.decode() for token, form in zip(tokens, forms, strict=True)}


def keeps_kind(form: str, added: Iterable[AddedToken]) -> bool:
    """Whether tokenizers takes a special token for one when it decodes: it looks for the form among the contents."""
    return any(token.special and token.content == form for token in added)
