"""Damaged files of every format are read or refused by name; nothing else is raised, whatever bytes are wrong."""

from __future__ import annotations

import os
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from numba_nlp.commands.files import find_sources
from numba_nlp.corpora.reading.ids import read_ids, recorded_digest
from numba_nlp.corpora.reading.sources import ID_FORMATS
from numba_nlp.corpora.reading.texts import TextReader
from numba_nlp.errors import NumbaNlpError
from tests.cli.files import LINES, TEXTS, write_arrow, write_csv, write_json_lines, write_lines, write_parquet

ROUNDS = max(12, int(os.environ.get("NUMBA_NLP_TEST_EXAMPLES", "0")) // 4)
IDS = [[1, 2, 3], None, [], list(range(50))] * 3
WRITERS = {
    "a.txt.gz": lambda path: write_lines(path, LINES),
    "b.txt.zst": lambda path: write_lines(path, LINES),
    "b.txt.lz4": lambda path: write_lines(path, LINES),
    "b.txt.bz2": lambda path: write_lines(path, LINES),
    "c.jsonl": lambda path: write_json_lines(path, TEXTS),
    "d.csv": lambda path: write_csv(path, [text or "" for text in TEXTS]),
    "e.parquet": lambda path: write_parquet(path, TEXTS),
    "f.parquet": lambda path: write_parquet(path, TEXTS, kind=pa.dictionary(pa.int32(), pa.string())),
    "g.arrow": lambda path: write_arrow(path, TEXTS),
    "h.arrow": lambda path: write_arrow(path, TEXTS, kind=pa.string_view(), new=pa.ipc.new_stream),
    "ids.parquet": lambda path: pq.write_table(pa.table({"ids": pa.array(IDS, pa.list_(pa.int32()))}), path),
    "ids.arrow": lambda path: write_arrow(path, IDS, column="ids", kind=pa.list_(pa.int32())),
    "ids.npz": lambda path: np.savez(path, values=np.arange(90, dtype=np.int32), offsets=np.arange(0, 91, 10)),
    "ids.jsonl": lambda path: write_json_lines(path, IDS, column="ids"),
}


def damaged(whole, rng):
    data = bytearray(whole)
    for _ in range(rng.choice([1, 1, 2, 5])):
        place, kind = rng.randrange(len(data)), rng.random()
        if kind < 0.6:
            data[place] = rng.randrange(256)
        elif kind < 0.8:
            del data[place : place + rng.choice([1, 4, 50])]
        else:
            del data[place + 1 :]
        data = data or bytearray(b"x")
    return bytes(data)


def read(path):
    if path.name.startswith("ids."):
        (source,) = find_sources([str(path)], None, ID_FORMATS)
        recorded_digest(source)
        return [batch.ids.to_list() for batch in read_ids(source, "ids", 7)]
    (source,) = find_sources([str(path)])
    reader = TextReader(None, "replace", "null", 7)
    reader.check([source])
    return [batch.rows.to_list() for batch in reader.read(source)]


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files_are_read_or_refused_by_name(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    assert read(path)
    whole = path.read_bytes()
    rng = random.Random(name)
    refused = []
    for _ in range(ROUNDS):
        path.write_bytes(damaged(whole, rng))
        try:
            read(path)
        except NumbaNlpError as error:
            refused.append(str(error))
    # lines that cannot be read are rows that cannot be read
    assert [message for message in refused if not message.startswith(str(path))] == []
    assert refused or name in ("c.jsonl", "d.csv")
