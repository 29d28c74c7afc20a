"""Folders of shards: what is finished stays, what differs is made anew, and nothing is ever half there."""

from __future__ import annotations

import json
import os

import pyarrow.parquet as pq
import pytest

import numba_nlp as nlp
from numba_nlp.commands import jobs
from numba_nlp.corpora.writing import files as writing
from tests.cli.files import LINES, TEXTS, write_json_lines, write_lines
from tests.cli.messages import one_error


@pytest.fixture
def corpus(tmp_path):
    """Three files of six lines."""
    for name in "abc":
        write_lines(tmp_path / f"{name}.txt", [f"{name} {line}" for line in LINES])


@pytest.fixture
def written(monkeypatch):
    """Names of the files that are written, in order."""
    names = []
    write = jobs.write_rows

    def noted(path, *arguments):
        names.append(path.name)
        write(path, *arguments)

    monkeypatch.setattr(jobs, "write_rows", noted)
    return names


def ids_in(path):
    return pq.read_table(path)["ids"].to_pylist()


def ids_of(tok, name, first=0, last=None):
    return [tok.encode(f"{name} {line}", special="plain").tolist() for line in LINES][first:last]


def manifest(folder):
    return json.loads((folder / "_manifest.json").read_text())


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_each_source_has_a_file(corpus, run, tok, tmp_path):
    result = run("encode", "*.txt", "-o", "out")
    assert names_in(tmp_path / "out") == ["_manifest.json", "a.parquet", "b.parquet", "c.parquet"]
    for name in "abc":
        assert ids_in(tmp_path / "out" / f"{name}.parquet") == ids_of(tok, name)
    assert result.stdout.startswith("out: 3 files; 18 rows, ")
    # readers of folders leave the record out
    assert pq.read_table(tmp_path / "out").num_rows == 18


def test_a_finished_run_does_nothing_when_it_is_started_again(corpus, run, written, tmp_path):
    first = run("encode", "*.txt", "-o", "out", "--json")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")}
    written.clear()
    again = run("encode", "*.txt", "-o", "out", "--json")
    assert written == []
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")} == before
    said, said_again = json.loads(first.stdout), json.loads(again.stdout)
    assert (said["files"], said["skipped"]) == (3, 0)
    assert (said_again["files"], said_again["skipped"]) == (0, 3)
    for what in ("rows", "tokens", "text_bytes", "specials"):
        assert said[what] == said_again[what]
    assert "3 finished before" in run("encode", "*.txt", "-o", "out").stdout


def test_what_is_lost_is_made_anew_and_nothing_else(corpus, run, written, tok, tmp_path):
    run("encode", "*.txt", "-o", "out")
    (tmp_path / "out" / "b.parquet").unlink()
    written.clear()
    run("encode", "*.txt", "-o", "out")
    assert written == ["b.parquet"]
    (tmp_path / "out" / "c.parquet").write_bytes(b"cut")
    written.clear()
    run("encode", "*.txt", "-o", "out")
    assert written == ["c.parquet"]
    assert ids_in(tmp_path / "out" / "c.parquet") == ids_of(tok, "c")


def test_a_run_that_breaks_off_goes_on(corpus, run, written, monkeypatch, tok, tmp_path):
    """The writer fails in the middle of the second file: the first one stays, nothing of the second is there."""
    work = writing._write_parquet
    calls = []

    def breaks(stream, results, metadata):
        calls.append(None)
        if len(calls) == 2:
            stream.write(b"PAR1 half of a file")
            raise OSError(28, "No space left on device")
        work(stream, results, metadata)

    monkeypatch.setattr(writing, "_write_parquet", breaks)
    assert one_error(run("encode", "*.txt", "-o", "out", code=1)) == "error: out/b.parquet: no space left on device\n"
    assert names_in(tmp_path / "out") == ["_manifest.json", "a.parquet"]
    written.clear()
    run("encode", "*.txt", "-o", "out")
    assert written == ["b.parquet", "c.parquet"]
    for name in "abc":
        assert ids_in(tmp_path / "out" / f"{name}.parquet") == ids_of(tok, name)


