"""A corpus is streamed: ten times the text needs no more memory, whatever file it comes from."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.made_tokenizers import HAMLET
from tests.robustness.children import output_of

pytestmark = pytest.mark.slow

#: Counts the words of some files in turn; the most memory that the process had after each.
_COUNT = """
import json, resource, sys
from pathlib import Path
from vocab_tools.training import count_words
from vocab_tools.training.command_sources import columns, input_format_of
peaks, totals = [], []
for name in sys.argv[1:]:
    path = Path(name)
    kind = input_format_of([path])
    source = path if kind == "text" else columns([path], kind, "text")
    totals.append(count_words(source, cut="gpt2", n_threads=2).total)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(json.dumps([peaks, totals]))
"""
_COPIES = 40


def write(path, copies):
    text = HAMLET.read_text(encoding="utf-8")
    if path.suffix == ".txt":
        path.write_bytes(text.encode() * copies)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode() * copies, 1))
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import ipc, parquet

        table = pa.table({"text": text.split("\n")})
        if path.suffix == ".parquet":
            with parquet.ParquetWriter(path, table.schema) as writer:
                for _ in range(copies):
                    writer.write_table(table)
        else:
            with ipc.new_file(path, table.schema) as writer:
                for _ in range(copies):
                    writer.write_table(table)


@pytest.mark.parametrize("suffix", [".txt", ".gz", ".parquet", ".arrow"])
def test_memory_does_not_grow_with_the_corpus(tmp_path, suffix):
    small, large = tmp_path / f"small{suffix}", tmp_path / f"large{suffix}"
    write(small, _COPIES)
    write(large, 10 * _COPIES)
    peaks, totals = json.loads(output_of(_COUNT, small, large))
    assert totals[1] == 10 * totals[0]
    # 64 MB more text; a few blocks of a megabyte may be in memory at other times than before
    assert peaks[1] - peaks[0] < 8, peaks
