"""Rows that commands make, in the forms in which files hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from numba_nlp._extras import extra
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.ragged import Ragged

__all__ = ["Answered", "Counted", "Decoded", "Encoded", "Origin", "Result"]


class Result(Protocol):
    """Some rows of a file."""

    def __len__(self) -> int:
        """Number of rows."""

    def arrow(self) -> Any:
        """A pyarrow.RecordBatch; all of a command have one schema."""

    def objects(self) -> Iterator[dict[str, Any]]:
        """Each row as what JSON has for it."""

    def lines(self) -> Iterator[str]:
        """Each row as a line of text."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """One-dimensional arrays that go one behind the other; ``lengths`` are those of rows, ``valid`` their masks."""


def _mask(valid: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return None if valid is None else ~valid


def _there(valid: NDArray[np.bool_] | None, n_rows: int) -> NDArray[np.bool_]:
    return np.ones(n_rows, np.bool_) if valid is None else valid


class Origin(NamedTuple):
    """What rows were made of, for messages: a file, and the number of their first row there."""

    name: str
    first: int

    def of_row(self, row: int) -> str:
        """What messages call one of the rows."""
        return f"{self.name}: row {self.first + row}"


def _refuse_missing(origin: Origin, valid: NDArray[np.bool_] | None) -> None:
    if valid is not None:
        raise UnsupportedFeatureError(
            f"{origin.of_row(int(np.argmin(valid)))} is missing, which a line of text cannot say; write JSON lines "
            "(.jsonl) or Parquet"
        )


@dataclass(frozen=True, slots=True)
class Encoded:
    """Ids of rows, with spans where they were asked for."""

    rows: Ragged
    origin: Origin

    def __len__(self) -> int:
        return len(self.rows)

    def arrow(self) -> Any:
        """Columns ``ids`` (int32), and ``starts`` and ``ends`` (int64)."""
        pa = extra("pyarrow")
        columns = {"ids": self.rows.to_arrow().cast(pa.list_(pa.int32()))}
        if self.rows.starts is not None:
            columns["starts"] = self.rows.to_arrow("starts").cast(pa.list_(pa.int64()))
            columns["ends"] = self.rows.to_arrow("ends").cast(pa.list_(pa.int64()))
        return pa.RecordBatch.from_pydict(columns)

    def objects(self) -> Iterator[dict[str, Any]]:
        """``ids``, and ``starts`` and ``ends``; null for missing rows."""
        rows, valid = self.rows, _there(self.rows.valid, len(self)).tolist()
        for number, ids in enumerate(rows):
            made: dict[str, Any] = {"ids": ids.tolist()}
            if rows.starts is not None:
                made["starts"], made["ends"] = (part.tolist() for part in rows.spans(number))
            yield made if valid[number] else dict.fromkeys(made)

    def lines(self) -> Iterator[str]:
        """Ids with spaces between.

        Raises
        ------
        UnsupportedFeatureError
            A row is missing.
        """
        _refuse_missing(self.origin, self.rows.valid)
        for ids in self.rows:
            yield " ".join(map(str, ids.tolist()))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """``values``, lengths, and ``starts`` and ``ends``."""
        rows = self.rows.compact()
        made: dict[str, NDArray[Any]] = {"values": rows.values, "lengths": rows.row_lengths}
        if rows.starts is not None and rows.ends is not None:
            made |= {"starts": rows.starts, "ends": rows.ends}
        return {**made, "valid": _there(rows.valid, len(rows))}


@dataclass(frozen=True, slots=True)
class Counted:
    """Number of ids of rows; of missing ones 0."""

    counts: NDArray[np.int64]
    valid: NDArray[np.bool_] | None
    origin: Origin

    def __len__(self) -> int:
        return self.counts.size

    def arrow(self) -> Any:
        """Column ``tokens`` (int64)."""
        pa = extra("pyarrow")
        return pa.RecordBatch.from_pydict({"tokens": pa.array(self.counts, pa.int64(), mask=_mask(self.valid))})

    def objects(self) -> Iterator[dict[str, Any]]:
        """``tokens``, null for missing rows."""
        there = _there(self.valid, len(self)).tolist()
        for count, is_there in zip(self.counts.tolist(), there, strict=True):
            yield {"tokens": count if is_there else None}

    def lines(self) -> Iterator[str]:
        """Numbers.

        Raises
        ------
        UnsupportedFeatureError
            A row is missing.
        """
        _refuse_missing(self.origin, self.valid)
        return map(str, self.counts.tolist())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """``tokens``."""
        return {"tokens": self.counts, "valid": _there(self.valid, len(self))}


@dataclass(frozen=True, slots=True)
class Decoded:
    """Texts of rows of ids."""

    texts: list[str | None]
    origin: Origin

    def __len__(self) -> int:
        return len(self.texts)

    def arrow(self) -> Any:
        """Column ``text``."""
        pa = extra("pyarrow")
        return pa.RecordBatch.from_pydict({"text": pa.array(self.texts, pa.large_string())})

    def objects(self) -> Iterator[dict[str, Any]]:
        """``text``, null for missing rows."""
        return ({"text": text} for text in self.texts)

    def lines(self) -> Iterator[str]:
        """The texts.

        Raises
        ------
        UnsupportedFeatureError
            A row is missing, or holds an end of a line, so that lines would not be rows.
        """
        valid = np.array([text is not None for text in self.texts], np.bool_)
        _refuse_missing(self.origin, None if valid.all() else valid)
        for row, text in enumerate(self.texts):
            if text is None or "\n" in text or text.endswith("\r"):
                raise UnsupportedFeatureError(
                    f"{self.origin.of_row(row)} holds the end of a line, so that lines would not be rows; write JSON "
                    "lines (.jsonl) or Parquet"
                )
            yield text

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Texts are no arrays of numbers; the commands offer no such format for them."""
        raise UnsupportedFeatureError("texts are not written as npz; write Parquet, Arrow or JSON lines")


