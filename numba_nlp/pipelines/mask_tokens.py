"""Tokens of masks: which one stands for a word that is sought, and which words are to be looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import shown
from numba_nlp.errors import UnknownTokenError, UnsupportedFeatureError
from numba_nlp.tokenizer import Tokenizer

__all__ = ["absent_ids", "find_mask", "target_ids"]

#: How models call it: BERT and its kin, RoBERTa and models of SentencePiece.
_MASKS = ("[MASK]", "<mask>")
#: Kind of an id that no token has (``Vocabulary``'s ``piece_kinds``).
_ABSENT = 255


def find_mask(tokenizer: Tokenizer, given: str | None) -> tuple[str, int]:
    """The token and its id.

    Parameters
    ----------
    tokenizer : Tokenizer
    given : str or None
        What the caller says; None: the one special token that is called as masks are.

    Raises
    ------
    ValueError
        The vocabulary has no such special token.
    UnsupportedFeatureError
        It has none that is called so, or several.
    """
    special = tokenizer.special_tokens
    if given is not None:
        if given not in special:
            raise ValueError(
                f"`mask_token` must be a special token of the vocabulary, got {shown(given)}; it has "
                f"{shown(list(special))}"
            )
        return given, special[given]
    found = [token for token in _MASKS if token in special]
    if len(found) != 1:
        has = " and ".join(map(repr, found)) if found else "neither"
        raise UnsupportedFeatureError(
            f"task 'fill_mask' looks for the special token {' or '.join(map(repr, _MASKS))}, and the vocabulary has "
            f"{has}; say mask_token="
        )
    return found[0], special[found[0]]


def target_ids(tokenizer: Tokenizer, targets: tuple[str, ...], vocabulary: int) -> NDArray[np.int32]:
    """Ids of words that are each one token.

    Parameters
    ----------
    tokenizer : Tokenizer
    targets : tuple of str
        As the vocabulary writes them (``"Ġword"``, ``"##ing"``), or as they stand in a text.
    vocabulary : int
        Of the model.

    Returns
    -------
    int32[n]
        Each once, in order.

    Raises
    ------
    ValueError
        One is no single token of the vocabulary; says which ones it is.
    """
    special = set(tokenizer.special_tokens.values())
    found = []
    for word in targets:
        try:
            token = tokenizer.token_to_id(word)
        except UnknownTokenError:
            ids = tokenizer.encode(word).tolist()
            # what no token covers becomes the one for all that is unknown, which is special
            if len(ids) != 1 or ids[0] in special:
                parts = ", ".join(repr(tokenizer.id_to_token(number)) for number in ids) or "no token"
                raise ValueError(
                    f"`targets`: {shown(word)} is no single token of this vocabulary, but {parts}; a mask stands for "
                    "one token"
                ) from None
            token = ids[0]
        if token >= vocabulary:
            raise ValueError(f"`targets`: {shown(word)} has the id {token}, and the model knows {vocabulary}")
        found.append(token)
    return np.unique(np.array(found, np.int32))


def absent_ids(tokenizer: Tokenizer, vocabulary: int) -> NDArray[np.int32]:
    """Ids that a model knows and the tokenizer has no token for, such as those that round its matrix up."""
    known = np.zeros(vocabulary, np.bool_)
    kinds = tokenizer.vocabulary["piece_kinds"][:vocabulary]
    known[: kinds.size] = kinds != _ABSENT
    return np.flatnonzero(~known).astype(np.int32)
