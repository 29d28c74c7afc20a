"""Texts of a labelled array, to ids along a new dimension: ``python -m examples.with_xarray``; needs xarray, dask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

import numba_nlp as nlp
from examples.checking import check

DATA = Path(__file__).resolve().parent / "data"
LENGTH, PADDING = 12, 50256


def main() -> None:
    """Encode chunk by chunk, and count the tokens of each scene."""
    tok = nlp.load_tokenizer([DATA / "gpt2/vocab.json", DATA / "gpt2/merges.txt"])
    lines = (DATA / "hamlet_gut.txt").read_text(encoding="utf-8").splitlines()[100:220]
    texts = xr.DataArray(
        np.array(lines, dtype=object).reshape(4, 30), dims=("scene", "line"), coords={"scene": ["i", "ii", "iii", "iv"]}
    ).chunk({"scene": 1})
    ids, mask = xr.apply_ufunc(
        lambda some: nlp.encode_padded(tok, some, LENGTH, pad_id=PADDING, num_threads=1),
        texts,
        output_core_dims=[["token"], ["token"]],
        dask="parallelized",
        output_dtypes=[np.int32, np.int32],
        dask_gufunc_kwargs={"output_sizes": {"token": LENGTH}},
    )
    counts = mask.sum(("line", "token")).compute()
    print(counts.to_series().to_string())
    expected = [min(len(tok.encode(line)), LENGTH) for line in lines]
    check("tokens by scene", int(counts.values.tolist() == np.reshape(expected, (4, 30)).sum(1).tolist()), 1)
    row = ids.sel(scene="ii").isel(line=3).values
    check("a row", int(tok.decode(row[row != PADDING]) == tok.decode(tok.encode(lines[33])[:LENGTH])), 1)


if __name__ == "__main__":
    main()
