"""Text of tokens, by a tokenizer or any callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numba_nlp.errors import UnknownTokenError
from numba_nlp.generation.locked import locked

__all__ = ["Decode", "TokenText", "take_decoder"]

#: Ids, int32 ``[n]``, to their text.
Decode = Callable[[Any], str]
#: Characters in what transformers' ``clean_up_tokenization_spaces`` replaces, as " n't" by "n't".
_CLEANED = " .?!,'nmtsver"


class TokenText:
    """What ids are as text, special tokens included.

    Parameters
    ----------
    decode : callable
        ``ids, int32 [n] -> str``.
    name : str
        How errors call it.
    cleans_up : bool
        Whether it takes spaces before punctuation away, as transformers' ``clean_up_tokenization_spaces``.
    """

    def __init__(self, decode: Decode, name: str, *, cleans_up: bool = False) -> None:
        self._decode = decode
        self._name = name
        self._cleans_up = cleans_up

    def text(self, ids: np.ndarray) -> str:
        """Text of a row.

        Raises
        ------
        TypeError
            The callable gave something else.
        """
        found = self._decode(ids)
        if not isinstance(found, str):
            raise TypeError(f"{self._name} must give text for ids, got {type(found).__name__} for {ids.tolist()}")
        return found

    def encoded(self, ids: np.ndarray) -> bytes:
        """UTF-8 of a row; a character of which the ids hold only a part has no bytes of its own."""
        return self.text(ids).encode("utf-8", "surrogatepass")

    def settled(self, ids: np.ndarray, text: str) -> int:
        """Characters at the front of a row's text that no further token changes, as far as its decoder tells.

        Parameters
        ----------
        ids : ndarray
            int32: the row.
        text : str
            Its text.
        """
        settled = text.rstrip("\ufffd")  # what ends in the middle of a character
        return len(settled.rstrip(_CLEANED) if self._cleans_up else settled)


class OwnTokenText(TokenText):
    """The same by a :class:`numba_nlp.Tokenizer`.

    Parameters
    ----------
    tokenizer : Tokenizer
    skip_special_tokens : bool
    """

    def __init__(self, tokenizer: Any, skip_special_tokens: bool) -> None:
        super().__init__(
            lambda ids: tokenizer.decode(ids, skip_special_tokens=skip_special_tokens), "`tokenizer.decode`"
        )
        self._tokenizer = tokenizer
        self._skip = skip_special_tokens

    def encoded(self, ids: np.ndarray) -> bytes:
        """As above, with the bytes of characters that are not complete; from the last id on that has no text."""
        try:
            return self._bytes(ids)
        except UnknownTokenError:  # models may have more ids than there are tokens
            first = max(place for place, token in enumerate(ids.tolist(), 1) if not self._is_known(token))
            return self._bytes(ids[first:])

    def _bytes(self, ids: np.ndarray) -> bytes:
        found: bytes = self._tokenizer.decode_bytes(ids, skip_special_tokens=self._skip)
        return found

    def _is_known(self, token: int) -> bool:
        try:
            self._tokenizer.id_to_bytes(token)
        except UnknownTokenError:
            return False
        return True

    def settled(self, ids: np.ndarray, text: str) -> int:
        length: int = self._tokenizer.settled_length(ids, text, skip_special_tokens=self._skip)
        return length


def take_decoder(tokenizer: Any, decode: Any, *, skip_special_tokens: bool = False) -> TokenText | None:
    """How ids become text, from what a caller gives.

    Parameters
    ----------
    tokenizer : Tokenizer, or an object with its method ``decode``, or None
        transformers' and tokenizers' are such.
    decode : callable or None
        In its place.
    skip_special_tokens : bool
        Leave special tokens out of the text; of a tokenizer.

    Returns
    -------
    TokenText or None
        None where both are.

    Raises
    ------
    TypeError
        Both are given, or what is given does not decode.
    """
    if decode is not None:
        if tokenizer is not None:
            raise TypeError("`tokenizer` and `decode` are both given: ids become text by one of them")
        if not callable(decode):
            raise TypeError(f"`decode` must be a function from ids to text, got {type(decode).__name__}")
        return TokenText(lambda ids: decode(locked(ids)), "`decode`")
    if tokenizer is None:
        return None
    if hasattr(tokenizer, "settled_length"):
        return OwnTokenText(tokenizer, skip_special_tokens)
    if not hasattr(tokenizer, "decode"):
        raise TypeError(
            f"`tokenizer` has no method `decode`: {type(tokenizer).__name__}; or give a function as `decode`"
        )
    return TokenText(
        lambda ids: tokenizer.decode(ids.tolist(), skip_special_tokens=skip_special_tokens),
        "`tokenizer.decode`",
        cleans_up=bool(getattr(tokenizer, "clean_up_tokenization_spaces", False)),
    )
