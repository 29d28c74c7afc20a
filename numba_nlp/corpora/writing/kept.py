"""Results with columns of the files that they are made of beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from numba_nlp._extras import extra
from numba_nlp.corpora.reading.arrow_files import schema_of
from numba_nlp.corpora.reading.kept import Keep, repaired
from numba_nlp.corpora.reading.line_files import json_rows
from numba_nlp.corpora.reading.separated import header_of
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.streams import line_blocks
from numba_nlp.corpora.reading.texts import PIECE_BYTES
from numba_nlp.corpora.writing.results import Result
from numba_nlp.errors import UnsupportedFeatureError

__all__ = ["KeptTypes", "WithColumns"]


class KeptTypes:
    """Puts kept columns beside results, with types that do not depend on how files are cut into batches.

    Arrow and Parquet files say them; columns of CSV are texts; entries of JSON lines are looked at in all lines before
    the first is worked on: whole numbers among others are float64, objects have the entries of all of them.

    Parameters
    ----------
    keep : Keep
    sources : sequence of Source
    is_typed : bool
        The output is Parquet or Arrow.
    is_one : bool
        It is one file, so that JSON lines of all sources have types in common.
    """

    def __init__(self, keep: Keep, sources: Sequence[Source], *, is_typed: bool, is_one: bool) -> None:
        self._keep, self._is_typed = keep, is_typed
        self._together = [source for source in sources if is_one and source.kind == "jsonl"]
        self._known: dict[Source, Any] = {}

    def beside(self, result: Result, source: Source, kept: Any) -> Result:
        """A result of rows with their kept columns, if any are kept.

        Parameters
        ----------
        result : Result
        source : Source
            Where the rows are from.
        kept
            As readers give it; an empty list for no rows.

        Raises
        ------
        SourceFormatError, UnsupportedFeatureError
            The source cannot be read, or entries of one name are of several types.
        """
        if not self._keep:
            return result
        needs_types = self._is_typed and isinstance(kept, list)
        return WithColumns(result, kept, self._of(source) if needs_types else None)

    def _of(self, source: Source) -> Any:
        """The pyarrow.Schema of the kept columns of a file; None if only its rows can say it."""
        if source not in self._known:
            self._known[source] = self._find(source)
        return self._known[source]

    def _find(self, source: Source) -> Any:
        pa = extra("pyarrow")
        if source.is_stdin:
            return None
        if source.kind == "jsonl":
            found = self._scan(pa, self._together if source in self._together else [source])
            self._known.update(dict.fromkeys(self._together, found))
            return found
        if source.kind in ("csv", "tsv"):
            return pa.schema([(name, pa.string()) for name in self._keep.among(source, header_of(source))])
        schema = schema_of(source)
        return pa.schema([schema.field(name) for name in self._keep.among(source, schema.names)])

    def _scan(self, pa: Any, sources: Sequence[Source]) -> Any:
        schema = pa.schema([(name, pa.null()) for name in self._keep.names])
        for source in sources:
            for block in line_blocks(source, PIECE_BYTES, PIECE_BYTES):
                columns: dict[str, list[Any]] = {}
                for number, found in json_rows(block):
                    if isinstance(found, dict):
                        entries, _ = repaired(self._keep.entries(f"{source.name}, line {number}", found))
                        for name, value in entries.items():
                            columns.setdefault(name, []).append(value)
                where = f"{source.name}, lines from {block.line} on"
                fields = [(name, _array(where, name, values).type) for name, values in columns.items()]
                with _named(where, "entries of one name"):
                    schema = pa.unify_schemas([schema, pa.schema(fields)], promote_options="permissive")
        return schema


@contextmanager
def _named(where: str, what: str) -> Iterator[None]:
    pa = extra("pyarrow")
    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        raise UnsupportedFeatureError(
            f"{where}: {what} are not of one type that Arrow has ({error}); write JSON lines (.jsonl), or keep others"
        ) from error


def _array(where: str, name: str, values: list[Any], kind: Any = None) -> Any:
    with _named(where, f"entries {name!r}"):
        return extra("pyarrow").array(values, kind)


@dataclass(frozen=True, slots=True)
class WithColumns:
    """A result, and columns before its own.

    Attributes
    ----------
    result : Result
    kept : pyarrow.RecordBatch, or list of dict
        As readers give them; empty lists for no rows.
    schema : pyarrow.Schema or None
        Of the columns, for Arrow and Parquet; None: that of the RecordBatch, or texts.
    """

    result: Result
    kept: Any
    schema: Any = None

    def __len__(self) -> int:
        return len(self.result)

    def arrow(self) -> Any:
        """The kept columns with their types, then those of the result.

        Raises
        ------
        UnsupportedFeatureError
            An entry is not of the type of its column.
        """
        pa = extra("pyarrow")
        made = self.result.arrow()
        schema: Any
        if isinstance(self.kept, list):
            schema = self.schema or pa.schema([(name, pa.string()) for row in self.kept[:1] for name in row])
            arrays = [
                _array("kept columns", field.name, [row.get(field.name) for row in self.kept], field.type)
                for field in schema
            ]
        else:
            schema, arrays = self.kept.schema, self.kept.columns
        # metadata of fields is of the file that they come from
        fields = [field.remove_metadata() for field in schema]
        return pa.RecordBatch.from_arrays([*arrays, *made.columns], schema=pa.schema([*fields, *made.schema]))

    def objects(self) -> Iterator[dict[str, Any]]:
        """The kept entries, then those of the result.

        Raises
        ------
        UnsupportedFeatureError
            A kept text is none.
        """
        try:
            kept = self.kept if isinstance(self.kept, list) else self.kept.to_pylist()
        except UnicodeDecodeError as error:
            raise UnsupportedFeatureError(
                f"a kept column holds text that is none ({error}); write Parquet or Arrow, or keep others"
            ) from error
        for columns, made in zip(kept, self.result.objects(), strict=True):
            yield {**columns, **made}

    def lines(self) -> Iterator[str]:
        """Lines have no columns; the commands offer no such format with them."""
        raise UnsupportedFeatureError("kept columns are not written as text; write Parquet, Arrow or JSON lines")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays of numbers have no columns beside them; the commands offer no such format with them."""
        raise UnsupportedFeatureError("kept columns are not written as npz; write Parquet, Arrow or JSON lines")
