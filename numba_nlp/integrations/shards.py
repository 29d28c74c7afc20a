"""A corpus of files to Parquet files of ids: a shard at a time, each whole or not at all, each done once.

Nothing here needs an engine: :func:`encode_corpus` works in one process; :mod:`numba_nlp.integrations.dask` gives the
same shards to the workers of a cluster.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba_nlp._arguments import flag
from numba_nlp._arguments import path as checked_path
from numba_nlp._extras import extra
from numba_nlp._version import __version__
from numba_nlp.corpora.encoding import encode_rows
from numba_nlp.corpora.tally import Tally
from numba_nlp.corpora.writing.files import write_rows
from numba_nlp.corpora.writing.results import Encoded, Origin
from numba_nlp.errors import NumbaNlpError
from numba_nlp.integrations.corpus_plan import OUTPUTS, CorpusSettings, Shard, plan_shards
from numba_nlp.tokenizer import Tokenizer

__all__ = [
    "Corpus",
    "CorpusError",
    "CorpusSettings",
    "Shard",
    "ShardFailure",
    "ShardResult",
    "check_folder",
    "encode_corpus",
    "encode_shard",
    "finish_corpus",
    "plan_shards",
    "try_shard",
]

_IDENTITY, _RESULT = "numba_nlp.shard", "numba_nlp.result"


class CorpusError(NumbaNlpError, ValueError):
    """Shards that could not be made, or a folder that holds those of another corpus."""


@dataclass(frozen=True)
class ShardResult:
    """A file of ids.

    Attributes
    ----------
    path : str
    rows, ids, text_bytes : int
        What it was made of; ids of templates count.
    special_seen : dict
        How often the text held each special token that was taken as plain text.
    was_there : bool
        The file was made by an earlier run.
    missing, unreadable : int
        Rows that were missing, and those of them that could not be read at all (``errors="replace"``).
    invalid : int
        Rows in which U+FFFD stands in place of what was no valid text (``errors="replace"``).
    """

    path: str
    rows: int
    ids: int
    text_bytes: int
    special_seen: dict[str, int]
    was_there: bool = False
    missing: int = 0
    unreadable: int = 0
    invalid: int = 0


@dataclass(frozen=True)
class ShardFailure:
    """A shard whose source cannot be encoded.

    Attributes
    ----------
    shard : Shard
    reason : str
    """

    shard: Shard
    reason: str


@dataclass(frozen=True)
class Corpus:
    """All files of ids of a corpus.

    Attributes
    ----------
    shards : tuple of ShardResult
        In the order of the sources.
    """

    shards: tuple[ShardResult, ...]

    @property
    def paths(self) -> list[str]:
        """The files of ids, in order."""
        return [shard.path for shard in self.shards]

    @property
    def rows(self) -> int:
        """Rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def ids(self) -> int:
        """Ids of all shards."""
        return sum(shard.ids for shard in self.shards)

    @property
    def text_bytes(self) -> int:
        """Bytes of text of all shards."""
        return sum(shard.text_bytes for shard in self.shards)

    @property
    def missing(self) -> int:
        """Rows that were missing, the unreadable ones among them."""
        return sum(shard.missing for shard in self.shards)

    @property
    def unreadable(self) -> int:
        """Rows that could not be read at all."""
        return sum(shard.unreadable for shard in self.shards)

    @property
    def invalid(self) -> int:
        """Rows in which U+FFFD stands in place of what was no valid text."""
        return sum(shard.invalid for shard in self.shards)

    @property
    def special_seen(self) -> dict[str, int]:
        """How often the texts held each special token that was taken as plain text."""
        seen: Counter[str] = Counter()
        for shard in self.shards:
            seen.update(shard.special_seen)
        return dict(seen.most_common())

    @property
    def n_encoded(self) -> int:
        """Shards that this run made; the others were there."""
        return sum(not shard.was_there for shard in self.shards)


