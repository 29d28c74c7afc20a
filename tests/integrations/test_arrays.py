"""Libraries that need no module of their own: xarray, Arrow and Parquet, polars, pandas, awkward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import numba_nlp as nlp
from tests.integrations.corpora import LINES, reference_ids
from tests.made_tokenizers import bert, gpt2

ak = pytest.importorskip("awkward")
TEXTS: list[str | None] = [*LINES[:30], "", None, "naïve 日本語"]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pl.DataFrame({"text": TEXTS})["text"].slice(0, None),
        pd.Series(TEXTS, dtype=object),
        pd.Series(TEXTS, dtype="string"),
        pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.large_string())),
        pd.Series(TEXTS, dtype="category"),
        pd.DataFrame({"text": TEXTS})["text"],
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS).dictionary_encode(),
        pa.chunked_array([TEXTS[:3], [], TEXTS[3:]]),
        pa.array(["skipped", *TEXTS]).slice(1),
    ],
    ids=lambda column: (
        f"{type(column).__module__.partition('.')[0]} {getattr(column, 'dtype', getattr(column, 'type', ''))}"
    ),
)
def test_columns_with_missing_rows(column: Any) -> None:
    expected = reference_ids(TEXTS)
    batch = gpt2().ours.encode_batch(column, nulls="null")
    assert batch.to_list() == expected
    assert batch.to_arrow().to_pylist() == expected
    assert batch.to_awkward().to_list() == expected
    assert ak.num(batch.to_awkward())[31] is None
    assert nlp.Ragged.from_arrow(batch.to_arrow()).equals(batch)
    assert pl.from_arrow(batch.to_arrow()).to_list() == expected  # type: ignore[union-attr]
    with pytest.raises(nlp.errors.MissingRowError, match="row 31"):
        gpt2().ours.encode_batch(column)


def test_parquet_and_back(tmp_path: Path) -> None:
    ours = gpt2().ours
    batch = ours.encode_batch(TEXTS, nulls="null", spans=True)
    table = pa.table({"ids": batch.to_arrow(), "starts": batch.to_arrow("starts"), "ends": batch.to_arrow("ends")})
    parquet.write_table(table, tmp_path / "ids.parquet", row_group_size=10)
    back = parquet.read_table(tmp_path / "ids.parquet")
    ids = nlp.Ragged.from_arrow(back["ids"])
    assert ids.to_list() == reference_ids(TEXTS)
    assert ours.decode_batch(ids) == TEXTS
    assert back["starts"].to_pylist() == batch.to_arrow("starts").to_pylist()
    lazily = pl.scan_parquet(tmp_path / "ids.parquet").select(pl.col("ids").list.len()).collect()["ids"].to_list()
    assert lazily == [None if row is None else len(row) for row in reference_ids(TEXTS)]
    assert ak.to_list(ak.from_parquet(tmp_path / "ids.parquet")["ids"]) == reference_ids(TEXTS)


def test_polars_expressions() -> None:
    ours = gpt2().ours
    frame = pl.DataFrame({"text": TEXTS})

    def ids_of(column: pl.Series) -> pl.Series:
        return pl.Series(ours.encode_batch(column, nulls="null").to_arrow())

    eager = frame.with_columns(ids=pl.col("text").map_batches(ids_of, return_dtype=pl.List(pl.Int32)))
    lazy = frame.lazy().with_columns(ids=pl.col("text").map_batches(ids_of, return_dtype=pl.List(pl.Int32))).collect()
    assert eager["ids"].to_list() == lazy["ids"].to_list() == reference_ids(TEXTS)
    assert ours.decode_batch(nlp.Ragged.from_arrow(eager["ids"].to_arrow())) == TEXTS


def test_pandas_assignment() -> None:
    frame = pd.DataFrame({"text": TEXTS}, index=range(7, 7 + len(TEXTS)))
    batch = gpt2().ours.encode_batch(frame["text"], nulls="null")
    frame["ids"] = pd.arrays.ArrowExtensionArray(batch.to_arrow())
    assert pa.array(frame["ids"]).to_pylist() == reference_ids(TEXTS)
    grouped = frame["ids"].list.len()
    assert pa.array(grouped).to_pylist() == [None if row is None else len(row) for row in reference_ids(TEXTS)]


def test_awkward_arrays_of_ids_decode() -> None:
    ours = gpt2().ours
    texts = [text for text in TEXTS if text]
    rows = ours.encode_batch(texts).to_awkward()
    longer = rows[ak.num(rows) > 3]
    back = nlp.Ragged.from_arrow(ak.to_arrow(longer, extensionarray=False))
    assert ours.decode_batch(back) == [
        text for text, ids in zip(texts, reference_ids(texts), strict=True) if len(ids) > 3
    ]  # type: ignore[arg-type]


@pytest.mark.parametrize("lazy", [False, True])
def test_xarray_apply_ufunc(lazy: bool) -> None:
    xr = pytest.importorskip("xarray")
    texts = np.array(LINES[:24], dtype=object).reshape(4, 6)
    array = xr.DataArray(texts, dims=("scene", "line"), coords={"scene": list("abcd")})
    if lazy:
        pytest.importorskip("dask.array")
        array = array.chunk({"scene": 2, "line": 3})
    ours = bert().ours

    def padded(some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return nlp.encode_padded(ours, some, 10, num_threads=1)

    ids, mask = xr.apply_ufunc(
        padded, array, output_core_dims=[["token"], ["token"]], dask="parallelized", output_dtypes=[np.int32, np.int32],
        dask_gufunc_kwargs={"output_sizes": {"token": 10}},
    )  # fmt: skip
    assert ids.dims == mask.dims == ("scene", "line", "token")
    assert ids.dtype == np.int32
    reference = bert().reference
    reference.enable_truncation(10)
    reference.enable_padding(length=10)
    try:
        expected = reference.encode_batch(LINES[:24])
    finally:
        reference.no_truncation()
        reference.no_padding()
    assert ids.compute().values.reshape(24, 10).tolist() == [one.ids for one in expected]
    assert mask.compute().values.reshape(24, 10).tolist() == [one.attention_mask for one in expected]
    assert ids.sel(scene="b").compute().equals(ids.compute().sel(scene="b"))
