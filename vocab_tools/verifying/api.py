"""``verify``: digests, the source that a compiled file keeps, samples, and agreement with a library on a corpus."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from numba_nlp.errors import SourceFormatError, VocabularyFormatError
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.comparing.pieces import unknown_id
from vocab_tools.compiler.api import OpenedSource, build_arrays, open_source
from vocab_tools.compiler.kept_source import kept_source
from vocab_tools.corpus import Corpus, blocks
from vocab_tools.formats.sentencepiece_model import SentencePieceModel
from vocab_tools.formats.sentencepiece_self_test import check_self_test
from vocab_tools.verifying.libraries import Library, library_of

__all__ = ["Check", "Disagreement", "Verification", "verify"]

_SPACE = "\u2581"


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes
    ----------
    name : {"digests", "source", "samples", "library"}
    passed : bool
    detail : str
    """

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Disagreement:
    """A row that the library of the format encodes otherwise.

    Attributes
    ----------
    row : int
        Its number in the corpus, from 0.
    text : str
    ours, library : tuple of int or str
        Ids; tokens where the library has no ids.
    """

    row: int
    text: str
    ours: tuple[Any, ...]
    library: tuple[Any, ...]


@dataclass(frozen=True)
class Verification:
    """What :func:`verify` found.

    Attributes
    ----------
    checks : tuple of Check
    rows, differing_rows : int
        Rows of the corpus, and how many of them the library encodes otherwise.
    shown : tuple of Disagreement
        The first ones of them.
    """

    checks: tuple[Check, ...]
    rows: int = 0
    differing_rows: int = 0
    shown: tuple[Disagreement, ...] = field(default=(), repr=False)

    @property
    def passed(self) -> bool:
        """All checks passed."""
        return all(check.passed for check in self.checks)


def verify(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    corpus: Corpus | None = None,
    show: int = 10,
    num_threads: int | None = None,
    **options: Any,
) -> Verification:
    """Check a vocabulary.

    A compiled file: its digests, and that the source which it keeps compiles to the same arrays. A ``.model``: the
    samples that it carries. With a corpus: that the installed library of the source's format gives the same ids.

    Parameters
    ----------
    source : path-like or iterable of path-like
        As of :func:`vocab_tools.compile`, or a compiled file.
    corpus : path-like, iterable of path-like, or TextRows, optional
        Text files, whose rows are their lines; ``"-"`` is the standard input.
    show : int, default 10
        How many of the rows that differ to give.
    num_threads : int, optional
        As of :meth:`numba_nlp.Tokenizer.encode_batch`.
    **options
        As of :func:`vocab_tools.compile`; not for a compiled file.

    Returns
    -------
    Verification

    Raises
    ------
    UnsupportedFeatureError
        There is no library to compare with, or it is not installed.
    NumbaNlpError, OSError
        The source or the corpus cannot be read, or a compiled file keeps no source and there is a corpus. A compiled
        file that was changed is no error but a check that fails.
    ValueError
        ``show`` is negative.

    Notes
    -----
    Special tokens in the corpus are treated as the format's library does by default; with tiktoken, which refuses
    them, as plain text on both sides.
    """
    if show < 0:
        raise ValueError(f"`show` must be at least 0, got {show}")
    checks: list[Check] = []
    if not isinstance(source, str | PathLike) or Path(source).suffix != ".safetensors" or Path(source).is_dir():
        given: Any = source if isinstance(source, str | PathLike) else list(source)
        found = open_source(given, **options)
        tokenizer = Tokenizer(Vocabulary(*build_arrays(found.description)))
        return _of_source(tokenizer, found, checks, corpus, show, num_threads)
    try:
        vocabulary = Vocabulary.load(source)
    except VocabularyFormatError as error:
        return Verification((Check("digests", False, str(error)),))
    checks.append(Check("digests", True, f"payload {vocabulary.metadata['payload_digest']}"))
    if "source_bytes" not in vocabulary and corpus is None:
        return Verification(tuple(checks))
    with _kept(vocabulary, source) as found:
        arrays, _ = build_arrays(found.description)
        other = [name for name in arrays if not np.array_equal(arrays[name], vocabulary[name])]
        detail = f"arrays that its source compiles to otherwise: {', '.join(other)}" if other else "compiles to it"
        checks.append(Check("source", not other, detail))
        return _of_source(Tokenizer(vocabulary), found, checks, corpus, show, num_threads)


