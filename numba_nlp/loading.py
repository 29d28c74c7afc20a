"""``load_tokenizer``: from a compiled vocabulary, or from a source that is compiled now."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary

__all__ = ["load_tokenizer"]


def load_tokenizer(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *further: NoReturn,
    verify: bool = True,
    **options: Any,
) -> Tokenizer:
    """Load a tokenizer from a compiled vocabulary, or from a source that is compiled now.

    Parameters
    ----------
    source : path-like or iterable of path-like
        A compiled ``.safetensors`` file (milliseconds, memory-mapped), or what :func:`vocab_tools.compile` takes: files
        of a vocabulary, the folder of a checkpoint, or its name on the Hugging Face hub.
        A compiled file stays mapped: put a new version in its place by renaming, as ``Vocabulary.save`` does, never
        by writing into it.
    *further
        Refused: several paths go into one list.
    verify : bool, default True
        Check the digest of a compiled file.
    **options
        Passed to :func:`vocab_tools.compile` for sources; for checkpoints also what their tokenizer class takes.

    Returns
    -------
    Tokenizer

    Raises
    ------
    VocabularyFormatError, SourceFormatError, UnsupportedFeatureError
        The file is damaged, breaks its format, or asks for what cannot be reproduced exactly.
    OSError
        A compiled file cannot be read, or a checkpoint be found (FileNotFoundError).

    Examples
    --------
    >>> import numba_nlp as nlp
    >>> tok = nlp.load_tokenizer(["vocab.json", "merges.txt"], family="gpt2")  # doctest: +SKIP
    """
    if further:
        paths = ", ".join(map(repr, (source, *further)))
        raise TypeError(f"`source` is one argument; several paths go into a list: load_tokenizer([{paths}])")
    if isinstance(source, (bytes, bytearray)) or not isinstance(source, (str, os.PathLike, Iterable)):
        raise TypeError(f"`source` must be a path (str or os.PathLike) or paths, got {type(source).__name__}")
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix == ".safetensors":
        if options:
            raise ValueError(
                f"{next(iter(options))!r} is an option of compiling, but {str(source)!r} is compiled already; "
                "give it to vocab_tools.compile(...)"
            )
        return Tokenizer(Vocabulary.load(source, verify=verify))
    import vocab_tools

    return Tokenizer(vocab_tools.compile(source, **options))
