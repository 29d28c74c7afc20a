"""Plain twin of ``numba_nlp/kernels/segment/character_bpe.py``: symbols by name, merged in lists."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

UNKNOWN = -1


class Plan(NamedTuple):
    """A vocabulary as dictionaries."""

    characters: Mapping[str, Sequence[Hashable | None]]  # first, inner, only, last; None where unknown
    merges: Mapping[tuple[Hashable, Hashable], tuple[int, Hashable]]  # rank and product
    inner: Mapping[Hashable, int | Sequence[tuple[int, int]]]
    final: Mapping[Hashable, int | Sequence[tuple[int, int]]]
    end: Hashable | None
    unknown: int
    fuse: bool = False
    in_passes: bool = False


class Token(NamedTuple):
    """An id and the characters of the word that it stands for."""

    id: int
    start: int
    end: int


def segment(plan: Plan, word: str) -> list[Token]:
    """Tokens of a word."""
    last = len(word) - 1
    names: list[Hashable | None] = []
    for place, character in enumerate(word):
        form = 2 * (place == last) + (place > 0)
        names.append(plan.characters.get(character, (None,) * 4)[form])
    if plan.end is not None and len(word) > 1:
        names.append(plan.end)
    left = _merged(plan, names)
    if plan.end is not None and len(left) > 1 and left[-1][0] == plan.end:
        left.pop()
    tokens: list[Token] = []
    start = 0
    was_unknown = False
    for number, (name, n_symbols) in enumerate(left):
        is_last = number == len(left) - 1
        found = (plan.final if is_last else plan.inner).get(name, UNKNOWN) if name is not None else UNKNOWN
        size = len(word) - start if is_last else n_symbols
        if not isinstance(found, int):
            for one, characters in found:
                tokens.append(Token(one if one >= 0 else plan.unknown, start, start + characters))
                start += characters
            was_unknown = False
            continue
        if found == UNKNOWN and was_unknown and plan.fuse:
            tokens[-1] = tokens[-1]._replace(end=start + size)
        else:
            tokens.append(Token(plan.unknown if found == UNKNOWN else found, start, start + size))
        was_unknown = found == UNKNOWN
        start += size
    return tokens


def _merged(plan: Plan, names: Sequence[Hashable | None]) -> list[tuple[Hashable | None, int]]:
    """Symbols that are left, each with the number of those that it was made of."""
    row: list[tuple[Hashable | None, int]] = [(name, 1) for name in names]
    while True:
        pairs = [(left[0], right[0]) for left, right in pairwise(row)]
        candidates = [(plan.merges[pair][0], place) for place, pair in enumerate(pairs) if pair in plan.merges]
        if not candidates:
            return row
        _, first = min(candidates)
        best = pairs[first]
        merged: list[tuple[Hashable | None, int]] = []
        place = 0
        while place < len(row):
            may_merge = place == first or (plan.in_passes and place > first)
            if may_merge and place < len(pairs) and pairs[place] == best:
                merged.append((plan.merges[best][1], row[place][1] + row[place + 1][1]))
                place += 2
            else:
                merged.append(row[place])
                place += 1
        row = merged
