"""What a corpus is cut into: shards, each a part of one source and one file of ids, the same in every process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from numba_nlp._arguments import choice, flag, shown, string, strings, whole
from numba_nlp._arguments import path as checked_path
from numba_nlp._text_sources import Errors, Nulls
from numba_nlp.corpora.reading.arrow_files import row_group_sizes
from numba_nlp.corpora.reading.sources import PACKINGS, TEXT_FORMATS, Source, source_of
from numba_nlp.corpora.reading.texts import PIECE_BYTES, TextReader
from numba_nlp.tokenizer import Special

__all__ = ["OUTPUTS", "CorpusSettings", "Shard", "plan_shards"]

#: Pattern of the files of a finished corpus.
OUTPUTS = "part-*-of-*.parquet"

_ENDINGS = tuple(ending for endings in TEXT_FORMATS.values() for ending in endings)


@dataclass(frozen=True)
class CorpusSettings:
    """How the texts of a corpus become ids; arguments of :meth:`numba_nlp.tokenizer.Tokenizer.encode_batch`.

    Parameters
    ----------
    column : str, optional
        Where texts stand in files that have columns, with dots into nested ones; text files have none.
    add_special_tokens, special, errors, nulls
        As of ``encode_batch``, but special tokens that stand in the text are plain text unless asked for otherwise, and
        missing rows stay missing. With ``errors="replace"`` lines that cannot be read are missing rows.
    batch_rows, batch_bytes : int
        Most rows, and about how many bytes, that are in memory at a time.
    """

    column: str | None = None
    add_special_tokens: bool = False
    special: Special = "plain"
    errors: Errors = "strict"
    nulls: Nulls = "null"
    batch_rows: int = 1 << 18
    batch_bytes: int = PIECE_BYTES

    def __post_init__(self) -> None:
        if self.column is not None:
            string("column", self.column)
        flag("add_special_tokens", self.add_special_tokens)
        choice("errors", self.errors, ("strict", "replace"))
        choice("nulls", self.nulls, ("error", "empty", "null"))
        if self.special is None:
            raise ValueError("`special` must be 'plain', 'match', 'raise' or a collection of special tokens, got None")
        if not isinstance(self.special, str):
            # in an order that is the same in every process
            object.__setattr__(self, "special", tuple(sorted(strings("special", self.special))))
        whole("batch_rows", self.batch_rows, 1)
        whole("batch_bytes", self.batch_bytes, 1)

    def reader(self) -> TextReader:
        """What reads texts so."""
        return TextReader(self.column, self.errors, self.nulls, self.batch_rows, self.batch_bytes)

    def content(self) -> dict[str, Any]:
        """What the ids depend on."""
        special = self.special if isinstance(self.special, str) else list(self.special or ())
        return {
            "column": self.column,
            "add_special_tokens": self.add_special_tokens,
            "special": special,
            "errors": self.errors,
            "nulls": self.nulls,
        }


@dataclass(frozen=True)
class Shard:
    """A part of one source file, and the file that its ids go into.

    Attributes
    ----------
    source : str
        Path of the source.
    kind : str
        Its format, such as "text", "jsonl" or "parquet".
    packing : str or None
        How the source is compressed.
    first, last : int
        Bytes in which its lines start, or row groups of Parquet; half-open. All bytes of a source that is not cut.
    number, of : int
        Place in the corpus, counted from 0, and how many there are.
    source_bytes, source_modified : int
        Size and time of change (ns) of the source.
    """

    source: str
    kind: str
    packing: str | None
    first: int
    last: int
    source_bytes: int
    source_modified: int
    number: int = 0
    of: int = 1

    @property
    def output(self) -> str:
        """Name of the file of ids; in the order of these names the corpus is in its own order."""
        return f"part-{self.number:05d}-of-{self.of:05d}.parquet"

    @property
    def part(self) -> Source:
        """What is read."""
        bounds = (self.first, self.last) if _is_cut(self.kind, self.packing) else None
        return Source(self.source, self.kind, self.packing, bounds)

    def identity(self, digest: str, settings: CorpusSettings) -> str:
        """JSON that names the content of the shard's file: the same text and the same ids.

        Parameters
        ----------
        digest : str
            Of the vocabulary.
        settings : CorpusSettings
        """
        content = {
            "vocabulary": digest,
            "source": Path(self.source).name,
            "source_bytes": self.source_bytes,
            "source_modified": self.source_modified,
            "first": self.first,
            "last": self.last,
            "number": self.number,
            "of": self.of,
            **settings.content(),
        }
        return json.dumps(content, sort_keys=True)


def plan_shards(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    column: str | None = None,
    shard_bytes: int = 1 << 28,
) -> tuple[Shard, ...]:
    """Cut files into shards of about equal size.

    Parameters
    ----------
    sources : path-like, or iterable of path-like
        Text files (``.txt``: a row a line), JSON lines (``.jsonl``), CSV and TSV, all of them perhaps compressed
        (``.gz``, ``.bz2``, ``.lz4``, ``.zst``), Parquet (``.parquet``) and Arrow files (``.arrow``).
    column : str, optional
        Column or field of the text; needed by all but text files.
    shard_bytes : int, default 2**28
        About so many bytes of a source make a shard (of Parquet: of its row groups without compression). A compressed
        file, CSV, TSV and an Arrow file are one shard, a row group is not cut.

    Returns
    -------
    tuple of Shard
        In the order of the sources.

    Raises
    ------
    FileNotFoundError
    ValueError
        A file has another ending, stands there twice, or lacks the column.
    """
    least = whole("shard_bytes", shard_bytes, 1)
    given: Any = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    if not isinstance(given, Iterable):
        raise TypeError(f"`sources` must be a path or paths, got {shown(sources)}")
    paths = [checked_path("sources", one).absolute() for one in given]
    if not paths:
        raise ValueError("`sources` is empty; name the files of the corpus")
    real = [os.path.realpath(one) for one in paths]
    if len(set(real)) < len(paths):
        twice = next(paths[i] for i, one in enumerate(real) if one in real[:i])
        raise ValueError(f"`sources` names {twice} twice, perhaps by a link; its texts would be there twice")
    parts: list[Shard] = []
    for path in paths:
        parts += _shards_of(path, column, least)
    return tuple(
        Shard(
            part.source, part.kind, part.packing, part.first, part.last, part.source_bytes, part.source_modified,
            number, len(parts),
        )
        for number, part in enumerate(parts)
    )  # fmt: skip


def _is_cut(kind: str, packing: str | None) -> bool:
    return packing is None and kind in ("text", "jsonl", "parquet")


def _shards_of(path: Path, column: str | None, shard_bytes: int) -> Sequence[Shard]:
    """The shards of one source, not yet numbered."""
    source = source_of(str(path))
    name = PurePath(path.stem) if source.packing else path
    if name.suffix.lower() not in _ENDINGS:
        raise ValueError(
            f"{path}: what the file holds is told by its ending, which must be one of {', '.join(_ENDINGS)}, perhaps "
            f"with one of {', '.join(PACKINGS)} behind it"
        )
    if source.kind != "text" and column is None:
        raise ValueError(f"{path}: say which `column` of the file holds the text")
    state = path.stat()
    TextReader(column, "strict", "null", 1).check([source])
    bounds = [0, state.st_size]
    if source.kind == "parquet":
        bounds = _row_group_bounds(source, shard_bytes)
    elif _is_cut(source.kind, source.packing):
        n = max(-(-state.st_size // shard_bytes), 1)
        bounds = [state.st_size * i // n for i in range(n + 1)]
    return [
        Shard(str(path), source.kind, source.packing, first, last, state.st_size, state.st_mtime_ns)
        for first, last in pairwise(bounds)
    ]


def _row_group_bounds(source: Source, shard_bytes: int) -> list[int]:
    """Row groups at which a Parquet file is cut, from 0 to their number."""
    sizes = row_group_sizes(source)
    bounds, filled = [0], 0
    for number, size in enumerate(sizes):
        if filled and filled + size > shard_bytes:
            bounds.append(number)
            filled = 0
        filled += size
    # a file without rows is a shard too: each source is seen in the output
    return [*bounds, len(sizes)]
