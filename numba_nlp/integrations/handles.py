"""``TokenizerHandle``: what tasks carry in the place of a vocabulary, and how a process finds what it names."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from numba_nlp.errors import NumbaNlpError
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary

__all__ = ["TokenizerHandle", "TokenizerMissingError", "offer"]

#: Tokenizers that somebody in this process holds, by digest.
_OFFERED: WeakValueDictionary[str, Tokenizer] = WeakValueDictionary()
_FILES_KEPT = 8


class TokenizerMissingError(NumbaNlpError, LookupError):
    """A task names a tokenizer that its process neither was given nor finds as a file."""


def offer(tokenizer: Tokenizer) -> Tokenizer:
    """Let the handles of this process find a tokenizer for as long as somebody holds it.

    Returns
    -------
    Tokenizer
        The one to hold: another one with the same vocabulary when that was offered before.
    """
    return _OFFERED.setdefault(tokenizer.vocabulary.digest, tokenizer)


@lru_cache(maxsize=_FILES_KEPT)
def _from_file(path: str, digest: str) -> Tokenizer:
    """The tokenizer of a compiled file, one for all tasks of the process.

    Raises
    ------
    FileNotFoundError
    LookupError
        The file holds another vocabulary.
    """
    vocabulary = Vocabulary.load(path)
    if vocabulary.digest != digest:
        raise LookupError(path)
    return Tokenizer(vocabulary)


class TokenizerHandle:
    """A tokenizer by the digest of its vocabulary, as small as its name: what goes into each of a thousand tasks.

    Pickles without the vocabulary. Where it is unpickled, :meth:`tokenizer` takes the tokenizer of that digest that was
    offered in the process, else loads the compiled file if it is there.

    Parameters
    ----------
    tokenizer : Tokenizer
    """

    __slots__ = ("_digest", "_name", "_path", "_tokenizer")

    def __init__(self, tokenizer: Tokenizer) -> None:
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(
                f"`tokenizer` must be a Tokenizer, got {type(tokenizer).__name__}; load_tokenizer makes one"
            )
        vocabulary = tokenizer.vocabulary
        self._digest = vocabulary.digest
        self._name = str(vocabulary.metadata["name"])
        self._path = None if vocabulary.path is None else str(vocabulary.path)
        self._tokenizer: Tokenizer | None = offer(tokenizer)

    @property
    def digest(self) -> str:
        """Digest of the vocabulary."""
        return self._digest

    @property
    def path(self) -> str | None:
        """Compiled file of the vocabulary on the machine where the handle was made."""
        return self._path

    def tokenizer(self) -> Tokenizer:
        """The tokenizer, in this process.

        Raises
        ------
        TokenizerMissingError
            It was not given to this process, and there is no file, or one of another vocabulary.
        """
        if self._tokenizer is None:
            self._tokenizer = _OFFERED.get(self._digest) or self._load()
        return self._tokenizer

    def _load(self) -> Tokenizer:
        why = "it was not loaded from a compiled file"
        if self._path is not None:
            try:
                return _from_file(self._path, self._digest)
            except FileNotFoundError:
                why = f"there is no file {self._path}"
            except LookupError:
                why = f"{self._path} holds another vocabulary"
        raise TokenizerMissingError(
            f"the tokenizer {self._name!r} (digest {self._digest[:12]}) was not given to this process, and {why}. Make "
            "the dask Client before the graph, or call numba_nlp.integrations.dask.share(tokenizer, client); or save "
            "the vocabulary to a file that every worker sees, and load the tokenizer from there"
        )

    def __repr__(self) -> str:
        return f"<TokenizerHandle {self._name!r} digest={self._digest[:12]}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenizerHandle) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash((TokenizerHandle, self._digest))

    def __getstate__(self) -> tuple[str, str, str | None]:
        return self._digest, self._name, self._path

    def __setstate__(self, state: tuple[str, str, str | None]) -> None:
        self._digest, self._name, self._path = state
        self._tokenizer = None

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "numba_nlp.TokenizerHandle", self._digest
