"""Columns of Arrow, pandas, polars and awkward: ``python -m examples.with_tables``; needs pandas, polars and awkward.

A column goes in as it is, without a list of its texts, and ids come out as a column of lists.
"""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import numba_nlp as nlp
from examples.checking import check

DATA = Path(__file__).resolve().parent / "data"


def main() -> None:
    """Encode one column of each library, and count tokens in it with that library."""
    tok = nlp.load_tokenizer([DATA / "gpt2/vocab.json", DATA / "gpt2/merges.txt"])
    lines = (DATA / "hamlet_gut.txt").read_text(encoding="utf-8").splitlines()[100:400]
    expected = [tok.encode(line).tolist() for line in lines]
    lengths = list(map(len, expected))

    table = pa.table({"text": lines})
    table = table.append_column("ids", tok.encode_batch(table["text"]).to_arrow())
    check("rows of Arrow", int(pc.list_value_length(table["ids"]).to_pylist() == lengths), 1)

    frame = pd.DataFrame({"text": lines})
    encoded = tok.encode_batch(frame["text"])
    frame["n_tokens"] = encoded.row_lengths
    frame["ids"] = list(encoded)
    print(frame.nlargest(3, "n_tokens")[["text", "n_tokens"]].to_string(index=False))
    check("rows of pandas", int(frame["n_tokens"].tolist() == lengths and frame["ids"][7].tolist() == expected[7]), 1)

    of_polars = pl.DataFrame({"text": lines})
    of_polars = of_polars.with_columns(pl.Series("ids", tok.encode_batch(of_polars["text"]).to_arrow()))
    check("rows of polars", int(of_polars["ids"].list.len().to_list() == lengths), 1)

    of_awkward = tok.encode_batch(lines).to_awkward()
    check("rows of awkward", int(ak.num(of_awkward).to_list() == lengths), 1)
    check("texts again", int(tok.decode_batch(nlp.Ragged.from_arrow(table["ids"])) == lines), 1)


if __name__ == "__main__":
    main()