def test_a_run_that_is_stopped_by_hand_goes_on(corpus, run, written, monkeypatch, tmp_path):
    encode = nlp.Tokenizer.encode_batch

    def stopped(tok, rows, **given):
        if len(rows) and rows[0].startswith("c"):
            raise KeyboardInterrupt
        return encode(tok, rows, **given)

    with monkeypatch.context() as patched:
        patched.setattr(nlp.Tokenizer, "encode_batch", stopped)
        run("encode", "*.txt", "-o", "out", code=130)
    assert names_in(tmp_path / "out") == ["_manifest.json", "a.parquet", "b.parquet"]
    written.clear()
    run("encode", "*.txt", "-o", "out")
    assert written == ["c.parquet"]


def test_a_run_that_is_killed_before_its_record_is_written_makes_the_shard_again(corpus, run, written, tmp_path):
    run("encode", "*.txt", "-o", "out")
    record = tmp_path / "out" / "_manifest.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    for source in content["sources"].values():  # as it is before the first shard is written
        source.update(complete=False, shards={})
    record.write_text(json.dumps(content), encoding="utf-8")
    written.clear()
    run("encode", "*.txt", "-o", "out")
    assert written == ["a.parquet", "b.parquet", "c.parquet"]


def test_sources_that_changed_are_made_anew(corpus, run, written, tok, tmp_path):
    run("encode", "*.txt", "-o", "out")
    write_lines(tmp_path / "b.txt", ["other"])
    state = os.stat(tmp_path / "c.txt")
    os.utime(tmp_path / "c.txt", ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    written.clear()
    run("encode", "*.txt", "-o", "out")
    assert written == ["b.parquet", "c.parquet"]
    assert ids_in(tmp_path / "out" / "b.parquet") == [tok.encode("other").tolist()]


@pytest.mark.parametrize(
    "flags",
    [
        ["--add-special-tokens"],
        ["--special", "match"],
        ["--spans"],
        ["--nulls", "empty"],
        ["--errors", "strict"],
        ["--overwrite"],
    ],
)
def test_other_options_make_all_anew(flags, corpus, run, written):
    run("encode", "*.txt", "-o", "out")
    written.clear()
    run("encode", "*.txt", "-o", "out", *flags)
    assert written == ["a.parquet", "b.parquet", "c.parquet"]


def test_options_that_change_no_id_make_nothing_anew(corpus, run, written):
    run("encode", "*.txt", "-o", "out")
    written.clear()
    run("encode", "*.txt", "-o", "out", "--batch-rows", 2, "--threads", 1, "--no-progress")
    assert written == []


def test_another_vocabulary_makes_all_anew(corpus, run, written, tok, tmp_path):
    from tests.toy_vocabulary import toy_vocabulary

    run("encode", "*.txt", "-o", "out")
    toy_vocabulary(merges=[(b"t", b"h")]).save(tmp_path / "other.safetensors")
    written.clear()
    run("encode", "*.txt", "-o", "out", "-v", tmp_path / "other.safetensors")
    assert written == ["a.parquet", "b.parquet", "c.parquet"]


def test_shards_of_so_many_rows(corpus, run, tok, tmp_path):
    run("encode", "a.txt", "b.txt", "-o", "out", "--shard-rows", 4, "--batch-rows", 3)
    expected = ["_manifest.json", "a-00000.parquet", "a-00001.parquet", "b-00000.parquet", "b-00001.parquet"]
    assert names_in(tmp_path / "out") == expected
    assert ids_in(tmp_path / "out" / "a-00000.parquet") == ids_of(tok, "a", 0, 4)
    assert ids_in(tmp_path / "out" / "a-00001.parquet") == ids_of(tok, "a", 4)


def test_a_lost_shard_within_a_source(corpus, run, written, tok, tmp_path):
    run("encode", "*.txt", "-o", "out", "--shard-rows", 2)
    (tmp_path / "out" / "b-00001.parquet").unlink()
    written.clear()
    result = run("encode", "*.txt", "-o", "out", "--shard-rows", 2, "--json")
    assert written == ["b-00001.parquet"]
    assert json.loads(result.stdout)["rows"] == 18
    assert ids_in(tmp_path / "out" / "b-00001.parquet") == ids_of(tok, "b", 2, 4)


def test_shards_that_a_shorter_source_has_no_more_are_removed(corpus, run, tok, tmp_path):
    run("encode", "*.txt", "-o", "out", "--shard-rows", 2)
    write_lines(tmp_path / "a.txt", ["short"])
    run("encode", "*.txt", "-o", "out", "--shard-rows", 2)
    assert [name for name in names_in(tmp_path / "out") if name.startswith("a-")] == ["a-00000.parquet"]
    assert ids_in(tmp_path / "out" / "a-00000.parquet") == [tok.encode("short").tolist()]
    assert manifest(tmp_path / "out")["sources"][str(tmp_path / "a.txt")]["stale"] == []


def test_sources_that_cannot_be_read_do_not_stop_the_others(corpus, run, written, tmp_path):
    (tmp_path / "b.txt").rename(tmp_path / "kept")
    (tmp_path / "b.txt.gz").write_bytes(b"no gzip at all")
    result = run("encode", "*.txt*", "-o", "out", code=1)
    assert result.stdout.startswith("out: 2 files; 12 rows")
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: b.txt.gz: cannot be unpacked as gzip")
    assert names_in(tmp_path / "out") == ["_manifest.json", "a.parquet", "c.parquet"]
    (tmp_path / "b.txt.gz").unlink()
    (tmp_path / "kept").rename(tmp_path / "b.txt")
    written.clear()
    run("encode", "*.txt*", "-o", "out")
    assert written == ["b.parquet"]


def test_packed_shards_and_their_sidecars(corpus, run, written, tmp_path):
    packing = ["--to", "packed", "--block-size", 8, "--separator", "<|end|>"]
    run("encode", "*.txt", "-o", "out", *packing)
    expected = ["_manifest.json", "a.bin", "a.bin.json", "b.bin", "b.bin.json", "c.bin", "c.bin.json"]
    assert names_in(tmp_path / "out") == expected
    written.clear()
    run("encode", "*.txt", "-o", "out", *packing)
    assert written == []
    run("encode", "*.txt", "-o", "out", *packing[:3], 16, *packing[4:])
    assert written == ["a.bin", "b.bin", "c.bin"]


def test_decoding_and_counting_go_on_too(corpus, run, written, tmp_path):
    run("encode", "*.txt", "-o", "ids")
    run("decode", "ids/*.parquet", "-o", "texts")
    run("count", "*.txt", "-o", "counts")
    (tmp_path / "texts" / "b.jsonl").unlink()
    (tmp_path / "counts" / "c.parquet").unlink()
    written.clear()
    run("decode", "ids/*.parquet", "-o", "texts")
    run("count", "*.txt", "-o", "counts")
    assert written == ["b.jsonl", "c.parquet"]


def test_two_sources_of_one_name_are_refused(run, tmp_path):
    (tmp_path / "x").mkdir()
    write_lines(tmp_path / "a.txt", LINES)
    write_json_lines(tmp_path / "x" / "a.jsonl", TEXTS)
    result = run("encode", "a.txt", "x/a.jsonl", "-o", "out/", code=2)
    assert "a.txt and x/a.jsonl would both be written to a.parquet" in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


def test_the_shard_of_another_source_is_not_written_over(corpus, run, tok, tmp_path):
    (tmp_path / "x").mkdir()
    write_lines(tmp_path / "x" / "a.txt", ["another"])
    run("encode", "*.txt", "-o", "out")
    result = run("encode", "x/a.txt", "-o", "out", code=2)
    assert "holds the rows of" in result.stderr
    assert ids_in(tmp_path / "out" / "a.parquet") == ids_of(tok, "a")
    run("encode", "x/a.txt", "-o", "out", "--overwrite")
    assert ids_in(tmp_path / "out" / "a.parquet") == [tok.encode("another").tolist()]
    assert str(tmp_path / "a.txt") not in manifest(tmp_path / "out")["sources"]


def test_a_source_in_the_folder_is_not_written_over(run, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    before = (tmp_path / "a.jsonl").read_bytes()
    result = run("encode", "a.jsonl", "-o", ".", "--to", "jsonl", code=2)
    assert "is one of the files to read" in result.stderr
    assert (tmp_path / "a.jsonl").read_bytes() == before


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"format": "other", "version": 1}', b'{"format": 5}'])
def test_a_damaged_record_is_named(content, corpus, run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_manifest.json").write_bytes(content)
    message = one_error(run("encode", "*.txt", "-o", "out", code=1))
    assert "_manifest.json: is no record of shards that this version can read" in message
    assert "remove it" in message


def test_the_standard_input_is_never_finished(run, written):
    for _ in range(2):
        run("encode", "-", "-o", "out/", stdin="the\n")
    assert written == ["stdin.parquet", "stdin.parquet"]