@contextmanager
def _kept(vocabulary: Vocabulary, where: str | PathLike[str]) -> Iterator[OpenedSource]:
    """The source that a compiled vocabulary keeps, for as long as the block runs."""
    kept = kept_source(vocabulary, where)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in kept.files.items():
            (folder / file).write_bytes(content)
        options = dict(kept.options)
        if "vocabulary" in options:
            options["vocabulary"] = folder / options["vocabulary"]
        files = [folder / file for file in kept.files if file != kept.options.get("vocabulary")]
        given: Any = folder if kept.is_folder else files if len(files) > 1 else files[0]
        yield open_source(given, name=vocabulary.metadata["name"], **options)


def _of_source(
    tokenizer: Tokenizer,
    source: OpenedSource,
    checks: list[Check],
    corpus: Corpus | None,
    show: int,
    num_threads: int | None,
) -> Verification:
    description = source.description
    if isinstance(description, SentencePieceModel) and description.self_test:
        failures = check_self_test(description, lambda text: _pieces(tokenizer, text))
        detail = "; ".join(failures) if failures else f"{len(description.self_test)} samples of the model"
        checks.append(Check("samples", not failures, detail))
    if corpus is None:
        return Verification(tuple(checks))
    library = library_of(source)
    rows, differing, shown = _disagreements(tokenizer, library, corpus, show, num_threads)
    detail = f"{differing:,} of {rows:,} rows differ from {library.name}"
    return Verification((*checks, Check("library", not differing, detail)), rows, differing, tuple(shown))


def _pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    """Pieces as sentencepiece lists them: unknown text as it is."""
    unknown = unknown_id(tokenizer)
    ids, starts, ends = tokenizer.encode(text, spans=True)
    found = zip(ids.tolist(), starts.tolist(), ends.tolist(), strict=True)
    return [
        text[start:end].replace(" ", _SPACE) if number == unknown else tokenizer.id_to_token(number)
        for number, start, end in found
    ]


def _disagreements(
    tokenizer: Tokenizer, library: Library, corpus: Corpus, show: int, num_threads: int | None
) -> tuple[int, int, list[Disagreement]]:
    special: Any = "plain" if tokenizer.vocabulary.metadata["special_policy"] == "raise" else None
    tokens: list[str] = []
    unknown = ""
    if library.gives_tokens:
        tokens = [tokenizer.id_to_token(number) for number in range(tokenizer.vocab_size)]
        unknown = tokens[unknown_id(tokenizer)]
    known = set(tokens)
    n_rows = differing = 0
    shown: list[Disagreement] = []
    for rows in blocks(corpus):
        texts = [text or "" for text in rows]
        encoded = tokenizer.encode_batch(rows, special=special, num_threads=num_threads)
        for row, (text, theirs) in enumerate(zip(texts, library.encode(texts), strict=True)):
            ours: list[Any] = encoded.values[encoded.offsets[row] : encoded.offsets[row + 1]].tolist()
            if library.gives_tokens:
                ours = [tokens[number] for number in ours]
                # a library without ids writes tokens that no vocabulary has
                theirs = [token if token in known else unknown for token in theirs]  # noqa: PLW2901
            if ours != theirs:
                differing += 1
                if len(shown) < show:
                    shown.append(Disagreement(n_rows + row, text, tuple(ours), tuple(theirs)))
        n_rows += len(rows)
    if not n_rows:
        raise SourceFormatError("the corpus has no rows, so nothing was compared; give one with text")
    return n_rows, differing, shown
