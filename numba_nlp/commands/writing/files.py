"""One file of rows, in the format that its name tells; it appears whole or not at all."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import typer

from numba_nlp._atomic import atomic_writer
from numba_nlp._extras import extra
from numba_nlp.commands.writing.npz import write_npz
from numba_nlp.commands.writing.results import Encoded, Result
from numba_nlp.packing import Remainder, pack
from numba_nlp.vocabulary import Vocabulary

__all__ = ["ENDINGS", "Packing", "Target", "find_target", "write_rows"]

#: Formats and the endings that tell them; the first is given to shards.
ENDINGS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npz": (".npz",),
    "packed": (".bin",),
    "jsonl": (".jsonl", ".ndjson"),
    "text": (".txt", ".text"),
}
#: Formats that the standard output can be.
_STREAMED = ("text", "jsonl", "arrow")


class Packing(NamedTuple):
    """How ids are packed; see :func:`numba_nlp.packing.pack`."""

    block_size: int
    separator_id: int
    remainder: Remainder
    vocabulary: Vocabulary


class Target(NamedTuple):
    """Where rows go.

    Attributes
    ----------
    path : Path
    kind : str
        The format.
    is_folder : bool
        Each source gets files of its own there.
    """

    path: Path
    kind: str
    is_folder: bool

    @property
    def is_stdout(self) -> bool:
        """Whether it is the standard output."""
        return not self.is_folder and str(self.path) == "-"


def find_target(given: str, kind: str | None, formats: Sequence[str], *, on_stdout: str = "text") -> Target:
    """What an output is: a file by the ending of its name, else a folder.

    Parameters
    ----------
    given : str
        ``-`` is the standard output. Folders are: one that is there, a name that ends in ``/``, and a name without an
        ending of which there is nothing yet.
    kind : str, optional
        The format; needed where the name does not tell it. In folders the first one that the command has.
    formats : sequence of str
        What the command writes.
    on_stdout : str
        The format of the standard output unless ``kind`` says it.

    Raises
    ------
    typer.BadParameter
        The name tells no format, or one that the command does not write.
    """
    if kind is not None and kind not in formats:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(formats)}", param_hint="--to")
    if given == "-":
        streamed = [one for one in _STREAMED if one in formats]
        if kind is not None and kind not in streamed:
            raise typer.BadParameter(
                f"{kind} is not written to stdout; name a file, or take {', '.join(streamed)}", param_hint="--to"
            )
        return Target(Path(given), kind or on_stdout, False)
    path = Path(given)
    if path.is_dir() or given.endswith(("/", "\\")) or not (path.suffix or path.exists()):
        return Target(path, kind or formats[0], True)
    if kind is None:
        kind = next((name for name, endings in ENDINGS.items() if path.suffix.lower() in endings), None)
        if kind is None or kind not in formats:
            wanted = ", ".join(f"*{ENDINGS[name][0]}" for name in formats)
            raise typer.BadParameter(
                f"{given}: its name tells no format that this command writes; name it {wanted}, or a folder "
                "with / at its end, or pass --to",
                param_hint="--output",
            )
    return Target(path, kind, False)


def write_rows(
    path: Path, kind: str, results: Iterable[Result], metadata: Mapping[str, str], packing: Packing | None = None
) -> None:
    """Write rows as a file; ``-`` is the standard output.

    Parameters
    ----------
    path : Path
    kind : str
        Of :data:`ENDINGS`.
    results : iterable of Result
        At least one, so that a file without rows has its columns.
    metadata : mapping of str to str
        Says in the file what made it, where the format has a place for it.
    packing : Packing, optional
        For the format "packed".

    Raises
    ------
    OSError
        It cannot be written; what was there stays.
    """
    try:
        _write(path, kind, results, metadata, packing)
    except OSError as error:
        # a full disk does not say what could not be written
        if error.errno is not None and error.filename is None and str(path) != "-":
            error.filename = str(path)
        raise


def _write(
    path: Path, kind: str, results: Iterable[Result], metadata: Mapping[str, str], packing: Packing | None
) -> None:
    if kind == "packed":
        assert packing is not None
        batches = (result.rows for result in results if isinstance(result, Encoded))
        pack(
            batches,
            path,
            block_size=packing.block_size,
            separator_id=packing.separator_id,
            vocabulary=packing.vocabulary,
            remainder=packing.remainder,
        )
    elif kind == "npz":
        write_npz(path, results, metadata)
    else:
        is_stdout = str(path) == "-"
        with _stdout() if is_stdout else atomic_writer(path) as stream:
            if kind == "parquet":
                _write_parquet(stream, results, metadata)
            elif kind == "arrow":
                _write_arrow(stream, results, metadata, is_stream=is_stdout)
            else:
                for result in results:
                    lines = result.lines() if kind == "text" else map(_json, result.objects())
                    stream.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
                    if is_stdout:
                        stream.flush()


@contextlib.contextmanager
def _stdout() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _json(row: Any) -> str:
    return json.dumps(row, ensure_ascii=False)


def _write_parquet(stream: BinaryIO, results: Iterable[Result], metadata: Mapping[str, str]) -> None:
    extra("pyarrow")
    from pyarrow import parquet

    with contextlib.ExitStack() as stack:
        writer: Any = None
        for result in results:
            batch = result.arrow()
            if writer is None:
                schema = batch.schema.with_metadata(dict(metadata))
                writer = stack.enter_context(parquet.ParquetWriter(stream, schema, compression="zstd"))
            if len(result):
                writer.write_batch(batch.replace_schema_metadata(dict(metadata)), row_group_size=len(result))


def _write_arrow(stream: BinaryIO, results: Iterable[Result], metadata: Mapping[str, str], *, is_stream: bool) -> None:
    pa = extra("pyarrow")
    new = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with contextlib.ExitStack() as stack:
        writer: Any = None
        for result in results:
            batch = result.arrow().replace_schema_metadata(dict(metadata))
            if writer is None:
                writer = stack.enter_context(new(stream, batch.schema))
            if len(result):
                writer.write_batch(batch)
