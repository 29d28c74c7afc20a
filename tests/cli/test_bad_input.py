"""Bad rows lose no others; bad files, columns and options are named in one line, with the way out."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.files import LINES, SPECIAL, TEXTS, write_arrow, write_csv, write_json_lines, write_lines, write_parquet
from tests.cli.messages import one_error


def ids_in(path):
    return pq.read_table(path)["ids"].to_pylist()


def usage(result):
    """The message of a wrong command line, whatever the width of its box."""
    assert result.exit_code == 2
    assert result.stdout == ""
    return " ".join(part for part in result.stderr.replace("│", " ").split())


# --- rows ------------------------------------------------------------------------------------------------------------

BAD = b"caf\xe9"


def bad_text(path):
    path.write_bytes(b"the\n" + BAD + b"\nand\n")


def bad_json_lines(path):
    path.write_bytes(b'{"text": "the"}\n{"text": "' + BAD + b'"}\n{"text": "and"}\n')


def bad_csv(path):
    path.write_bytes(b"text\nthe\n" + BAD + b"\nand\n")


def bad_parquet(path):
    pq.write_table(pa.table({"text": pa.array([b"the", BAD, b"and"], pa.binary())}), path)


def bad_arrow(path):
    write_arrow(path, [b"the", BAD, b"and"], kind=pa.large_binary())


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.txt", bad_text),
        ("a.jsonl", bad_json_lines),
        ("a.csv", bad_csv),
        ("a.parquet", bad_parquet),
        ("a.arrow", bad_arrow),
    ],
)
def test_bytes_that_are_no_text(name, write, run, tok, tmp_path):
    write(tmp_path / name)
    result = run("encode", name, "-o", "out.parquet")
    assert ids_in(tmp_path / "out.parquet") == [tok.encode(text).tolist() for text in ("the", "caf\ufffd", "and")]
    assert "note: 1 row was no valid text: U+FFFD stands in place of what was not UTF-8\n" in result.stderr
    message = one_error(run("encode", name, "-o", "no.parquet", "--errors", "strict", code=1))
    assert message == (
        f"error: {name}: row 1 is no valid text from its byte 3 on; pass --errors replace to put U+FFFD there\n"
    )
    assert not (tmp_path / "no.parquet").exists()


def test_a_lone_surrogate(run, tok, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a \\ud800 é"}\n{"text": "the"}\n', encoding="utf-8")
    result = run("encode", "a.jsonl", "-o", "out.parquet")
    assert ids_in(tmp_path / "out.parquet") == [tok.encode("a \ufffd é").tolist(), tok.encode("the").tolist()]
    assert "1 row was no valid text" in result.stderr
    assert "row 0 is no valid text" in one_error(
        run("encode", "a.jsonl", "-o", "no.parquet", "--errors", "strict", code=1)
    )


def test_missing_rows(run, tok, tmp_path):
    write_parquet(tmp_path / "a.parquet", ["the", None, "and"])
    message = one_error(run("encode", "a.parquet", "-o", "no.parquet", "--nulls", "error", code=1))
    assert message.startswith("error: a.parquet: row 1 is missing; pass --nulls null to keep it missing")
    result = run("encode", "a.parquet", "-o", "out.parquet", "--nulls", "empty")
    assert ids_in(tmp_path / "out.parquet") == [tok.encode("the").tolist(), [], tok.encode("and").tolist()]
    assert "1 row was missing: taken as empty text" in result.stderr


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"text": "cut', "line 2: is no JSON"),
        ('["the"]', "line 2: is a list, expected an object"),
        ('{"text": 5}', "line 2: the entry 'text' is a number, not text; pass another --column"),
        ('{"text": {"en": "the"}}', "line 2: the entry 'text' is an object, not text"),
        ("1" * 5000, "line 2: is no JSON"),
        ("[" * 100_000, "line 2: is no JSON"),
    ],
)
def test_lines_that_cannot_be_read(line, complaint, run, tok, tmp_path):
    (tmp_path / "a.jsonl").write_text(f'{{"text": "the"}}\n{line}\n\n{{"text": "and"}}\n', encoding="utf-8")
    result = run("encode", "a.jsonl", "-o", "out.parquet", "--json")
    assert ids_in(tmp_path / "out.parquet") == [tok.encode("the").tolist(), None, tok.encode("and").tolist()]
    said = json.loads(result.stdout)
    assert (said["missing"], said["unreadable"]) == (1, 1)
    message = one_error(run("encode", "a.jsonl", "-o", "no.parquet", "--errors", "strict", code=1))
    assert f"a.jsonl, {complaint}" in message


def test_rows_of_csv_with_too_few_fields(run, tok, tmp_path):
    (tmp_path / "a.csv").write_text("n,text\n1,the\n2\n3,and\n")
    result = run("encode", "a.csv", "-o", "out.parquet")
    assert ids_in(tmp_path / "out.parquet") == [tok.encode("the").tolist(), None, tok.encode("and").tolist()]
    assert "1 row was missing (1 unreadable): kept missing" in result.stderr
    message = one_error(run("encode", "a.csv", "-o", "no.parquet", "--errors", "strict", code=1))
    assert "a.csv, line 3: has 1 fields, the column 'text' is number 2; pass --errors replace" in message


def test_special_text_is_counted_or_refused(run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    result = run("encode", "a.txt", "-o", "out.parquet", "--special", "match")
    assert f"special text {SPECIAL!r} occurred 2 times, given its id" in result.stderr
    message = one_error(run("encode", "a.txt", "-o", "no.parquet", "--special", "raise", "--batch-rows", 2, code=1))
    assert message.startswith(f"error: a.txt, rows counted from row 2: the text holds the special token {SPECIAL!r}")
    assert not (tmp_path / "no.parquet").exists()


def test_a_long_row(run, tok, tmp_path):
    """One string of 10 MB, in every format."""
    text = "the and " * 1_250_000
    write_lines(tmp_path / "a.txt", [text])
    write_json_lines(tmp_path / "b.jsonl", [text])
    write_csv(tmp_path / "c.csv", [text])
    write_parquet(tmp_path / "d.parquet", [text])
    result = run("count", "a.txt", "b.jsonl", "c.csv", "d.parquet", "--json")
    assert {entry["tokens"] for entry in json.loads(result.stdout)["files"]} == {tok.count(text)}


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.txt", "nothing.txt: there is no such file"),
        ("*.none", "*.none: no file matches this pattern"),
        ("folder", "folder: is a folder; name its files, or a pattern such as 'folder/*.parquet'"),
        ("a.xlsx", "a.xlsx: .xlsx files are not read as they are; save it as CSV"),
        ("a.json", "a.json: .json files are not read as they are; pass --from jsonl"),
        ("a.npz", "a.npz: .npz files are not read as they are; decode reads it"),
        ("b.parquet.gz", "b.parquet.gz: parquet files are not read packed with gzip; unpack it"),
    ],
)
def test_files_that_are_not_there_or_not_read(name, message, run, tmp_path):
    (tmp_path / "folder").mkdir()
    for there in ("a.xlsx", "a.json", "a.npz", "b.parquet.gz"):
        (tmp_path / there).write_bytes(b"x")
    assert message in one_error(run("encode", name, "-o", "out.parquet", code=1))
    assert not (tmp_path / "out.parquet").exists()


def test_damaged_files(run, tmp_path):
    whole = gzip.compress(b"the and\n" * 10_000)
    (tmp_path / "cut.txt.gz").write_bytes(whole[:-20])
    (tmp_path / "bad.jsonl.gz").write_bytes(whole[:20] + b"\x00" * 20 + whole[40:])
    (tmp_path / "none.csv.gz").write_bytes(b"text\nthe\n")
    write_lines(tmp_path / "cut.txt.zst", ["the and"] * 1000)
    (tmp_path / "cut.txt.zst").write_bytes((tmp_path / "cut.txt.zst").read_bytes()[:-5])
    (tmp_path / "none.txt.zst").write_bytes(b"the\n")
    for name in ("cut.txt.gz", "bad.jsonl.gz", "none.csv.gz", "cut.txt.zst", "none.txt.zst"):
        packing = "gzip" if name.endswith("gz") else "zstd"
        message = one_error(run("encode", name, "-o", "out.parquet", code=1))
        assert message.startswith(f"error: {name}: cannot be unpacked as {packing} (")
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "a.parquet", write_page_checksum=True)
    whole = (tmp_path / "a.parquet").read_bytes()
    place = whole.index("naïve".encode())
    (tmp_path / "flip.parquet").write_bytes(whole[:place] + b"N" + whole[place + 1 :])
    (tmp_path / "cut.parquet").write_bytes(whole[:-10])
    (tmp_path / "bad.parquet").write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    (tmp_path / "none.arrow").write_bytes(b"the\n" * 10)
    for name in ("cut.parquet", "bad.parquet", "flip.parquet", "none.arrow"):
        message = one_error(run("encode", name, "-o", "out.parquet", code=1))
        assert message.startswith(f"error: {name}: cannot be read")
    assert not (tmp_path / "out.parquet").exists()


def test_files_that_are_called_otherwise(run, tmp_path):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"the\n"))
    assert "a.txt: is packed with gzip; call it *.gz" in one_error(run("encode", "a.txt", "-o", "x.npz", code=1))
    write_parquet(tmp_path / "b.jsonl", TEXTS)
    assert "b.jsonl: is a Parquet file; pass --from parquet" in one_error(
        run("encode", "b.jsonl", "-o", "x.npz", code=1)
    )
    run("encode", "b.jsonl", "--from", "parquet", "-o", "x.npz")


def test_columns_that_are_not_there(run, tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    write_arrow(tmp_path / "a.arrow", TEXTS)
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    write_csv(tmp_path / "a.csv", ["the"])
    for name, listed in (
        ("a.parquet", "has no column 'words'; it has 'n', 'text'; pass --column"),
        ("a.arrow", "has no column 'words'; it has 'text'; pass --column"),
        ("a.jsonl", "no line has an entry 'words'; the first ones have n, text; pass --column"),
        ("a.csv", "has no column 'words'; its first row is 'n', 'text'; pass --column"),
    ):
        message = one_error(run("encode", name, "--column", "words", "-o", "out.parquet", code=1))
        assert message == f"error: {name}: {listed}\n"
    assert "the column 'n' holds int64, not text; pass another --column" in one_error(
        run("encode", "a.parquet", "--column", "n", "-o", "out.parquet", code=1)
    )
    assert "a.jsonl, line 1: the entry 'n' is a number, not text" in one_error(
        run("encode", "a.jsonl", "--column", "n", "-o", "out.parquet", code=1)
    )
    (tmp_path / "b.csv").write_bytes(b"")
    assert "b.csv: is empty" in one_error(run("encode", "b.csv", "-o", "out.parquet", code=1))
    (tmp_path / "c.csv").write_bytes(b"text,text\na,b\n")
    assert "c.csv: has 2 columns 'text'" in one_error(run("encode", "c.csv", "-o", "out.parquet", code=1))


def test_a_column_that_is_missing_in_a_later_file_is_found_before_any_is_read(run, tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    write_parquet(tmp_path / "b.parquet", TEXTS, column="body")
    message = one_error(run("encode", "a.parquet", "b.parquet", "-o", "out/", code=1))
    assert "b.parquet: has no column 'text'; it has 'n', 'body'" in message
    assert not (tmp_path / "out").exists()


def test_an_output_stays_as_it_was_when_a_later_file_fails(run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    (tmp_path / "b.txt.gz").write_bytes(b"none")
    for name in ("out.parquet", "out.npz", "out.bin", "out.jsonl", "out.arrow"):
        (tmp_path / name).write_bytes(b"before")
        packing = ["--block-size", 4, "--separator", SPECIAL] if name == "out.bin" else []
        one_error(run("encode", "a.txt", "b.txt.gz", "-o", name, *packing, code=1))
        assert (tmp_path / name).read_bytes() == b"before"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_folder_of_the_output_and_the_vocabulary(run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    assert "no such folder" in one_error(run("encode", "a.txt", "-o", "no/out.parquet", code=1))
    assert "none.safetensors" in one_error(run("encode", "a.txt", "-o", "x.npz", "-v", "none.safetensors", code=1))


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["encode"], "Missing argument"),
        (["encode", "a.txt"], "Missing option"),
        (["encode", "a.txt", "-o", "out.xyz"], "tells no format that this command writes"),
        (["encode", "a.txt", "-o", "out.parquet", "--to", "xml"], "'xml' is none of parquet, arrow"),
        (["encode", "a.txt", "-o", "out.parquet", "--from", "xml"], "'xml' is none of text, jsonl"),
        (["encode", "a.txt", "-o", "-", "--to", "npz"], "npz is not written to stdout"),
        (["encode", "a.txt", "-o", "out.parquet", "--special", "some"], "'some' is none of plain, match, raise"),
        (["encode", "a.txt", "-o", "out.parquet", "--batch-rows", "0"], "--batch-rows"),
        (["encode", "a.txt", "-o", "out.parquet", "--column", "text"], "text files have no columns"),
        (["encode", "a.txt", "-o", "out.parquet", "--shard-rows", "5"], "shards go into a folder"),
        (["encode", "a.txt", "-o", "out.parquet", "--block-size", "5"], "is for packed blocks"),
        (["encode", "a.txt", "-o", "out.bin", "--block-size", "5"], "'<|end|>'"),
        (["encode", "a.txt", "-o", "out.bin", "--separator", "<|end|>"], "--block-size"),
        (["encode", "a.txt", "-o", "out.bin", "--block-size", "5", "--separator", "<x>"], "has no token '<x>'"),
        (["encode", "a.txt", "-o", "a.txt"], "is one of the files to read"),
        (["encode", "-", "-", "-o", "out.parquet"], "is given twice"),
        (["encode", "a.txt", "-o", "out.parquet", "--option", "x=1"], "a compiled vocabulary takes none"),
        (["encode", "a.txt", "-o", "out.parquet", "--option", "x"], "'x' is not NAME=VALUE"),
        (["decode", "a.txt", "-o", "out.npz"], "tells no format that this command writes"),
        (["warmup"], "name a vocabulary"),
        (["explode"], "explode"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(arguments, message, run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    before = (tmp_path / "a.txt").read_bytes()
    assert message in usage(run(*arguments, code=2))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.txt": before}
