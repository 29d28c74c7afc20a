"""Files of texts in every format that the commands read."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

SPECIAL = "<|end|>"
#: Without ends of lines, so that a text file can hold them; without missing rows.
LINES = ["the and the", "", f"one {SPECIAL}{SPECIAL} two", "naïve café ☃ 🙂", " \t ", "x" * 300]
#: What files with columns can hold.
TEXTS = [*LINES, "two\nlines\r\n", None, 'a "quoted", and more']


def packed(path, data):
    """Write bytes, packed as the name says."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".bz2":
        # two streams, as parallel packers write them
        path.write_bytes(bz2.compress(data[:9]) + bz2.compress(data[9:]))
    elif path.suffix in (".zst", ".lz4"):
        with pa.output_stream(str(path)) as stream:
            stream.write(data)
    else:
        path.write_bytes(data)
    return path


def write_lines(path, lines):
    return packed(path, "".join(f"{line}\n" for line in lines).encode())


def write_json_lines(path, texts, column="text"):
    return write_lines(path, [json.dumps({"n": n, column: text}) for n, text in enumerate(texts)])


def write_csv(path, texts, column="text"):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["n", column])
    writer.writerows(enumerate(texts))
    return packed(path, stream.getvalue().encode())


def write_parquet(path, texts, column="text", kind=None, row_group_size=3):
    table = pa.table({"n": range(len(texts)), column: pa.array(texts, kind or pa.string())})
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def write_arrow(path, texts, column="text", kind=None, new=pa.ipc.new_file):
    batch = pa.record_batch({column: pa.array(texts, kind or pa.large_string())})
    with pa.OSFile(str(path), "wb") as stream, new(stream, batch.schema) as writer:
        for start in range(0, len(texts), 4):
            writer.write_batch(batch.slice(start, 4))
    return path
