"""What a run may write over: never a source, the vocabulary, a shard of another source, or what no run made."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.files import SPECIAL, write_lines
from tests.cli.messages import one_error


def rows(path):
    return parquet.read_table(path).num_rows


@pytest.fixture
def lines(tmp_path):
    write_lines(tmp_path / "a.txt", [str(number) for number in range(30)])
    write_lines(tmp_path / "a-00001.txt", [str(number) for number in range(11)])
    return tmp_path


def test_stale_shards_that_became_those_of_another_source_stay(run, lines):
    run("encode", "a.txt", "-o", "out/", "--shard-rows", 10)
    run("encode", "a-00001.txt", "-o", "out/", code=2)  # its name is that of a shard
    run("encode", "a.txt", "-o", "out/")  # as one shard, so that the others are left over and go
    assert sorted(os.listdir("out")) == ["_manifest.json", "a.parquet"]
    run("encode", "*.txt", "-o", "out/")
    assert (rows("out/a.parquet"), rows("out/a-00001.parquet")) == (30, 11)


def test_a_run_may_take_the_name_of_a_stale_shard(run, lines):
    run("encode", "a.txt", "-o", "out/", "--shard-rows", 10)
    assert "holds the rows of" in run("encode", "*.txt", "-o", "out/", code=2).output
    run("encode", "*.txt", "-o", "new/")
    assert (rows("new/a.parquet"), rows("new/a-00001.parquet")) == (30, 11)


def test_later_shards_are_written_over_no_source(run, lines):
    parquet.write_table(pa.table({"text": ["precious"] * 3}), lines / "a-00001.parquet")
    message = run("encode", "a.txt", "a-00001.parquet", "-o", f"{lines}/", "--shard-rows", 10, code=2).output
    assert "a-00001.parquet is one of the files to read" in message
    assert parquet.read_table(lines / "a-00001.parquet").column_names == ["text"]


def test_later_shards_are_written_over_no_other_shard(run, lines):
    run("encode", "a-00001.txt", "-o", "out/")
    message = run("encode", "a.txt", "-o", "out/", "--shard-rows", 10, code=2).output
    assert "a-00001.parquet holds the rows of" in message
    assert "or pass --overwrite" in message
    assert rows("out/a-00001.parquet") == 11
    run("encode", "a.txt", "-o", "out/", "--shard-rows", 10, "--overwrite")
    assert rows("out/a-00001.parquet") == 10


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_one_file_by_two_names(run, lines):
    os.symlink("a.txt", lines / "b.txt")
    message = run("encode", "a.txt", "b.txt", "-o", "out/", code=2).output
    assert "a.txt and b.txt are one file, whose rows would be there twice; name one of them" in message


def test_a_run_with_other_options_says_so_before_it_writes(run, lines, monkeypatch):
    """Killed in its midst, it must not leave shards that an earlier record takes for its own."""
    from numba_nlp.commands import jobs

    run("encode", "*.txt", "-o", "out/", "--to", "packed", "--block-size", 2, "--separator", SPECIAL)

    def fails(*args):
        raise MemoryError

    monkeypatch.setattr(jobs, "write_rows", fails)
    with pytest.raises(MemoryError):
        run("encode", "*.txt", "-o", "out/", "--to", "packed", "--block-size", 4, "--separator", SPECIAL)
    content = json.loads((lines / "out" / "_manifest.json").read_text(encoding="utf-8"))
    assert [source["complete"] for source in content["sources"].values()] == [False, False]
    assert all(not source["shards"] for source in content["sources"].values())


def test_what_stands_beside_packed_blocks(run, lines):
    packing = ["--separator", SPECIAL, "--block-size", 1]
    (lines / "x.bin.json").write_text('{"text": "a"}\n')
    message = run("encode", "x.bin.json", "--from", "jsonl", "-o", "x.bin", *packing, code=2).output
    assert "x.bin.json is one of the files to read" in message
    message = run("encode", "a.txt", "-o", "x.bin", *packing, code=2).output
    assert "x.bin.json is there and describes no packed blocks" in message
    assert (lines / "x.bin.json").read_text() == '{"text": "a"}\n'
    run("encode", "a.txt", "-o", "y.bin", *packing)
    run("encode", "a.txt", "-o", "y.bin", *packing)


def test_the_vocabulary_is_not_written_over(run, vocabulary, lines):
    message = run("encode", "a.txt", "-o", vocabulary, "--to", "parquet", code=2).output
    assert f"{vocabulary} is one of the files to read" in message


def test_files_that_no_run_made_stay(run, lines):
    (lines / "out").mkdir()
    (lines / "out" / "a.parquet").write_bytes(b"mine")
    message = run("encode", "a.txt", "-o", "out/", code=2).output
    assert "a.parquet is there, and no record says that a run made it" in message
    assert (lines / "out" / "a.parquet").read_bytes() == b"mine"
    run("encode", "a.txt", "-o", "out/", "--overwrite")
    assert rows("out/a.parquet") == 30


def test_another_command_does_not_replace_ids(run, lines):
    run("encode", "a.txt", "-o", "out/")
    message = run("count", "a.txt", "-o", "out/", code=2).output
    assert "out holds what 'encode' made of a.txt; name another folder, or pass --overwrite" in message
    assert parquet.read_table("out/a.parquet").column_names == ["ids"]


@pytest.mark.skipif(os.name != "posix", reason="needs names that are no text")
def test_names_that_are_no_text(run, lines):
    name = os.fsdecode(b"b\xff.txt")
    write_lines(lines / name, ["x"])
    run("encode", name, "-o", "out/")
    assert "1 finished before" in run("encode", name, "-o", "out/").output


def test_a_damaged_file_does_not_stop_the_others(run, lines):
    parquet.write_table(pa.table({"text": ["a", "b"]}), lines / "good.parquet")
    (lines / "cut.parquet").write_bytes((lines / "good.parquet").read_bytes()[:40])
    assert "cut.parquet" in run("encode", "cut.parquet", "good.parquet", "-o", "out/", code=1).output
    assert rows("out/good.parquet") == 2


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_a_quote_that_is_not_closed(run, lines, errors):
    (lines / "u.csv").write_text('id,text\n0,"a ""word"""\n1,"unclosed\n2,b\n3,c\n')
    message = one_error(run("encode", "u.csv", "-o", "u.parquet", "--errors", errors, code=1))
    assert "u.csv, line " in message
    (lines / "v.csv").write_text('id,text\n0,"a ""word"""\n1,"two\nlines"\n2,"end')
    assert "v.csv, line " in one_error(run("encode", "v.csv", "-o", "v.parquet", "--errors", errors, code=1))
    (lines / "w.csv").write_text('id,text\n0,"a ""word"""\n1,"two\nlines"\n2,"end"')
    run("encode", "w.csv", "-o", "w.parquet", "--errors", errors)
    assert rows("w.parquet") == 3


def test_packed_files_without_a_byte(run, lines):
    for name in ("e.txt.gz", "e.txt.zst", "e.txt.bz2"):
        (lines / name).write_bytes(b"")
        assert "is empty, and no file that" in one_error(run("encode", name, "-o", "e.parquet", code=1))


def test_numbers_that_only_python_reads(run, lines):
    (lines / "ids.txt").write_text("1_0\n")
    assert '"1_0" is no list of ids' in one_error(run("decode", "ids.txt", "-o", "d.txt", code=1))
