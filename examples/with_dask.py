"""A corpus of several files to Parquet files of ids, on threads of a cluster: ``python -m examples.with_dask [DIR]``.

Needs the extra ``dask``. For a cluster of machines give its address to ``Client``; nothing else changes.
"""

from __future__ import annotations

from pathlib import Path

import dask.bag
import pyarrow.parquet as pq
from dask.distributed import Client

import numba_nlp as nlp
import vocab_tools
from examples.checking import check, out_folder
from numba_nlp.integrations import dask as nlp_dask

DATA = Path(__file__).resolve().parent / "data"


def main(folder: Path) -> None:
    """Encode three files, shard by shard, and count the tokens of a bag of texts."""
    folder.mkdir(parents=True, exist_ok=True)
    vocab_tools.compile([DATA / "gpt2/vocab.json", DATA / "gpt2/merges.txt"]).save(folder / "gpt2.safetensors")
    tok = nlp.load_tokenizer(folder / "gpt2.safetensors")
    lines = (DATA / "hamlet_gut.txt").read_text(encoding="utf-8").splitlines()[:1500]
    sources = [folder / f"part{number}.txt" for number in range(3)]
    for number, path in enumerate(sources):
        path.write_text("\n".join(lines[number * 500 : number * 500 + 500]) + "\n", encoding="utf-8")

    expected = tok.encode_batch(lines)
    with Client(processes=False, dashboard_address=None):
        corpus = nlp_dask.encode_corpus(sources, folder / "ids", tok, shard_bytes=8_000)
        counted = int(nlp_dask.count(dask.bag.from_sequence(lines, npartitions=4), tok).sum().compute())
    print(f"{len(corpus.shards)} shards, {corpus.rows:,} rows, {corpus.ids:,} ids")
    check("ids of the corpus", int(corpus.ids == expected.n_values), 1)
    check("ids of the bag", int(counted == expected.n_values), 1)
    tables = [pq.read_table(path) for path in sorted((folder / "ids").glob("*.parquet"))]
    check("rows in the files", sum(table.num_rows for table in tables), len(lines), least=1)


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
