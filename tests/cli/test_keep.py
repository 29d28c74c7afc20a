"""Other columns of the files go to the output as they are, or it is said why they do not."""

from __future__ import annotations

import datetime
import decimal
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from tests.cli.files import LINES, write_arrow, write_csv, write_json_lines, write_lines, write_parquet
from tests.cli.messages import one_error
from tests.cli.test_tasks import calls, rows_in

__all__ = ["calls"]

TEXTS = ["the and the", None, "", "one two", "naïve café", "x"]
NUMBERS = [3, None, 5, 6, 7, 8]


def table():
    """Columns of many types, missing values among them."""
    times = [datetime.datetime(2026, 1, day, tzinfo=datetime.timezone.utc) for day in range(1, 7)]
    return pa.table(
        {
            "id": pa.array(NUMBERS, pa.uint16()),
            "text": pa.array(TEXTS, pa.large_string()),
            "when": pa.array(times, pa.timestamp("ms", "UTC")),
            "price": pa.array([decimal.Decimal("1.50")] * 6, pa.decimal128(9, 2)),
            "label": pa.array(["a", "b", None, "c", "a", "d"]).dictionary_encode(),
            "tags": pa.array([["x"], [], None, ["y", "z"], [], []], pa.list_(pa.string())),
            "body": pa.array([{"en": text, "n": 1} for text in TEXTS]),
            "data": pa.array([b"\xff"] * 6, pa.binary()),
        }
    )


def written(path):
    """A table of a Parquet or Arrow file."""
    return pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


@pytest.fixture
def sources(tmp_path):
    """The table in a file of each kind, in several batches with dictionaries of their own."""
    pq.write_table(table(), tmp_path / "a.parquet", row_group_size=2)
    with pa.ipc.new_stream(tmp_path / "a.arrow", table().schema) as writer:
        for start in range(0, 6, 2):
            part = table().slice(start, 2)
            label = part["label"].cast(pa.string()).combine_chunks().dictionary_encode()
            writer.write_table(part.set_column(4, "label", label))


