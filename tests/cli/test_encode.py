"""``numba-nlp encode``: every format in and out, rows equal to those of ``encode_batch``, nothing in memory whole."""

from __future__ import annotations

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import numba_nlp as nlp
from numba_nlp.corpora.reading.kept import Keep
from numba_nlp.corpora.reading.texts import TextReader
from numba_nlp.packing import PackedBlocks
from tests.cli.files import LINES, SPECIAL, TEXTS, write_arrow, write_csv, write_json_lines, write_lines, write_parquet

SOURCES = {
    "a.txt": lambda path: write_lines(path, LINES),
    "a.en": lambda path: write_lines(path, LINES),
    "b.txt.gz": lambda path: write_lines(path, LINES),
    "c.txt.zst": lambda path: write_lines(path, LINES),
    "c.txt.lz4": lambda path: write_lines(path, LINES),
    "c.txt.bz2": lambda path: write_lines(path, LINES),
    "d.jsonl": lambda path: write_json_lines(path, TEXTS),
    "e.jsonl.zst": lambda path: write_json_lines(path, TEXTS),
    "f.csv": lambda path: write_csv(path, [text or "" for text in TEXTS]),
    "g.csv.gz": lambda path: write_csv(path, [text or "" for text in TEXTS]),
    "h.parquet": lambda path: write_parquet(path, TEXTS),
    "i.parquet": lambda path: write_parquet(path, TEXTS, kind=pa.dictionary(pa.int32(), pa.string())),
    "j.arrow": lambda path: write_arrow(path, TEXTS),
    "k.arrow": lambda path: write_arrow(path, TEXTS, kind=pa.string_view(), new=pa.ipc.new_stream),
}


def texts_of(name):
    if ".csv" in name:
        return [text or "" for text in TEXTS]
    return LINES if name[0] in "abc" else TEXTS


@pytest.mark.parametrize("batch_rows", [1, 4, 65536])
@pytest.mark.parametrize("name", SOURCES)
def test_rows_of_every_format_are_those_of_encode_batch(name, batch_rows, run, tok, tmp_path):
    SOURCES[name](tmp_path / name)
    result = run("encode", name, "-o", "out.parquet", "--batch-rows", batch_rows, "--spans")
    texts = texts_of(name)
    expected = tok.encode_batch(texts, special="plain", nulls="null", spans=True)
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.field("ids").type == pa.list_(pa.int32())
    assert table["ids"].to_pylist() == expected.to_list()
    assert nlp.Ragged.from_arrow(table["starts"]).values.tolist() == expected.starts.tolist()
    assert nlp.Ragged.from_arrow(table["ends"]).values.tolist() == expected.ends.tolist()
    assert result.stdout.startswith(f"out.parquet: {len(texts)} rows, {expected.n_values:,} tokens (")
    assert f"note: special text {SPECIAL!r} occurred 2 times, taken as ordinary text\n" in result.stderr
    assert ("1 row was missing: kept missing" in result.stderr) == (None in texts)


