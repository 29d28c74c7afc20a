"""A vocabulary whose pieces can go and come: what the formats have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_PARTS", "Editable", "Edited", "NewToken", "is_character", "last_merge", "parts_of_merges", "renumbering"]

#: Parts of a piece that no merge makes.
NO_PARTS = -1


class NewToken(NamedTuple):
    """A token to add.

    Attributes
    ----------
    content : str
    special : bool
        A special (control) token, else one that text is searched for and that decodes as it is written.
    """

    content: str
    special: bool


@dataclass(frozen=True)
class Edited:
    """Files of a changed vocabulary.

    Attributes
    ----------
    files : dict of str to bytes
        By name; the name of a single file is empty.
    options : dict
        What their reader must be given.
    """

    files: dict[str, bytes] = field(repr=False)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Editable:
    """A vocabulary that was read for changing.

    Attributes
    ----------
    present : bool[V]
        Ids that something has.
    droppable : bool[V]
        Pieces that may go: neither special, added, unknown, byte nor single-character pieces.
    parts : int32[V, 2]
        The two pieces that each piece is merged of when its text is merged alone; ``NO_PARTS`` where nothing merges.
    order : float64[V]
        Among pieces that are used as often, those with the smallest number go first.
    cut : callable
        From the ids that stay (int64, ascending) to the files in which they are numbered from 0.
    extend : callable
        From new tokens to the files, and the tokens' ids.
    """

    present: NDArray[np.bool_]
    droppable: NDArray[np.bool_]
    parts: NDArray[np.int32]
    order: NDArray[np.float64]
    cut: Callable[[NDArray[np.int64]], Edited]
    extend: Callable[[Sequence[NewToken]], tuple[Edited, dict[str, int]]]


def renumbering(kept: NDArray[np.int64], n_ids: int) -> NDArray[np.int32]:
    """New id of every old one: int32[n_ids], -1 for those that go."""
    new: NDArray[np.int32] = np.full(n_ids, -1, np.int32)
    new[kept] = np.arange(kept.size, dtype=np.int32)
    return new


def is_character(piece: str, prefix: str = "", suffix: str = "") -> bool:
    """Whether a piece is one character, marks aside."""
    if prefix and len(piece) > len(prefix):
        piece = piece.removeprefix(prefix)
    if suffix and len(piece) > len(suffix):
        piece = piece.removesuffix(suffix)
    return len(piece) == 1


def last_merge(
    symbols: Sequence[str],
    rank: Callable[[str, str], float | None],
    join: Callable[[str, str], str] = str.__add__,
) -> tuple[str, str] | None:
    """The two parts that a row of symbols is merged of in the end, the lowest rank first and then the leftmost.

    Parameters
    ----------
    symbols : sequence of str
        Two at least.
    rank : callable
        Rank of the merge of two symbols; None where they do not merge.
    join : callable
        What two symbols become.

    Returns
    -------
    tuple of (str, str) or None
        None where merging ends before.
    """
    parts = list(symbols)
    while True:
        best, place = None, -1
        for i in range(len(parts) - 1):
            found = rank(parts[i], parts[i + 1])
            if found is not None and (best is None or found < best):
                best, place = found, i
        if best is None:
            return None
        if len(parts) == 2:
            return parts[0], parts[1]
        parts[place : place + 2] = [join(parts[place], parts[place + 1])]


def parts_of_merges(
    vocab: Mapping[str, int], merges: Sequence[tuple[str, str]], n_ids: int, prefix: str = "", suffix: str = ""
) -> NDArray[np.int32]:
    """:attr:`Editable.parts` by a list of merges.

    Parameters
    ----------
    vocab : Mapping of str to int
    merges : sequence of (str, str)
        In order of rank.
    n_ids : int
    prefix, suffix : str
        Marks of pieces within a word, and of those that end one.

    Returns
    -------
    int32[n_ids, 2]
    """

    def join(left: str, right: str) -> str:
        return left + (right.removeprefix(prefix) if prefix else right)

    made: dict[str, list[tuple[str, str]]] = {}
    for left, right in merges:
        made.setdefault(join(left, right), []).append((left, right))
    ranks = {pair: float(rank) for rank, pair in reversed(list(enumerate(merges)))}
    parts: NDArray[np.int32] = np.full((n_ids, 2), NO_PARTS, np.int32)
    for piece, pairs in made.items():
        # one way only needs no search
        found = pairs[0] if len(pairs) == 1 else last_merge(_symbols(piece, prefix, suffix), _of(ranks), join)
        if found is not None and piece in vocab and found[0] in vocab and found[1] in vocab:
            parts[vocab[piece]] = vocab[found[0]], vocab[found[1]]
    return parts


def _of(ranks: Mapping[tuple[str, str], float]) -> Callable[[str, str], float | None]:
    return lambda left, right: ranks.get((left, right))


def _symbols(piece: str, prefix: str, suffix: str) -> list[str]:
    inner = bool(prefix) and piece.startswith(prefix) and len(piece) > len(prefix)
    ends = bool(suffix) and piece.endswith(suffix) and len(piece) > len(suffix)
    text = piece.removeprefix(prefix) if inner else piece
    text = text.removesuffix(suffix) if ends else text
    symbols = [character if i == 0 and not inner else prefix + character for i, character in enumerate(text)]
    if ends:
        symbols[-1] += suffix
    return symbols
