"""Hugging Face datasets: functions for ``Dataset.map(..., batched=True)`` whose fingerprint stays the same.

``map`` names its cached result by a hash of the pickled function. What is made here pickles as the path and the digest
of the vocabulary (or its bytes, when it came from no compiled file) and the options, in every process, before and after
use: the second ``map`` finds the result of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, flag, string
from numba_nlp._extras import extra
from numba_nlp.integrations.row_lists import rows_or_none
from numba_nlp.ragged import Ragged
from numba_nlp.tokenizer import Special, Tokenizer

__all__ = ["MapFunction", "encode_map", "inputs_map"]


class MapFunction:
    """A function of a batch of rows, made by :func:`encode_map` or :func:`inputs_map`.

    Called with a dict of columns it gives a dict of lists of arrays. Called with an Arrow table (of a dataset
    ``with_format("arrow")``), whose text it reads where it lies, it gives that table with the new columns: the quick
    way.

    Parameters
    ----------
    tokenizer : Tokenizer
    columns : tuple of str
        Column of the texts, and perhaps of their second texts.
    names : mapping of str to str
        What becomes which new column.
    options : mapping of str to object
    """

    def __init__(
        self, tokenizer: Tokenizer, columns: tuple[str, ...], names: Mapping[str, str], options: Mapping[str, Any]
    ) -> None:
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(
                f"`tokenizer` must be a Tokenizer, got {type(tokenizer).__name__}; load_tokenizer makes one"
            )
        self._tokenizer, self._columns = tokenizer, columns
        # in one order, for the pickle shows it
        self._names, self._options = dict(sorted(names.items())), dict(sorted(options.items()))

    def __call__(self, batch: Any) -> Any:
        """New columns of a batch.

        Parameters
        ----------
        batch : mapping of str to column, or pyarrow.Table

        Raises
        ------
        KeyError
            There is no such column.
        InvalidTextError, MissingRowError, SpecialTokenError, TypeError, ValueError
            As of the tokenizer; rows count from the start of the batch. Or the batch is of another type.
        """
        as_table = hasattr(batch, "column_names")
        if not as_table and not isinstance(batch, Mapping):
            kind = type(batch).__name__
            raise TypeError(
                f"a batch must be a dict or an Arrow table, got {kind}; give the dataset with_format('arrow')"
            )
        there = batch.column_names if as_table else list(batch)
        for column in self._columns:
            if column not in there:
                raise KeyError(f"the batch has no column {column!r}; it has {', '.join(map(str, there))}")
        made = self._made([batch[column] for column in self._columns])
        return _extended(batch, made) if as_table else {name: _as_list(values) for name, values in made.items()}

    def _made(self, columns: list[Any]) -> dict[str, Ragged | NDArray[Any]]:
        """Ragged rows, matrices or numbers by the names of the new columns."""
        options = dict(self._options)
        if not self._names:
            return dict(self._tokenizer(*columns, num_threads=1, **options))
        encoded = self._tokenizer.encode_batch(columns[0], num_threads=1, **options)
        found: dict[str, Ragged | NDArray[Any]] = {"ids": encoded, "length": encoded.row_lengths}
        return {name: found[what] for what, name in self._names.items()}

    def __reduce__(self) -> tuple[Callable[..., MapFunction], tuple[Any, ...]]:
        return MapFunction, (self._tokenizer, self._columns, self._names, self._options)


def _as_list(values: Ragged | NDArray[Any]) -> list[Any]:
    return rows_or_none(values) if isinstance(values, Ragged) else list(values)


def _extended(table: Any, made: dict[str, Ragged | NDArray[Any]]) -> Any:
    """The table with new columns; ``map`` merges a dict with what was there, but takes a table as it is."""
    pa = extra("pyarrow")
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, values in made.items():
        rows = values
        if not isinstance(values, Ragged) and values.ndim == 2:
            # ids and marks of a matrix fit int32; its rows are lists of one length
            rows = Ragged(values.astype(np.int32).reshape(-1), np.arange(len(values) + 1) * values.shape[1])
        columns[name] = rows.to_arrow() if isinstance(rows, Ragged) else pa.array(rows)
    return pa.table(columns)


def encode_map(
    tokenizer: Tokenizer,
    column: str = "text",
    *,
    ids: str = "input_ids",
    length: str | None = None,
    add_special_tokens: bool = False,
    special: Special = None,
    errors: Literal["strict", "replace"] = "strict",
    nulls: Literal["error", "empty", "null"] = "error",
) -> MapFunction:
    """A function for ``map(batched=True)`` that adds the ids of a text column.

    Parameters
    ----------
    tokenizer : Tokenizer
    column : str, default "text"
    ids : str, default "input_ids"
        Name of the new column, lists of int32.
    length : str, optional
        Name of another new column, with the number of ids.
    add_special_tokens, special, errors, nulls
        As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`.

    Returns
    -------
    MapFunction

    Examples
    --------
    >>> from numba_nlp.integrations.datasets import encode_map
    >>> dataset.with_format("arrow").map(encode_map(tok), batched=True)  # doctest: +SKIP
    """
    names = {"ids": string("ids", ids)}
    if length is not None:
        names["length"] = string("length", length)
        if length == ids:
            raise ValueError(f"`ids` and `length` name one column, {ids!r}; give them two")
    if special is not None and not isinstance(special, str):
        # a set has another order in every process
        special = tuple(sorted(special))
    options = {
        "add_special_tokens": flag("add_special_tokens", add_special_tokens),
        "special": special,
        "errors": choice("errors", errors, ("strict", "replace")),
        "nulls": choice("nulls", nulls, ("error", "empty", "null")),
    }
    return MapFunction(tokenizer, (string("column", column),), names, options)


def inputs_map(
    tokenizer: Tokenizer, column: str = "text", pair_column: str | None = None, **options: Any
) -> MapFunction:
    """A function for ``map(batched=True)`` that adds what models take: ``input_ids``, ``attention_mask`` and so on.

    Parameters
    ----------
    tokenizer : Tokenizer
    column : str, default "text"
    pair_column : str, optional
        Column of the second texts.
    **options
        Of the call of a tokenizer (:func:`numba_nlp.inputs.model_inputs`), such as ``truncation=True,
        max_length=512``; without ``padding`` rows keep their lengths, which a collate function pads by the batch.

    Returns
    -------
    MapFunction

    Raises
    ------
    TypeError, ValueError
        ``return_tensors`` is asked for: columns are lists, ``with_format("torch")`` makes tensors of them.
    """
    if "return_tensors" in options:
        raise ValueError("`return_tensors` makes no columns; give the mapped dataset with_format('torch')")
    columns = (string("column", column),) if pair_column is None else (column, string("pair_column", pair_column))
    return MapFunction(tokenizer, columns, {}, options)