def encode_corpus(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    tokenizer: Tokenizer,
    *,
    shard_bytes: int = 1 << 28,
    num_threads: int | None = None,
    progress: bool = False,
    **settings: Any,
) -> Corpus:
    """Encode files into Parquet files of ids, in this process.

    The folder gets ``part-00000-of-00012.parquet`` and so on, each with one column ``ids`` (list of int32) and a row a
    row of text, in order. A file appears whole or not at all. Run again after it was stopped, it makes what is missing.

    Parameters
    ----------
    sources : path-like, or iterable of path-like
        As of :func:`plan_shards`.
    folder : path-like
        Where the files go; made if it is not there. One corpus a folder.
    tokenizer : Tokenizer
    shard_bytes : int, default 2**28
        As of :func:`plan_shards`.
    num_threads : int, optional
        As of ``encode_batch``.
    progress : bool, default False
        Show a progress bar of the shards (tqdm) on stderr.
    **settings
        Of :class:`CorpusSettings`: ``column``, ``add_special_tokens``, ``special``, ``errors``, ``nulls``, ...

    Returns
    -------
    Corpus

    Raises
    ------
    CorpusError
        Sources hold what cannot be encoded (all other shards are made), or the folder holds another corpus.
    FileNotFoundError, TypeError, ValueError
        As of :func:`plan_shards`.
    """
    chosen = CorpusSettings(**settings)
    shards = plan_shards(sources, column=chosen.column, shard_bytes=shard_bytes)
    target = check_folder(folder, shards)
    outcomes = (try_shard(shard, str(target), tokenizer, chosen, num_threads=num_threads) for shard in shards)
    if flag("progress", progress):
        from tqdm import tqdm

        outcomes = iter(tqdm(outcomes, total=len(shards), unit="shards"))
    return finish_corpus(target, list(outcomes))


def check_folder(folder: str | os.PathLike[str], shards: Sequence[Shard]) -> Path:
    """The folder of a corpus, made if it is not there.

    Raises
    ------
    CorpusError
        It holds files of ids that are no shards of this corpus, which its readers would read too.
    OSError
    """
    target = checked_path("folder", folder).absolute()
    target.mkdir(exist_ok=True)
    wanted = {shard.output for shard in shards}
    others = sorted(path.name for path in target.glob(OUTPUTS) if path.name not in wanted)
    if others:
        raise CorpusError(
            f"{target} holds {others[0]}, which is no shard of this corpus of {len(shards)}: its sources or "
            "`shard_bytes` were others. Choose another folder, or empty this one"
        )
    return target


def encode_shard(
    shard: Shard, folder: str, tokenizer: Tokenizer, settings: CorpusSettings, *, num_threads: int | None = 1
) -> ShardResult:
    """Make the file of one shard, unless it is there.

    Parameters
    ----------
    shard : Shard
    folder : str
    tokenizer : Tokenizer
    settings : CorpusSettings
    num_threads : int, optional
        1 by default, for engines run as many shards at a time as there are processors.

    Raises
    ------
    CorpusError
        The file is there, but was made from another source, with other settings, or is no such file; or the source was
        changed since the shards were planned.
    SourceFormatError, InvalidTextError, MissingRowError, SpecialTokenError, OSError
    """
    extra("pyarrow")
    path = Path(folder) / shard.output
    identity = shard.identity(tokenizer.vocabulary.digest, settings)
    done = _result_of(path, identity)
    if done is not None:
        return done
    state = os.stat(shard.source)
    if (state.st_size, state.st_mtime_ns) != (shard.source_bytes, shard.source_modified):
        raise CorpusError(f"{shard.source} was changed while its corpus was encoded; start again in another folder")
    return _write(path, identity, shard, tokenizer, settings, num_threads)