def test_metadata_say_what_made_a_file(run, tok, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    run("encode", "a.txt", "-o", "out.parquet", "--add-special-tokens", "--special", "match")
    metadata = {
        key.decode(): value.decode() for key, value in pq.read_schema(tmp_path / "out.parquet").metadata.items()
    }
    assert metadata == {
        "numba_nlp.version": nlp.__version__,
        "numba_nlp.vocabulary_digest": tok.vocabulary.digest,
        "numba_nlp.special": "match",
        "numba_nlp.add_special_tokens": "true",
    }


@pytest.mark.parametrize(
    ("flags", "keywords"),
    [
        ([], {}),
        (["--add-special-tokens"], {"add_special_tokens": True}),
        (["--special", "match"], {"special": "match"}),
        (["--nulls", "empty", "--add-special-tokens"], {"nulls": "empty", "add_special_tokens": True}),
        (["--threads", "2"], {}),
    ],
)
def test_options_are_those_of_encode_batch(flags, keywords, run, tok, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    run("encode", "a.jsonl", "-o", "out.arrow", *flags)
    expected = tok.encode_batch(TEXTS, **{"special": "plain", "nulls": "null"} | keywords)
    with pa.OSFile("out.arrow") as stream:
        assert pa.ipc.open_file(stream).read_all()["ids"].to_pylist() == expected.to_list()


def test_spans_in_bytes(run, tok, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    run("encode", "a.txt", "-o", "out.npz", "--spans", "--unit", "byte")
    expected = tok.encode_batch(LINES, special="plain", spans=True, unit="byte")
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays["starts"].tolist() == expected.starts.tolist()
        assert arrays["ends"].tolist() == expected.ends.tolist()
        assert str(arrays["numba_nlp.unit"]) == "byte"


def test_npz_holds_the_arrays_of_a_ragged(run, tok, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    run("encode", "a.jsonl", "-o", "out.npz", "--batch-rows", 2)
    expected = tok.encode_batch(TEXTS, special="plain", nulls="null")
    with np.load(tmp_path / "out.npz") as arrays:
        made = nlp.Ragged(arrays["values"], arrays["offsets"], valid=arrays["valid"])
        assert str(arrays["numba_nlp.vocabulary_digest"]) == tok.vocabulary.digest
    assert made.equals(expected)
    # without missing rows there is no mask
    write_lines(tmp_path / "b.txt", LINES)
    run("encode", "b.txt", "-o", "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        assert nlp.Ragged(arrays["values"], arrays["offsets"]).equals(tok.encode_batch(LINES, special="plain"))
        assert "valid" not in arrays


def test_json_lines_and_text(run, tok, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    run("encode", "a.jsonl", "-o", "out.jsonl", "--spans")
    expected = tok.encode_batch(TEXTS, special="plain", nulls="null", spans=True)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["ids"] for row in rows] == expected.to_list()
    assert rows[3]["starts"] == expected.spans(3)[0].tolist()
    assert rows[TEXTS.index(None)] == {"ids": None, "starts": None, "ends": None}
    write_lines(tmp_path / "b.txt", LINES)
    run("encode", "b.txt", "-o", "out.txt")
    lines = (tmp_path / "out.txt").read_text().split("\n")
    assert lines == [" ".join(map(str, tok.encode(text, special="plain").tolist())) for text in LINES] + [""]


def test_packed_blocks(run, tok, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    write_json_lines(tmp_path / "b.jsonl", TEXTS)
    run(
        "encode", "a.txt", "b.jsonl", "-o", "out.bin", "--block-size", 16, "--separator", SPECIAL, "--remainder", "keep"
    )
    blocks = PackedBlocks.open(tmp_path / "out.bin", verify=True)
    end = tok.special_tokens[SPECIAL]
    expected = []
    for text in [*LINES, *(text for text in TEXTS if text is not None)]:
        expected += [end, *tok.encode(text, special="plain").tolist()]
    assert [*blocks.array.reshape(-1).tolist(), *blocks.tail.tolist()] == expected[1:]
    assert (blocks.block_size, blocks.vocabulary_digest) == (16, tok.vocabulary.digest)


def test_blocks_are_counted_and_files_without_one_are_told(run, tok, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    write_lines(tmp_path / "b.txt", ["the"])
    packed = ("--separator", SPECIAL, "--to", "packed")
    # a row, then a separator before each further one
    n_ids = tok.encode_batch(LINES, special="plain").n_values + len(LINES) - 1
    note = "ids were all left out; take a smaller --block-size, or --remainder pad or keep"
    result = run("encode", "a.txt", "-o", "out.bin", "--block-size", 4, *packed)
    assert f" tokens, {n_ids // 4} full blocks (" in result.stdout
    assert note not in result.stderr
    result = run("encode", "a.txt", "-o", "out.bin", "--block-size", n_ids, *packed)
    assert " tokens, 1 full block (" in result.stdout
    result = run("encode", "a.txt", "-o", "out.bin", "--block-size", n_ids + 1, *packed)
    assert " tokens, 0 full blocks (" in result.stdout
    assert f"note: 1 file has no full block: its {note}" in result.stderr
    for remainder, n_blocks in (("keep", 0), ("pad", 1)):
        more = ("--block-size", n_ids + 1, "--remainder", remainder, "--json")
        result = run("encode", "a.txt", "-o", "out.bin", *more, *packed)
        assert json.loads(result.stdout)["blocks"] == n_blocks
        assert note not in result.stderr
    # what an earlier run finished is counted too
    for _ in range(2):
        result = run("encode", "a.txt", "b.txt", "-o", "out/", "--block-size", n_ids, *packed)
        assert " tokens, 1 full block (" in result.stdout
        assert f"note: 1 file has no full block: its {note}" in result.stderr
    result = run("encode", "a.txt", "b.txt", "-o", "more/", "--block-size", 10**6, *packed)
    assert f"note: 2 files have no full block: their {note}" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs locks of POSIX")
def test_what_a_killed_run_left_of_the_same_output_is_removed(run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    (tmp_path / "out").mkdir()
    names = [".out.jsonl.7.0123456789ab.tmp", ".other.jsonl.7.0123456789ab.tmp"]
    names += [f"out/.{name}.7.0123456789ab.tmp" for name in ("a.jsonl", "_manifest.json", "a.parquet")]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (1, 1))
    run("encode", "a.txt", "-o", "out.jsonl")
    assert [name for name in names if (tmp_path / name).exists()] == names[1:]
    run("encode", "a.txt", "-o", "out/", "--to", "jsonl")
    assert [name for name in names if (tmp_path / name).exists()] == [names[1], names[4]]


def test_the_standard_input_and_output(run, tok, tmp_path):
    ids = [tok.encode(text, special="plain").tolist() for text in LINES]
    data = "".join(f"{line}\n" for line in LINES)
    result = run("encode", "-", "-o", "-", stdin=data)
    assert result.stdout == "".join(f"{' '.join(map(str, row))}\n" for row in ids)
    assert result.stderr.startswith("standard output: 6 rows")
    result = run("encode", "-", "-o", "-", "--to", "jsonl", "--from", "jsonl", stdin='{"text": "the"}\n')
    assert json.loads(result.stdout) == {"ids": tok.encode("the").tolist()}
    result = run("encode", "-", "-o", "-", "--to", "arrow", stdin=data)
    table = pa.ipc.open_stream(result.stdout_bytes).read_all()
    assert table["ids"].to_pylist() == ids
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, pa.schema({"text": pa.string()})) as writer:
        writer.write_batch(pa.record_batch({"text": LINES}))
    result = run("encode", "-", "-o", "-", "--from", "arrow", stdin=stream.getvalue().to_pybytes())
    assert len(result.stdout.splitlines()) == len(LINES)


def test_files_follow_each_other_in_one_output(run, tok, tmp_path):
    write_lines(tmp_path / "b.txt", ["the"])
    write_lines(tmp_path / "a.txt", ["and"])
    write_parquet(tmp_path / "c.parquet", ["a", None])
    run("encode", "*.txt", "c.parquet", "-o", "out.parquet")
    expected = tok.encode_batch(["and", "the", "a", None], nulls="null")
    assert pq.read_table(tmp_path / "out.parquet")["ids"].to_pylist() == expected.to_list()


def test_columns_by_name_and_by_path(run, tok, tmp_path):
    nested = [{"en": "the", "de": "die"}, {"en": None, "de": "und"}, None]
    expected = tok.encode_batch(["the", None, None], nulls="null").to_list()
    pq.write_table(pa.table({"translation": nested}), tmp_path / "a.parquet")
    write_json_lines(tmp_path / "b.jsonl", nested, column="translation")
    for name in ("a.parquet", "b.jsonl"):
        run("encode", name, "--column", "translation.en", "-o", "out.parquet")
        assert pq.read_table(tmp_path / "out.parquet")["ids"].to_pylist() == expected
    write_csv(tmp_path / "c.csv", ["the", "and"], column="body.text")
    run("encode", "c.csv", "--column", "body.text", "-o", "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["ids"].to_pylist() == tok.encode_batch(["the", "and"]).to_list()
    (tmp_path / "d.tsv").write_text('n\ttext\n1\tsay "the\n', encoding="utf-8")
    run("encode", "d.tsv", "-o", "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["ids"].to_pylist() == [tok.encode('say "the').tolist()]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.parquet", "a.arrow"])
def test_empty_files_give_files_without_rows(name, run, tmp_path):
    writer = {"a.txt": write_lines, "a.jsonl": write_lines, "a.parquet": write_parquet, "a.arrow": write_arrow}[name]
    writer(tmp_path / name, [])
    for output in ("out.parquet", "out.npz", "out.jsonl", "out.arrow"):
        run("encode", name, "-o", output)
    assert pq.read_table(tmp_path / "out.parquet").schema.names == ["ids"]
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays["offsets"].tolist() == [0]
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_memory_is_bounded_by_bytes_too(monkeypatch, run, tok, tmp_path):
    """Rows are long or short: no batch holds much more text than the bound, and all rows arrive."""
    monkeypatch.setattr(TextReader.__new__, "__defaults__", (64, Keep()))
    sizes = []
    encode = nlp.Tokenizer.encode_batch
    monkeypatch.setattr(
        nlp.Tokenizer,
        "encode_batch",
        lambda self, rows, **given: (sizes.append(rows.nbytes), encode(self, rows, **given))[1],
    )
    texts = ["y" * 30] * 20 + ["z" * 200] + ["the"] * 20
    write_lines(tmp_path / "a.txt", texts)
    write_json_lines(tmp_path / "b.jsonl", texts)
    write_csv(tmp_path / "c.csv", texts)
    write_parquet(tmp_path / "d.parquet", texts, row_group_size=10)
    for name in ("a.txt", "b.jsonl", "c.csv", "d.parquet"):
        sizes.clear()
        run("encode", name, "-o", "out.parquet")
        assert pq.read_table("out.parquet")["ids"].to_pylist() == [tok.encode(text).tolist() for text in texts]
        assert len(sizes) >= 8
        assert max(sizes) <= 264
