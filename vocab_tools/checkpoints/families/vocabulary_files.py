"""What the classes over vocab.txt, or vocab.json and merges.txt, share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.family import Native

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["MERGED_FILES", "bpe_of", "flag", "required_id", "vocabulary_of"]

MERGED_FILES = {"vocab_file": "vocab.json", "merges_file": "merges.txt", "tokenizer_file": "tokenizer.json"}


def flag(options: dict[str, Any], key: str) -> bool:
    """A setting that is true or false.

    Raises
    ------
    SourceFormatError
    """
    value = options[key]
    if type(value) is not bool:
        raise SourceFormatError(f"{key} must be true or false, got {value!r:.80}")
    return value


def vocabulary_of(native: Native) -> dict[str, int]:
    """Tokens and ids.

    Raises
    ------
    SourceFormatError
        The vocabulary is that of a Unigram model.
    """
    if not isinstance(native.vocab, dict):
        raise SourceFormatError("the tokenizer.json holds no tokens with ids, which this tokenizer class needs")
    return native.vocab


def bpe_of(native: Native, *, suffix: str, unk_token: str | None = None) -> dict[str, Any]:
    """A BPE model as these classes make it."""
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk_token,
        "continuing_subword_prefix": "",
        "end_of_word_suffix": suffix,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": vocabulary_of(native),
        "merges": [list(merge) for merge in native.merges or ()],
    }


def required_id(document: Document, options: dict[str, Any], key: str) -> list[Any]:
    """A special token that stands in a template, and its id.

    Raises
    ------
    SourceFormatError
        It is set to null.
    """
    token = options.get(key)
    number = None if token is None else document.token_id(str(token))
    if number is None:
        raise SourceFormatError(f"{document.source}: {key} is null, but this tokenizer class puts it around texts")
    return [str(token), number]