def try_shard(
    shard: Shard, folder: str, tokenizer: Tokenizer, settings: CorpusSettings, *, num_threads: int | None = 1
) -> ShardResult | ShardFailure:
    """:func:`encode_shard`, with what is wrong with the source or the file as a result, so that other shards go on."""
    import pyarrow as pa

    try:
        return encode_shard(shard, folder, tokenizer, settings, num_threads=num_threads)
    except (NumbaNlpError, OSError, pa.ArrowException) as error:
        return ShardFailure(shard, f"{type(error).__name__}: {error}")


def finish_corpus(folder: Path, outcomes: Sequence[ShardResult | ShardFailure]) -> Corpus:
    """The corpus of all shards.

    What killed processes left of files is removed: whoever writes such a file still makes what is there already.

    Raises
    ------
    CorpusError
        A shard could not be made; names the first ones.
    """
    failed = [outcome for outcome in outcomes if isinstance(outcome, ShardFailure)]
    if failed:
        shown = "\n".join(f"- {one.shard.output} from {one.shard.source}: {one.reason}" for one in failed[:5])
        more = f"\nand {len(failed) - 5} more" if len(failed) > 5 else ""
        raise CorpusError(
            f"{len(failed)} of {len(outcomes)} shards could not be made; the others are in {folder} and will not be "
            f"made again.\n{shown}{more}"
        )
    for left in folder.glob(f".{OUTPUTS}.*.tmp"):
        left.unlink(missing_ok=True)
    return Corpus(tuple(outcome for outcome in outcomes if isinstance(outcome, ShardResult)))


def _result_of(path: Path, identity: str) -> ShardResult | None:
    """What the file of a shard says of itself; None when there is none.

    Raises
    ------
    CorpusError
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as reader:
            found = reader.metadata.metadata or {}
    except FileNotFoundError:
        return None
    except pa.ArrowInvalid as error:
        raise CorpusError(f"{path} is there, but is no whole Parquet file ({error}); remove it") from None
    metadata = {name.decode("utf-8", "replace"): text for name, text in found.items()}
    if _IDENTITY not in metadata or _RESULT not in metadata:
        raise CorpusError(f"{path} is there, but was not made by numba_nlp; remove it, or choose another folder")
    made_of, wanted = json.loads(metadata[_IDENTITY]), json.loads(identity)
    if made_of != wanted:
        name = next(key for key in wanted if made_of.get(key) != wanted[key])
        raise CorpusError(
            f"{path} is there, but its {name} was {made_of.get(name)!r:.80} and is {wanted[name]!r:.80} now; choose "
            "another folder, or remove the files of this one"
        )
    return ShardResult(str(path), **json.loads(metadata[_RESULT]), was_there=True)


def _write(
    path: Path, identity: str, shard: Shard, tokenizer: Tokenizer, settings: CorpusSettings, num_threads: int | None
) -> ShardResult:
    source, seen = shard.part, Tally()
    result: dict[str, Any] = {}
    metadata = {
        _IDENTITY: identity,
        "numba_nlp.version": __version__,
        "numba_nlp.vocabulary_digest": tokenizer.vocabulary.digest,
    }

    def results() -> Iterator[Encoded]:
        # so that a file without rows has its column
        yield Encoded(tokenizer.encode_batch([]), Origin(source.name, 0))
        for batch in settings.reader().read(source):
            ids = encode_rows(
                tokenizer, source, batch, seen, special=settings.special,
                add_special_tokens=settings.add_special_tokens, num_threads=num_threads,
            )  # fmt: skip
            yield Encoded(ids, Origin(source.name, batch.first))
        special_seen = dict(seen.specials) if settings.special == "plain" else {}
        result.update(rows=seen.rows, ids=seen.tokens, text_bytes=seen.text_bytes, special_seen=special_seen)
        result.update(missing=seen.missing, unreadable=seen.unreadable, invalid=seen.invalid)
        metadata[_RESULT] = json.dumps(result)

    write_rows(path, "parquet", results(), metadata)
    return ShardResult(str(path), **result)
