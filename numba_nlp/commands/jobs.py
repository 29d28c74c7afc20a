"""Runs over many files: into one file, or into a folder where each source has files of its own.

A run into a folder goes on where an earlier one ended: shards that are finished stay (:mod:`.manifest`), and a source
that cannot be read does not stop the others.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import typer

from numba_nlp._atomic import remove_unfinished
from numba_nlp._command_line import one_line
from numba_nlp.commands.files import Target
from numba_nlp.commands.manifest import Manifest, Record, key_of
from numba_nlp.commands.progress import Bar, progress_bar
from numba_nlp.corpora.reading.ahead import read_ahead
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.tally import Tally
from numba_nlp.corpora.writing.files import ENDINGS, Packing, write_rows
from numba_nlp.corpora.writing.results import Result
from numba_nlp.errors import NumbaNlpError
from numba_nlp.packing import is_packed_description

__all__ = ["Job", "Outcome", "Rows", "run_job"]


class Rows(Protocol):
    """Some rows of a file."""

    @property
    def first(self) -> int:
        """Number of the first row in the file."""

    @property
    def position(self) -> int:
        """Bytes of the file that were read behind the last row."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def part(self, start: int, stop: int) -> Rows:
        """Some of the rows."""


class Job(NamedTuple):
    """What to do with the rows of some files.

    Attributes
    ----------
    sources : sequence of Source
    target : Target
    read : callable
        The batches of a source; they are :class:`Rows`.
    work : callable
        The result of a batch, what is seen in it counted in the tally.
    empty : callable
        The result of no rows of a source.
    settings : mapping
        What decides the result: vocabulary, options, version; what JSON can hold.
    metadata : mapping of str to str
        What files say of themselves.
    shard_rows : int or None
        Most rows of a file in a folder; None: each source has one file.
    overwrite : bool
        Make shards anew that are finished.
    packing : Packing or None
    progress : bool or None
    inputs : sequence of str
        Other files that are read: the vocabulary.
    """

    sources: Sequence[Source]
    target: Target
    read: Callable[[Source], Iterator[Any]]
    work: Callable[[Source, Any, Tally], Result]
    empty: Callable[[Source], Result]
    settings: Mapping[str, Any]
    metadata: Mapping[str, str]
    shard_rows: int | None = None
    overwrite: bool = False
    packing: Packing | None = None
    progress: bool | None = None
    inputs: Sequence[str] = ()


class Outcome(NamedTuple):
    """What came of a run.

    Attributes
    ----------
    seen : Tally
        In all rows, those of shards that were finished before among them.
    n_files, n_skipped : int
        Files that were written, and that were finished before.
    errors : list of str
        Of sources that could not be read.
    """

    seen: Tally
    n_files: int
    n_skipped: int
    errors: list[str]


def run_job(job: Job) -> Outcome:
    """Read, work, write.

    Raises
    ------
    NumbaNlpError, OSError
        What is wrong with a source, unless the target is a folder; or the output cannot be written.
    typer.BadParameter
        A file would be written over a source, or two sources to one file.
    """
    if job.target.is_folder:
        return _Folder(job).run()
    if job.shard_rows is not None:
        raise typer.BadParameter("shards go into a folder; name one, with / at its end", param_hint="--shard-rows")
    path = job.target.path
    if not job.target.is_stdout:
        _refuse_inputs(path, job)
        beside = _beside(path)
        if job.packing is not None and not job.overwrite and beside.exists() and not is_packed_description(beside):
            raise typer.BadParameter(
                f"{beside} is there and describes no packed blocks, and would be written over; name another file, or "
                "pass --overwrite",
                param_hint="--output",
            )
        names = {Path(os.path.realpath(written)).name for written in (path, beside)}
        remove_unfinished(Path(os.path.realpath(path)).parent, names.__contains__)
    seen = Tally()
    with progress_bar(job.sources, job.progress) as bar:
        blocks = write_rows(path, job.target.kind, _results(job, seen, bar), job.metadata, job.packing)
    seen.add_blocks(blocks)
    return Outcome(seen, 1, 0, [])


def _results(job: Job, seen: Tally, bar: Bar) -> Iterator[Result]:
    is_first = True
    for source in job.sources:
        with closing(_read(job, source)) as batches:
            for batch in batches:
                yield job.work(source, batch, seen)
                is_first = False
                bar.move(batch.position)
        bar.next_file(source)
    if is_first:
        yield job.empty(job.sources[0])


def _read(job: Job, source: Source) -> Generator[Rows, None, None]:
    """The batches of a source; of a file ahead of the work, while a stream may have no more for long."""
    yield from read_ahead(job.read(source)) if source.is_file else job.read(source)


def _beside(path: Path) -> Path:
    """The second file of packed blocks."""
    return path.with_name(f"{path.name}.json")


def _refuse_inputs(path: Path, job: Job) -> None:
    """Refuse to write over what is read."""
    there = {os.path.realpath(source.path) for source in job.sources if source.is_file}
    there |= {os.path.realpath(name) for name in job.inputs}
    for written in (path, _beside(path)) if job.packing is not None else (path,):
        if os.path.realpath(written) in there:
            raise typer.BadParameter(f"{written} is one of the files to read", param_hint="--output")


