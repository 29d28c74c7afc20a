"""``prune`` and ``extend``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError, UnknownTokenError
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.corpus import Corpus, blocks
from vocab_tools.editing.choosing import keep_size, keep_used, smallest_size
from vocab_tools.editing.editable import NewToken, renumbering
from vocab_tools.editing.id_map import check_map_name, write_map
from vocab_tools.editing.opening import OpenedVocabulary, PathOrPaths, check_target, compiled, open_vocabulary, write

__all__ = ["Extended", "Pruned", "extend", "prune"]


@dataclass(frozen=True)
class Pruned:
    """What :func:`prune` did.

    Attributes
    ----------
    paths : tuple of Path
        Files that were written.
    options : dict
        Keyword arguments with which :func:`vocab_tools.compile` reads them.
    new_ids : int32[V]
        By old id; -1 for those that are gone.
    """

    paths: tuple[Path, ...]
    options: dict[str, Any]
    new_ids: NDArray[np.int32] = field(repr=False)

    @property
    def kept(self) -> NDArray[np.int64]:
        """Old ids that stay, by new id: ``embedding[kept]`` is the matrix of the new vocabulary."""
        return np.flatnonzero(self.new_ids >= 0)


@dataclass(frozen=True)
class Extended:
    """What :func:`extend` did.

    Attributes
    ----------
    paths : tuple of Path
        Files that were written.
    options : dict
        Keyword arguments with which :func:`vocab_tools.compile` reads them.
    ids : dict of str to int
        The new tokens and their ids, behind all others.
    notes : tuple of str
        Tokens that text does not give, though it holds nothing else.
    """

    paths: tuple[Path, ...]
    options: dict[str, Any]
    ids: dict[str, int]
    notes: tuple[str, ...] = ()


def prune(
    source: PathOrPaths,
    target: str | PathLike[str],
    *,
    corpus: Corpus | None = None,
    size: int | None = None,
    id_map: str | PathLike[str] | None = None,
    num_threads: int | None = None,
    **options: Any,
) -> Pruned:
    """Write a vocabulary with fewer pieces, in its own format, ids renumbered without gaps in the old order.

    Special, added, unknown, byte and single-character pieces always stay, and so do the pieces that one which stays is
    merged of. With a corpus alone the pieces that do not occur in it go; with ``size`` alone the last merges of BPE,
    the lowest scores of Unigram, the last lines of WordPiece; with both those that occur least.

    Parameters
    ----------
    source : path-like or iterable of path-like
        As of :func:`vocab_tools.compile`, or a compiled file that keeps its source.
    target : path-like
        The file to write, a folder for ``vocab.json`` and ``merges.txt``, or a name with ``.safetensors`` for a
        compiled file.
    corpus : path-like, iterable of path-like, or TextRows, optional
        Text files, whose rows are their lines; ``"-"`` is the standard input. Special tokens in it are plain text.
    size : int, optional
        Number of ids of the new vocabulary.
    id_map : path-like, optional
        Where to write the new id of each old one (:func:`vocab_tools.editing.id_map.write_map`): ``.npy``,
        ``.safetensors`` or ``.json``.
    num_threads : int, optional
        As of :meth:`numba_nlp.Tokenizer.encode_batch`.
    **options
        As of :func:`vocab_tools.compile`.

    Returns
    -------
    Pruned

    Raises
    ------
    SourceFormatError
        Neither ``corpus`` nor ``size`` is given, or so few ids are not possible.
    UnsupportedFeatureError
        The format has no pieces that could go.
    NumbaNlpError, OSError
        The source or the corpus cannot be read.

    Notes
    -----
    Text that was cut into pieces which all stay is cut as before: with Unigram, where the best of all ways is still
    there and no other got better; with BPE, where each step takes the first of the merges that are possible, and all
    that happened are still there; with WordPiece, where the longest piece is still there, unless the word is unknown:
    with fewer pieces other words than before may be. So with a corpus alone the corpus is cut as before, unknown words
    of WordPiece aside.
    """
    if corpus is None and size is None:
        raise SourceFormatError("prune needs corpus= or size=: what is used, or how many ids to keep")
    if id_map is not None:
        check_map_name(Path(id_map))
        if not Path(id_map).parent.is_dir():
            raise FileNotFoundError(f"{Path(id_map).parent}: no such folder; make it for the map {id_map}")
    opened = open_vocabulary(source, options)
    check_target(Path(target), opened)
    editable = opened.editable
    counts = None if corpus is None else _counts(opened.tokenizer, corpus, editable.present.size, num_threads)
    if size is None:
        assert counts is not None
        kept = keep_used(editable, counts)
    else:
        least = smallest_size(editable)
        if size < least:
            raise SourceFormatError(
                f"{opened.where}: size={size} is too small: {least} ids are special, byte or single-character pieces, "
                "which always stay"
            )
        kept = keep_size(editable, size, counts)
    kept_ids = np.flatnonzero(kept)
    new_ids = renumbering(kept_ids, kept.size)
    edited = editable.cut(kept_ids)
    made = compiled(opened, edited)
    _check_ids(opened, Tokenizer(made), kept_ids)
    paths = write(Path(target), edited, made)
    if id_map is not None:
        write_map(Path(id_map), new_ids)
    new_ids.flags.writeable = False
    return Pruned(paths, {} if paths[0].suffix == ".safetensors" else edited.options, new_ids)


def _counts(tokenizer: Tokenizer, corpus: Corpus, n_ids: int, num_threads: int | None) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.zeros(n_ids, np.int64)
    for rows in blocks(corpus):
        ids = tokenizer.encode_batch(rows, special="plain", num_threads=num_threads).values
        counts += np.bincount(ids, minlength=n_ids)
    return counts


def _check_ids(opened: OpenedVocabulary, after: Tokenizer, kept: NDArray[np.int64]) -> None:
    """Every id must still be what it was; a difference is a mistake of this package or a file that says two things."""
    before = opened.tokenizer
    if after.vocab_size != kept.size:
        raise SourceFormatError(
            f"{opened.where}: {kept.size} ids should stay, but what would be written has {after.vocab_size}"
        )
    for new, old in enumerate(kept.tolist()):
        tokens = before.id_to_token(old), after.id_to_token(new)
        if tokens[0] != tokens[1] or before.id_to_bytes(old) != after.id_to_bytes(new):
            raise SourceFormatError(
                f"{opened.where}: the id {old} is {tokens[0]!r}, but {tokens[1]!r} with its new id {new}; nothing was "
                "written"
            )


def extend(
    source: PathOrPaths,
    target: str | PathLike[str],
    tokens: Iterable[str],
    *,
    special: bool = False,
    **options: Any,
) -> Extended:
    """Write a vocabulary with more tokens, in its own format, with ids behind the last one.

    They are added as the format does it: entries of ``added_tokens`` in a ``tokenizer.json``, user-defined pieces of a
    ``.model`` (control pieces if special), lines of a ``vocab.txt``, special tokens of a ``.tiktoken`` file (which does
    not hold them: they are in the options of the result).

    Parameters
    ----------
    source, target, **options
        As of :func:`prune`.
    tokens : iterable of str
    special : bool, default False
        The tokens are special ones: left out when decoding with ``skip_special_tokens``, and of a ``.model`` never
        given to a text.

    Returns
    -------
    Extended

    Raises
    ------
    SourceFormatError
        A token is empty or there already, or none is given.
    UnsupportedFeatureError
        The format has no place for such tokens.
    NumbaNlpError, OSError
        The source cannot be read.
    """
    listed = list(dict.fromkeys(tokens))
    if not listed:
        raise SourceFormatError("no tokens to add are given")
    for token in listed:
        if not token:
            raise SourceFormatError("a token to add is empty, which would match everywhere")
    opened = open_vocabulary(source, options)
    check_target(Path(target), opened)
    edited, ids = opened.editable.extend([NewToken(token, special) for token in listed])
    made = compiled(opened, edited)
    notes = _check_tokens(opened, made, ids)
    paths = write(Path(target), edited, made)
    return Extended(paths, {} if paths[0].suffix == ".safetensors" else edited.options, ids, notes)


def _check_tokens(opened: OpenedVocabulary, made: Vocabulary, ids: Mapping[str, int]) -> tuple[str, ...]:
    """The tokens must have the ids that are stated; those that no text gives are named."""
    after = Tokenizer(made)
    # what the format does with special tokens in text, but for those that refuse them
    policy: Any = "match" if made.metadata["special_policy"] == "raise" else None
    notes = []
    for token, number in ids.items():
        try:
            found = after.id_to_token(number)
        except UnknownTokenError:
            found = ""
        if found not in (token, token.replace(" ", "\u2581")):
            raise SourceFormatError(
                f"{opened.where}: {token!r} should have the id {number}, which is {found!r}; nothing was written"
            )
        if number not in after.encode(token, special=policy):
            notes.append(f"the text {token!r} alone does not give its token (id {number})")
    return tuple(notes)
