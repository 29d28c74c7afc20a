"""One reader of corpora for trainers and commands: the same rows from files, columns and iterables, in blocks."""

from __future__ import annotations

import gzip
import io

import pytest

from numba_nlp import TextRows
from numba_nlp.errors import InvalidTextError, SourceFormatError
from vocab_tools import corpus
from vocab_tools.corpus import blocks, read_blocks, rows_of

ROWS = ["to be", "", "日本語", "x" * 50, "or not"]


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "text.txt"
    made.write_bytes("\n".join(ROWS).encode())
    return made


def rows_in(source, **options):
    return [
        data[start:end].tobytes().decode()
        for block in read_blocks(source, **options)
        for data, starts, ends in [rows_of(block, True, "strict")]
        for start, end in zip(starts, ends, strict=True)
    ]


def sources(path):
    pa = pytest.importorskip("pyarrow")
    yield str(path)
    yield [path]
    yield (text for text in ROWS)
    yield TextRows.from_strings(ROWS)
    yield pa.chunked_array([ROWS[:2], ROWS[2:]])
    yield pa.array(ROWS, pa.large_string())
    yield pa.array(ROWS).dictionary_encode()
    yield (pa.array(part) for part in (ROWS[:3], ROWS[3:]))
    yield pytest.importorskip("polars").Series(ROWS)
    yield pytest.importorskip("pandas").Series(ROWS)
    yield pytest.importorskip("numpy").array(ROWS)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_all_sources_have_the_same_rows(path, size, monkeypatch):
    monkeypatch.setattr(corpus, "BLOCK_BYTES", size)
    monkeypatch.setattr(corpus, "_BATCH_ROWS", 2)
    for source in sources(path):
        assert rows_in(source) == ROWS


def test_commands_read_the_same(path, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    packed = tmp_path / "text.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for source in (path, str(path), [str(path)], packed, TextRows.from_file(path), pa.array(ROWS)):
        assert [row for block in blocks(source, 5) for row in block] == ROWS
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert [row for block in blocks("-") for row in block] == ROWS


def test_missing_rows_are_empty():
    pa = pytest.importorskip("pyarrow")
    for source in (pa.array(["a", None]), TextRows.from_strings(["a", None], nulls="null")):
        assert rows_in(source) == ["a", ""]


PACKED = gzip.compress(b"text" * 99, mtime=0)


@pytest.mark.parametrize(
    "content",
    [b"no gzip", PACKED[:20], PACKED[:15] + b"\xff" * 40],
    ids=["not packed", "cut", "overwritten"],
)
def test_a_packed_file_that_is_damaged_is_named(tmp_path, content):
    damaged = tmp_path / "text.gz"
    damaged.write_bytes(content)
    with pytest.raises(SourceFormatError, match=r"text\.gz: cannot be unpacked as gzip"):
        list(read_blocks(damaged))


def test_bytes_that_are_no_text_are_named_and_replaced(tmp_path):
    pa = pytest.importorskip("pyarrow")
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"good\nbad \xff\n")
    with pytest.raises(
        InvalidTextError, match=r"broken\.txt: the bytes from offset 9 on are not UTF-8; mend the file$"
    ):
        list(blocks(broken, 5))
    column = pa.chunked_array([[b"good"], [b"bad \xff"]])
    with pytest.raises(InvalidTextError, match="row 1 of the column is not UTF-8 from its byte 4 on"):
        rows_in(column)
    for source in (column, ["good", "bad \ud800"]):
        assert rows_in(source, errors="replace") == ["good", "bad \ufffd"]


def test_what_is_no_corpus_is_named(path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": ROWS})
    for source, message in (
        (table, "pick one column"),
        (table.to_reader(), "RecordBatchReader, expected an Arrow column"),
        (pa.array([1, 2]), "of a string or binary type, got int64"),
        ([path, "text"], "item 1 of `source` is str, expected a path as before"),
        (["text", path], "item 1 of `source` is PosixPath"),
        (b"text", "is bytes"),
        (3, "got int"),
    ):
        with pytest.raises(TypeError, match=message):
            list(read_blocks(source))