class _Folder:
    """A run into a folder."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.ending = ENDINGS[job.target.kind][0]
        self.seen = Tally()
        self.n_files = self.n_skipped = 0
        self.errors: list[str] = []
        #: Sources that no earlier run read into the folder: files of their names are somebody else's.
        self._new: set[str] = set()

    def run(self) -> Outcome:
        job, folder = self.job, self.job.target.path
        self._check_names()
        folder.mkdir(parents=True, exist_ok=True)
        manifest = Manifest(folder, job.settings)
        for source in job.sources:
            self._check_command(manifest, source)
            self._claim(manifest, source, self._name(source, 0), is_new=not manifest.knows(source))
        self._new = {key_of(source) for source in job.sources if not manifest.knows(source)}
        mine = (self.ending, f"{self.ending}.json", manifest.path.name)
        remove_unfinished(folder, lambda name: name.endswith(mine))
        records = manifest.begin(job.sources, anew=job.overwrite)
        try:
            with progress_bar(job.sources, job.progress) as bar:
                for source in job.sources:
                    self._run_source(manifest, records[key_of(source)], source, bar)
                    bar.next_file(source)
        finally:
            manifest.write()
        return Outcome(self.seen, self.n_files, self.n_skipped, self.errors)

    def _run_source(self, manifest: Manifest, record: Record, source: Source, bar: Bar) -> None:
        if record.is_complete:
            self.seen += record.seen()
            self.n_skipped += len(record.shards)
            return
        try:
            self._write_shards(manifest, record, source, bar)
        except NumbaNlpError as error:
            self.errors.append(one_line(error))
            return
        manifest.complete(record)

    def _write_shards(self, manifest: Manifest, record: Record, source: Source, bar: Bar) -> None:
        job = self.job
        n_shards = 0
        with closing(self._cut(source)) as cut:
            for number, batches in itertools.groupby(cut, self._shard_of):
                name = self._name(source, number)
                n_shards += 1
                if name in record.shards:
                    self.seen += Tally.from_json(record.shards[name]["seen"])
                    self.n_skipped += 1
                    for batch in batches:
                        bar.move(batch.position)
                    continue
                if number:
                    self._claim(manifest, source, name, is_new=key_of(source) in self._new)
                self._write(manifest, record, name, (self._work(source, batch, bar) for batch in batches))
        if not n_shards:
            self._write(manifest, record, self._name(source, 0), iter([(job.empty(source), Tally())]))

    def _work(self, source: Source, batch: Rows, bar: Bar) -> tuple[Result, Tally]:
        seen = Tally()
        result = self.job.work(source, batch, seen)
        bar.move(batch.position)
        return result, seen

    def _write(self, manifest: Manifest, record: Record, name: str, made: Iterator[tuple[Result, Tally]]) -> None:
        job, seen = self.job, Tally()

        def results() -> Iterator[Result]:
            nonlocal seen
            for result, part in made:
                seen += part
                yield result

        seen.add_blocks(write_rows(manifest.folder / name, job.target.kind, results(), job.metadata, job.packing))
        manifest.finished(record, name, seen)
        self.seen += seen
        self.n_files += 1

    def _shard_of(self, batch: Rows) -> int:
        return 0 if self.job.shard_rows is None else batch.first // self.job.shard_rows

    def _cut(self, source: Source) -> Generator[Rows, None, None]:
        """Batches that do not reach from one shard into the next."""
        size = self.job.shard_rows
        with closing(_read(self.job, source)) as batches:
            for batch in batches:
                if size is None:
                    yield batch
                    continue
                start = 0
                while start < batch.n_rows:
                    stop = min(batch.n_rows, start + size - (batch.first + start) % size)
                    yield batch.part(start, stop)
                    start = stop

    def _name(self, source: Source, number: int) -> str:
        part = "" if self.job.shard_rows is None else f"-{number:05}"
        return f"{source.stem}{part}{self.ending}"

    def _check_names(self) -> None:
        """Two sources must not be written to one file."""
        taken: dict[str, Source] = {}
        for source in self.job.sources:
            name = self._name(source, 0)
            if name in taken:
                raise typer.BadParameter(
                    f"{taken[name].name} and {source.name} would both be written to {name}; give each folder of "
                    "sources an output of its own, or write one file",
                    param_hint="--output",
                )
            taken[name] = source
        keys: dict[str, Source] = {}
        for source in self.job.sources:
            first = keys.setdefault(key_of(source), source)
            if first is not source:
                raise typer.BadParameter(
                    f"{first.name} and {source.name} are one file, whose rows would be there twice; name one of them",
                    param_hint="FILE...",
                )

    def _check_command(self, manifest: Manifest, source: Source) -> None:
        """What another command made is not taken for the same with other options."""
        made_by = manifest.other_command(source, self.job.settings.get("command"))
        if made_by is not None and not self.job.overwrite:
            raise typer.BadParameter(
                f"{manifest.folder} holds what {made_by!r} made of {source.name}; name another folder, or pass "
                "--overwrite",
                param_hint="--output",
            )

    def _claim(self, manifest: Manifest, source: Source, name: str, *, is_new: bool) -> None:
        """Refuse to write over what is read, over a shard of another source, or over what no run made."""
        path = manifest.folder / name
        _refuse_inputs(path, self.job)
        owner = manifest.owners().get(name)
        if owner is not None and owner != key_of(source):
            is_ours = any(key_of(other) == owner for other in self.job.sources)
            if is_ours or not self.job.overwrite:
                way = "" if is_ours else ", or pass --overwrite"
                raise typer.BadParameter(
                    f"{path} holds the rows of {owner}, and rows of {source.name} would be written over them; name "
                    f"another folder{way}",
                    param_hint="--output",
                )
            manifest.forget(owner)
        elif owner is None and is_new and path.exists() and not self.job.overwrite:
            raise typer.BadParameter(
                f"{path} is there, and no record says that a run made it; name another folder, or pass --overwrite",
                param_hint="--output",
            )
