"""A small corpus of all kinds of files, and what the reference makes of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

import numba_nlp as nlp
from tests.made_tokenizers import HAMLET, gpt2

LINES = HAMLET.read_text(encoding="utf-8").splitlines()[:900]


def reference_ids(texts: list[str | None]) -> list[list[int] | None]:
    """Ids of each text as tokenizers gives them; None for a missing one."""
    reference = gpt2().reference
    return [None if text is None else reference.encode(text, add_special_tokens=False).ids for text in texts]


def write_corpus(folder: Path) -> tuple[list[Path], list[str | None]]:
    """Files of each kind, and the texts in them, in order."""
    plain, packed, objects, table = LINES[:300], LINES[300:400], LINES[400:500], LINES[500:]
    # the last line has no end, line ends are of two kinds, some characters are longer than a byte
    plain = [*plain, "", "naïve 日本語 👩‍👧", "the end"]
    paths = [folder / name for name in ("a.txt", "b.txt.gz", "c.jsonl", "d.parquet")]
    paths[0].write_text("\n".join(plain[:50]) + "\r\n" + "\n".join(plain[50:]), encoding="utf-8", newline="")
    paths[1].write_bytes(gzip.compress(("\n".join(packed) + "\n").encode()))
    records = [{"n": i, "text": text} for i, text in enumerate(objects)]
    # an object without the field, one of a null, and a field that nobody asked for
    records[7] = {"n": 7}
    records[8] = {"n": 8, "text": None, "more": {"deep": [1]}}
    paths[2].write_text("\n".join(map(json.dumps, records)) + "\n\n", encoding="utf-8")
    fields: list[str | None] = [record.get("text") for record in records]  # type: ignore[misc]
    column: list[str | None] = [*table[:20], None, *table[20:]]
    parquet.write_table(pa.table({"text": column, "n": range(len(column))}), paths[3], row_group_size=100)
    return paths, [*plain, *packed, *fields, *column]


def read_ids(folder: Path) -> list[list[int] | None]:
    """The rows of all files of ids, by the names of the files."""
    rows: list[list[int] | None] = []
    for path in sorted(folder.glob("*.parquet")):
        table = parquet.read_table(path)
        assert table.schema.field("ids").type == pa.list_(pa.int32())
        rows += nlp.Ragged.from_arrow(table["ids"]).to_list()
    return rows