def same(found, wanted):
    """Whether columns have the same types and values; dictionaries may be in another order."""
    assert found.schema.types == wanted.schema.types
    assert found.to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("source", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("output", ["out.parquet", "out.arrow"])
def test_types_are_those_of_the_file(source, output, sources, run, tok, tmp_path):
    run("encode", source, "-o", output, "--keep-all", "--batch-rows", 4)
    found = written(tmp_path / output)
    others = table().drop_columns(["text"])
    assert found.column_names == [*others.column_names, "ids"]
    same(found.drop_columns(["ids"]), others)
    assert found["ids"].to_pylist() == tok.encode_batch(TEXTS, nulls="null").to_list()
    # in their order in the file; the text itself when it is named
    run("encode", source, "-o", output, "--keep", "text", "--keep", "id", "--spans")
    found = written(tmp_path / output)
    assert found.column_names == ["id", "text", "ids", "starts", "ends"]
    same(found.select(["id", "text"]), table().select(["id", "text"]))
    run("encode", source, "-o", output, "--column", "body.en", "--keep", "body", "--keep", "text")
    same(written(tmp_path / output).select(["text", "body"]), table().select(["text", "body"]))


def test_json_lines_have_what_json_has(sources, run, tmp_path):
    named = ["id", "when", "price", "label", "tags", "body"]
    run("encode", "a.parquet", "-o", "out.jsonl", *(f"--keep={name}" for name in named))
    rows = rows_in((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    for row, wanted in zip(rows, table().select(named).to_pylist(), strict=True):
        del row["ids"]
        assert row == {**wanted, "when": wanted["when"].isoformat(), "price": "1.50"}
    message = one_error(run("encode", "a.parquet", "-o", "no.jsonl", "--keep", "data", code=1))
    assert "a kept column holds bytes, which JSON has not; write Parquet or Arrow" in message
    assert not (tmp_path / "no.jsonl").exists()


OBJECTS = [
    {"id": 1, "text": "the", "more": {"a": 1}, "score": 1, "none": None},
    {"id": 2, "text": None, "more": None, "score": 2.5, "late": "x"},
    {"id": 3, "text": "and", "more": {"b": [1, None]}, "score": 3},
]


@pytest.fixture
def objects(tmp_path):
    """JSON lines whose objects are of several shapes."""
    return write_lines(tmp_path / "a.jsonl", list(map(json.dumps, OBJECTS)))


@pytest.mark.parametrize("batch_rows", [1, 100])
@pytest.mark.parametrize("output", ["out.parquet", "out.arrow"])
def test_json_lines_get_types_that_hold_all_of_them(batch_rows, output, objects, run, tmp_path):
    run("encode", "a.jsonl", "-o", output, "--keep-all", "--batch-rows", batch_rows)
    found = written(tmp_path / output).drop_columns(["ids"])
    # those that Arrow finds when it has all rows at once
    wanted = pa.Table.from_pylist(OBJECTS).schema
    names = ["id", "more", "score", "none", "late"]
    assert {name: found.schema.field(name).type for name in found.column_names} == {
        **{name: wanted.field(name).type for name in names if name != "late"},
        "late": pa.string(),
    }
    assert found["score"].to_pylist() == [1.0, 2.5, 3.0]
    assert found["more"].to_pylist() == [{"a": 1, "b": None}, None, {"a": None, "b": [1, None]}]
    assert found["late"].to_pylist() == [None, "x", None]


def test_json_lines_of_json_lines(objects, run, tok, tmp_path):
    run("encode", "a.jsonl", "-o", "out.jsonl", "--keep-all")
    expected = [
        {**{name: value for name, value in row.items() if name != "text"}, "ids": ids}
        for row, ids in zip(OBJECTS, tok.encode_batch(["the", None, "and"], nulls="null").to_list(), strict=True)
    ]
    assert rows_in((tmp_path / "out.jsonl").read_text()) == expected
    result = run("encode", "-", "--from", "jsonl", "-o", "-", "--to", "jsonl", "--keep", "late", stdin="".join(
        f"{json.dumps(row)}\n" for row in OBJECTS
    ))  # fmt: skip
    assert [row["late"] for row in rows_in(result.stdout)] == [None, "x", None]


def test_json_lines_of_several_files_in_one(run, tmp_path):
    write_lines(tmp_path / "a.jsonl", ['{"text": "the", "n": null}'])
    write_lines(tmp_path / "b.jsonl", ['{"text": "the", "n": 2}', "no JSON"])
    run("encode", "*.jsonl", "-o", "out.parquet", "--keep", "n")
    assert pq.read_table(tmp_path / "out.parquet")["n"].to_pylist() == [None, 2, None]
    run("encode", "*.jsonl", "-o", "out/", "--keep", "n")
    assert pq.read_table(tmp_path / "out" / "b.parquet").schema.field("n").type == pa.int64()
    write_lines(tmp_path / "b.jsonl", ['{"text": "the", "n": 2}', '{"text": "the", "n": "two"}'])
    message = one_error(run("encode", "b.jsonl", "-o", "no.parquet", "--keep", "n", code=1))
    assert "b.jsonl, lines from 1 on: entries 'n' are not of one type that Arrow has" in message
    assert "write JSON lines (.jsonl)" in message
    run("encode", "b.jsonl", "-o", "out.jsonl", "--keep", "n")
    write_lines(tmp_path / "c.jsonl", ['{"text": "the", "n": {}}'])
    message = one_error(run("encode", "c.jsonl", "-o", "no.parquet", "--keep", "n", code=1))
    assert message.startswith("error: no.parquet: cannot be written as parquet (")


def test_columns_of_csv_are_texts(run, tmp_path):
    (tmp_path / "a.csv").write_bytes(b'n,text,more\n1,the,"a\nb"\n2,and\n,x,caf\xe9\n')
    result = run("encode", "a.csv", "-o", "out.parquet", "--keep-all")
    found = pq.read_table(tmp_path / "out.parquet").drop_columns(["ids"])
    same(found, pa.table({"n": ["1", "2", ""], "more": ["a\nb", None, "caf\ufffd"]}))
    assert "note: 1 row was no valid text" in result.stderr
    message = one_error(run("encode", "a.csv", "-o", "no.parquet", "--keep", "more", "--errors", "strict", code=1))
    assert "a.csv: row 2 has no valid text in a kept column; pass --errors replace" in message


def test_kept_text_that_is_none(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(
        b'{"text": "caf\xe9", "n": {"k\xe9": ["\\ud800"]}}\n{"text": "the", "n": {"k": ["caf\xe9"]}}\n'
    )
    result = run("encode", "a.jsonl", "-o", "out.jsonl", "--keep-all", "--json")
    assert json.loads(result.stdout)["invalid"] == 2
    rows = rows_in((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert [row["n"] for row in rows] == [{"k\ufffd": ["\ufffd"]}, {"k": ["caf\ufffd"]}]


def test_tasks_keep_columns_too(calls, objects, run, tmp_path):
    result = run("translate", "-f", "a.jsonl", "-m", "folder", "--keep", "id")
    assert rows_in(result.stdout) == [
        {"id": 1, "text": "the", "result": "<the>"},
        {"id": 2, "text": None, "result": None},
        {"id": 3, "text": "and", "result": "<and>"},
    ]
    write_parquet(tmp_path / "b.parquet", TEXTS, column="body")
    run("classify", "-f", "b.parquet", "--column", "body", "-m", "folder", "-o", "out.arrow", "--keep-all")
    found = written(tmp_path / "out.arrow")
    assert found.column_names == ["n", "text", "result", "error"]
    assert found["n"].to_pylist() == list(range(6))
    rows = [{"question": f"q{n}", "context": "yes", "n": n} for n in range(3)]
    write_lines(tmp_path / "c.jsonl", list(map(json.dumps, rows)))
    result = run("answer", "-f", "c.jsonl", "-m", "folder", "--keep-all", "--batch-rows", 2)
    assert [list(row) for row in rows_in(result.stdout)] == [["n", "question", "context", "result"]] * 3
    assert [row["n"] for row in rows_in(result.stdout)] == [0, 1, 2]


def test_shards_have_the_columns_of_their_rows(sources, run, tmp_path):
    run("encode", "a.parquet", "-o", "out/", "--shard-rows", 4, "--keep", "id", "--keep", "label")
    found = pa.concat_tables(pq.read_table(path) for path in sorted((tmp_path / "out").glob("*.parquet")))
    assert found["id"].to_pylist() == NUMBERS
    said = json.loads(
        run("encode", "a.parquet", "-o", "out/", "--shard-rows", 4, "--keep", "id", "--keep", "label", "--json").stdout
    )
    assert (said["files"], said["skipped"]) == (0, 2)
    # other columns: other shards
    for flags in (["--keep", "id"], ["--keep-all"], []):
        said = json.loads(run("encode", "a.parquet", "-o", "out/", "--shard-rows", 4, *flags, "--json").stdout)
        assert (said["files"], said["skipped"]) == (2, 0)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.jsonl"])
def test_files_without_rows_have_the_columns(name, run, tmp_path):
    empty = pa.table({"n": pa.array([], pa.int64()), "text": pa.array([], pa.string())})
    writers = {"a.csv": write_csv, "a.jsonl": write_json_lines}
    if name in writers:
        writers[name](tmp_path / name, [])
    elif name == "a.parquet":
        pq.write_table(empty, tmp_path / name)
    else:
        feather.write_feather(empty, tmp_path / name)
    for output in ("out.parquet", "out.arrow"):
        run("encode", name, "-o", output, "--keep", "n")
        assert written(tmp_path / output).column_names == ["n", "ids"]
    run("encode", name, "-o", "out.jsonl", "--keep-all")
    assert (tmp_path / "out.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.parquet", "-o", "out.npz", "--keep", "n"], "npz has no room for other columns; write Parquet, Arrow"),
        (["a.parquet", "-o", "out.bin", "--keep-all"], "packed has no room for other columns"),
        (["a.parquet", "-o", "-", "--keep", "n"], "text has no room for other columns"),
        (["a.parquet", "-o", "out.parquet", "--keep", "ids"], "the results have a column 'ids' of their own"),
        (["a.parquet", "a.txt", "-o", "out.parquet", "--keep", "n"], "a.txt: text has no columns"),
        (["-", "--from", "jsonl", "-o", "out.parquet", "--keep", "n"], "save the standard input and name the file"),
    ],
)
def test_where_columns_cannot_go(arguments, message, run, tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    write_lines(tmp_path / "a.txt", LINES)
    result = run("encode", *arguments, code=2)
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_texts_of_the_command_line_have_no_columns(calls, run):
    result = run("translate", "the", "-m", "folder", "--keep", "n", code=2)
    assert "texts of the command line have no columns" in " ".join(result.stderr.replace("│", " ").split())


def test_columns_that_are_not_there_or_taken(calls, run, tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    write_csv(tmp_path / "a.csv", ["the"])
    write_arrow(tmp_path / "a.arrow", TEXTS)
    for name, listed in (
        ("a.parquet", "a.parquet: has no column 'm'; it has 'n', 'text'; pass another --keep"),
        ("a.arrow", "a.arrow: has no column 'm'; it has 'text'; pass another --keep"),
        ("a.csv", "a.csv: has no column 'm'; it has 'n', 'text'; pass another --keep"),
        ("a.jsonl", "a.jsonl: no line has an entry 'm'; pass another --keep"),
    ):
        assert one_error(run("encode", name, "--keep", "m", "-o", "out.jsonl", code=1)) == f"error: {listed}\n"
    # all columns, and one of them has the name of a result
    pq.write_table(pa.table({"body": ["the"], "text": ["x"]}), tmp_path / "b.parquet")
    write_lines(tmp_path / "b.jsonl", ['{"body": "the", "text": "x"}'])
    for name, place in (("b.parquet", "b.parquet"), ("b.jsonl", "b.jsonl, line 1")):
        message = one_error(run("classify", "-f", name, "-m", "folder", "--column", "body", "--keep-all", code=1))
        assert message.startswith(f"error: {place}: the column 'text' is not kept, for the results have one of this")
    twice = pa.Table.from_arrays([pa.array(["the"]), pa.array([1]), pa.array([2])], ["text", "n", "n"])
    feather.write_feather(twice, tmp_path / "c.arrow", version=2)
    message = one_error(run("encode", "c.arrow", "-o", "out.parquet", "--keep-all", code=1))
    assert "c.arrow: 2 columns are called 'n'; rename them" in message


def test_files_of_other_columns_are_not_written_as_one(run, tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    pq.write_table(pa.table({"n": ["1"], "text": ["the"]}), tmp_path / "b.parquet")
    for output in ("out.parquet", "out.arrow"):
        message = one_error(run("encode", "a.parquet", "b.parquet", "-o", output, "--keep", "n", code=1))
        assert "cannot be written as one: 'n' (string); write a folder" in message
    run("encode", "a.parquet", "b.parquet", "-o", "out/", "--keep", "n")
