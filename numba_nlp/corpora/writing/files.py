"""One file of rows, in the format that its name tells; it appears whole or not at all."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from numba_nlp._atomic import atomic_writer
from numba_nlp._extras import extra
from numba_nlp.corpora.writing.npz import write_npz
from numba_nlp.corpora.writing.results import Encoded, Result
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.packing import PackedBlocks, Remainder, pack
from numba_nlp.vocabulary import Vocabulary

__all__ = ["ENDINGS", "Packing", "write_rows"]

#: Formats and the endings that tell them; the first is given to shards.
ENDINGS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npz": (".npz",),
    "packed": (".bin",),
    "jsonl": (".jsonl", ".ndjson"),
    "text": (".txt", ".text"),
}


#: The bytes of ids by their places in an id, which pack better by themselves than a dictionary of ids does: GPT-2's ids
#: take 1.57 bytes instead of 1.68, in two thirds of the time (asv_benchmarks/benchmarks/bench_scale_out.py).
_IDS = "ids.list.element"


class Packing(NamedTuple):
    """How ids are packed; see :func:`numba_nlp.packing.pack`."""

    block_size: int
    separator_id: int
    remainder: Remainder
    vocabulary: Vocabulary


def write_rows(
    path: Path, kind: str, results: Iterable[Result], metadata: Mapping[str, str], packing: Packing | None = None
) -> PackedBlocks | None:
    """Write rows as a file; ``-`` is the standard output.

    Parameters
    ----------
    path : Path
    kind : str
        Of :data:`ENDINGS`.
    results : iterable of Result
        At least one, so that a file without rows has its columns.
    metadata : mapping of str to str
        Says in the file what made it, where the format has a place for it. What is put into it while results are made
        is written too, to Parquet.
    packing : Packing, optional
        For the format "packed".

    Returns
    -------
    PackedBlocks or None
        What was written, for the format "packed".

    Raises
    ------
    OSError
        It cannot be written; what was there stays.
    UnsupportedFeatureError
        The format has not what a row holds.
    """
    try:
        return _write(path, kind, results, metadata, packing)
    except OSError as error:
        # a full disk does not say what could not be written
        if error.errno is not None and error.filename is None and str(path) != "-":
            error.filename = str(path)
        raise
    except Exception as error:
        # such as objects without entries, which Parquet has not
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise UnsupportedFeatureError(
            f"{path}: cannot be written as {kind} ({error}); write JSON lines (.jsonl), or keep other columns"
        ) from error


def _write(
    path: Path, kind: str, results: Iterable[Result], metadata: Mapping[str, str], packing: Packing | None
) -> PackedBlocks | None:
    if kind == "packed":
        assert packing is not None
        batches = (result.rows for result in results if isinstance(result, Encoded))
        return pack(
            batches,
            path,
            block_size=packing.block_size,
            separator_id=packing.separator_id,
            vocabulary=packing.vocabulary,
            remainder=packing.remainder,
        )
    if kind == "npz":
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
    return None


@contextlib.contextmanager
def _stdout() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _json(row: Any) -> str:
    return json.dumps(row, ensure_ascii=False, default=_as_json)


def _as_json(value: Any) -> str:
    """Dates and times as ISO 8601 has them, decimals as they are written."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise UnsupportedFeatureError(
        f"a kept column holds {type(value).__name__}, which JSON has not; write Parquet or Arrow, or keep others"
    )


def _write_parquet(stream: BinaryIO, results: Iterable[Result], metadata: Mapping[str, str]) -> None:
    pa = extra("pyarrow")
    from pyarrow import parquet

    with contextlib.ExitStack() as stack:
        writer: Any = None
        for result in results:
            batch = result.arrow()
            if writer is None:
                first = dict(metadata)
                schema = batch.schema.with_metadata(first)
                storage: dict[str, Any] = {}
                if "ids" in schema.names and schema.field("ids").type == pa.list_(pa.int32()):
                    others = [name for name in schema.names if name != "ids"]
                    storage = {"use_dictionary": others, "column_encoding": {_IDS: "BYTE_STREAM_SPLIT"}}
                writer = stack.enter_context(parquet.ParquetWriter(stream, schema, compression="zstd", **storage))
            _check_types(schema, batch.schema)
            if len(result):
                writer.write_batch(batch.replace_schema_metadata(first), row_group_size=len(result))
        writer.add_key_value_metadata({name: text for name, text in metadata.items() if name not in first})


def _write_arrow(stream: BinaryIO, results: Iterable[Result], metadata: Mapping[str, str], *, is_stream: bool) -> None:
    pa = extra("pyarrow")
    new = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with contextlib.ExitStack() as stack:
        writer: Any = None
        for result in results:
            batch = result.arrow().replace_schema_metadata(dict(metadata))
            if writer is None:
                before = batch
                # a file has a dictionary once, and what is added to it
                options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
                writer = stack.enter_context(new(stream, batch.schema, options=options))
            _check_types(before.schema, batch.schema)
            columns = [
                pa.chunked_array([old.slice(0, 0), column]).unify_dictionaries().chunk(1)
                if pa.types.is_dictionary(column.type)
                else column
                for old, column in zip(before.columns, batch.columns, strict=True)
            ]
            before = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
            if len(result):
                writer.write_batch(before)


def _check_types(first: Any, schema: Any) -> None:
    """Refuse rows of other columns than those before."""
    if not schema.equals(first):
        others = [f"{field.name!r} ({field.type})" for field in schema if field not in list(first)]
        columns = ", ".join(others) or "fewer, or in another order"
        raise UnsupportedFeatureError(
            f"files have other columns than the first one, or of other types, and cannot be written as one: {columns}; "
            "write a folder, or JSON lines (.jsonl), or keep others"
        )