@dataclass(frozen=True, slots=True)
class Answered:
    """What a pipeline gave for rows.

    Attributes
    ----------
    given : dict of str to list
        What each row was: ``text``, or ``question`` and ``context``.
    results : list
        What JSON can hold; None for rows that failed or are missing.
    failures : list of str or None
    origin : Origin
    kind : pyarrow.DataType or None
        Of the results, for Arrow and Parquet.
    """

    given: dict[str, list[str | None]]
    results: list[Any]
    failures: list[str | None]
    origin: Origin
    kind: Any = None

    def __len__(self) -> int:
        return len(self.results)

    def arrow(self) -> Any:
        """Columns of what was given, ``result`` and ``error``."""
        pa = extra("pyarrow")
        columns = {name: pa.array(values, pa.large_string()) for name, values in self.given.items()}
        columns["result"] = pa.array(self.results, self.kind)
        columns["error"] = pa.array(self.failures, pa.large_string())
        return pa.RecordBatch.from_pydict(columns)

    def objects(self) -> Iterator[dict[str, Any]]:
        """What was given, and ``result`` or, for rows that failed, ``error``."""
        for row, (result, failure) in enumerate(zip(self.results, self.failures, strict=True)):
            given: dict[str, Any] = {name: values[row] for name, values in self.given.items()}
            yield {**given, "result": result} if failure is None else {**given, "error": failure}

    def lines(self) -> Iterator[str]:
        """Results that are texts.

        Raises
        ------
        UnsupportedFeatureError
            A result is no single line of text.
        """
        for row, result in enumerate(self.results):
            if self.failures[row] is not None or not isinstance(result, str) or "\n" in result:
                what = self.failures[row] or repr(result)[:60]
                raise UnsupportedFeatureError(
                    f"{self.origin.of_row(row)} gives no line of text ({what}); write JSON lines (.jsonl) or Parquet"
                )
            yield result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Results are no arrays of numbers; the commands offer no such format for them."""
        raise UnsupportedFeatureError("results are not written as npz; write Parquet, Arrow or JSON lines")
