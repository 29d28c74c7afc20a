"""Columns that go from the files that are read to those that are written, as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from numba_nlp.corpora.reading.sources import Source
from numba_nlp.errors import SourceFormatError

__all__ = ["NOTHING", "Keep", "repaired"]

_SURROGATE = re.compile("[\ud800-\udfff]+")


class Keep(NamedTuple):
    """Which columns are kept; none unless they are named.

    Attributes
    ----------
    names : tuple of str
        Columns, or entries of JSON objects, of the first level.
    is_all : bool
        All others too.
    texts : tuple of str
        Columns that are not among "all": texts are worked on, and stand in most results.
    taken : tuple of str
        Names that the results have.
    """

    names: tuple[str, ...] = ()
    is_all: bool = False
    texts: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.is_all or bool(self.names)

    def settings(self) -> dict[str, Any]:
        """What decides the content of shards."""
        return {"keep": [*self.names], "keep_all": self.is_all} if self else {}

    def among(self, source: Source, columns: Sequence[str]) -> list[str]:
        """The kept ones of the columns of a file, in their order there.

        Raises
        ------
        SourceFormatError
            A name is not there, or twice, or one that the results have.
        """
        for name in self.names:
            if name not in columns:
                listed = ", ".join(map(repr, columns))
                raise SourceFormatError(f"{source.name}: has no column {name!r}; it has {listed}; pass another --keep")
        kept = [name for name in columns if name in self.names or (self.is_all and name not in self.texts)]
        self.refuse_taken(source.name, kept)
        for name in kept:
            if (n_named := kept.count(name)) > 1:
                raise SourceFormatError(f"{source.name}: {n_named} columns are called {name!r}; rename them")
        return kept

    def entries(self, where: str, found: Mapping[str, Any]) -> dict[str, Any]:
        """The kept ones of the entries of a JSON object; of entries that are named all, whether they are there or not.

        Raises
        ------
        SourceFormatError
            An entry has a name that the results have.
        """
        if not self.is_all:
            return {name: found.get(name) for name in self.names}
        kept = {name: value for name, value in found.items() if name in self.names or name not in self.texts}
        self.refuse_taken(where, kept)
        return {**dict.fromkeys(self.names), **kept}

    def refuse_taken(self, where: str, kept: Iterable[str]) -> None:
        """Refuse names that the results have."""
        for name in self.taken:
            if name in kept:
                raise SourceFormatError(
                    f"{where}: the column {name!r} is not kept, for the results have one of this name; rename it, or "
                    "name others by --keep"
                )


NOTHING = Keep()


def repaired(value: Any) -> tuple[Any, bool]:
    """A value of JSON with U+FFFD where its texts are none, and whether there were any."""
    if isinstance(value, str):
        # bytes as they were read: so many marks for them as for those of a row
        if value.isascii() or not _SURROGATE.search(value):
            return value, False
        try:
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), True
        except UnicodeEncodeError:
            return _SURROGATE.sub("\ufffd", value), True
    if isinstance(value, dict):
        pairs = [(repaired(name), repaired(one)) for name, one in value.items()]
        made = {name: one for (name, _), (one, _) in pairs}
        return made, any(bad_name or bad for (_, bad_name), (_, bad) in pairs)
    if isinstance(value, list):
        found = [repaired(one) for one in value]
        return [one for one, _ in found], any(bad for _, bad in found)
    return value, False
