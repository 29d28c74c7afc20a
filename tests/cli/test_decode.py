"""``numba-nlp decode``: what encode wrote comes back, whatever the format."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from numba_nlp.packing import PackedBlocks
from tests.cli.files import LINES, SPECIAL, TEXTS, write_json_lines, write_lines
from tests.cli.messages import one_error
from tests.toy_vocabulary import MERGES, toy_vocabulary


def texts_of(path):
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("batch_rows", [2, 65536])
@pytest.mark.parametrize("name", ["ids.parquet", "ids.arrow", "ids.npz", "ids.jsonl"])
def test_what_encode_wrote_comes_back(name, batch_rows, run, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    run("encode", "a.jsonl", "-o", name, "--batch-rows", 3)
    result = run("decode", name, "-o", "back.jsonl", "--batch-rows", batch_rows)
    assert texts_of(tmp_path / "back.jsonl") == TEXTS
    assert result.stdout.startswith(f"back.jsonl: {len(TEXTS)} rows, ")
    run("decode", name, "-o", "back.parquet", "--batch-rows", batch_rows)
    assert pq.read_table(tmp_path / "back.parquet")["text"].to_pylist() == TEXTS


def test_text_through_pipes(run, tmp_path):
    data = "".join(f"{line}\n" for line in LINES)
    ids = run("encode", "-", "-o", "-", stdin=data).stdout
    assert run("decode", "-", "-o", "-", stdin=ids).stdout_bytes == data.encode()
    (tmp_path / "ids.txt.gz").write_bytes(__import__("gzip").compress(ids.encode()))
    run("decode", "ids.txt.gz", "-o", "back.txt")
    assert (tmp_path / "back.txt").read_bytes() == data.encode()


def test_packed_blocks_are_rows(run, tok, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    run("encode", "a.txt", "-o", "ids.bin", "--block-size", 100, "--separator", SPECIAL, "--remainder", "keep")
    run("decode", "ids.bin", "-o", "back.jsonl", "--batch-rows", 2)
    blocks = PackedBlocks.open(tmp_path / "ids.bin")
    assert len(blocks) == 3
    rows = [*blocks.array.tolist(), blocks.tail.tolist()]
    assert texts_of(tmp_path / "back.jsonl") == [tok.decode(row) for row in rows]


def test_special_tokens_can_be_left_out(run, tmp_path):
    write_lines(tmp_path / "a.txt", ["the"])
    run("encode", "a.txt", "-o", "ids.parquet", "--add-special-tokens")
    run("decode", "ids.parquet", "-o", "-")
    assert run("decode", "ids.parquet", "-o", "-").stdout == f"{SPECIAL}the{SPECIAL}\n"
    assert run("decode", "ids.parquet", "-o", "-", "--skip-special-tokens").stdout == "the\n"


def test_ids_of_another_column_and_type(run, tok, tmp_path):
    ids = [tok.encode("the and").tolist(), None, []]
    pq.write_table(pa.table({"input_ids": pa.array(ids, pa.large_list(pa.int64()))}), tmp_path / "ids.parquet")
    run("decode", "ids.parquet", "--column", "input_ids", "-o", "back.jsonl")
    assert texts_of(tmp_path / "back.jsonl") == ["the and", None, ""]


def test_half_a_character(run, tok, tmp_path):
    half = tok.encode("☃").tolist()[:2]
    (tmp_path / "ids.jsonl").write_text(json.dumps({"ids": half}))
    run("decode", "ids.jsonl", "-o", "back.jsonl")
    assert texts_of(tmp_path / "back.jsonl") == ["\ufffd"]
    run("decode", "ids.jsonl", "-o", "back.jsonl", "--errors", "ignore")
    assert texts_of(tmp_path / "back.jsonl") == [""]
    message = one_error(run("decode", "ids.jsonl", "-o", "back.jsonl", "--errors", "strict", code=1))
    assert "ids.jsonl, rows counted from row 0" in message
    assert "pass --errors replace" in message


def test_ids_of_another_vocabulary_are_refused(run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    toy_vocabulary(merges=[*MERGES[3:], *MERGES[:3]]).save(tmp_path / "other.safetensors")
    for name, more in (
        ("ids.parquet", ()),
        ("ids.arrow", ()),
        ("ids.npz", ()),
        ("ids.bin", ("--block-size", 8, "--separator", SPECIAL)),
    ):
        run("encode", "a.txt", "-o", name, *more)
        message = one_error(run("decode", name, "-v", "other.safetensors", "-o", "back.jsonl", code=1))
        assert "its ids are of the vocabulary with the digest" in message
        assert not (tmp_path / "back.jsonl").exists()
    run("decode", "ids.parquet", "-v", "other.safetensors", "--any-vocabulary", "-o", "back.jsonl")
    assert len(texts_of(tmp_path / "back.jsonl")) == len(LINES)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ids.jsonl", '{"ids": [1]}\n{"ids": [1, 99999]}\n', "id 99999 (row 1, place 1) is not in the vocabulary"),
        ("ids.jsonl", '{"tokens": [1]}\n', "line 1: has tokens, expected an entry 'ids'"),
        ("ids.jsonl", '{"ids": [1.5]}\n', "line 1: [1.5] is no list of ids"),
        ("ids.jsonl", '{"ids": [true]}\n', "line 1: [true] is no list of ids"),
        ("ids.jsonl", "[1]\n", "line 1: is no JSON object"),
        ("ids.jsonl", "{\n", "line 1: is no JSON object"),
        ("ids.txt", "1 2\nthe\n", "line 2: "),
        ("ids.csv", "1\n", "ids are not read from .csv files"),
    ],
)
def test_what_are_no_ids_is_named(name, content, message, run, tmp_path):
    (tmp_path / name).write_text(content)
    said = one_error(run("decode", name, "-o", "back.jsonl", code=1))
    assert name in said
    assert message in said
    assert not (tmp_path / "back.jsonl").exists()


def test_columns_that_hold_no_ids(run, tmp_path):
    pq.write_table(pa.table({"ids": ["a"], "n": [1]}), tmp_path / "a.parquet")
    assert "the column 'ids' holds string, not lists of ids" in one_error(
        run("decode", "a.parquet", "-o", "b.jsonl", code=1)
    )
    assert "has no column 'x'; it has 'ids', 'n'; pass --column" in one_error(
        run("decode", "a.parquet", "--column", "x", "-o", "b.jsonl", code=1)
    )
    pq.write_table(pa.table({"ids": [[1], [None]]}), tmp_path / "a.parquet")
    assert "holds a null" in one_error(run("decode", "a.parquet", "-o", "b.jsonl", code=1))


def test_damaged_npz(run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    run("encode", "a.txt", "-o", "ids.npz")
    whole = (tmp_path / "ids.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:-30])
    assert "cut.npz: cannot be read as npz" in one_error(run("decode", "cut.npz", "-o", "b.jsonl", code=1))
    place = whole.index(b"\x93NUMPY") + 200
    (tmp_path / "bad.npz").write_bytes(whole[:place] + b"\xff\xff\xff" + whole[place + 3 :])
    assert "bad.npz" in one_error(run("decode", "bad.npz", "-o", "b.jsonl", code=1))
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    assert "has no array 'offsets', which rows of ids need; it has x" in one_error(
        run("decode", "other.npz", "-o", "b.jsonl", code=1)
    )
    np.savez(tmp_path / "other.npz", values=np.zeros(3, np.int64), offsets=np.array([0, 3]))
    assert "`values` is int64[3], expected one dimension of int32" in one_error(
        run("decode", "other.npz", "-o", "b.jsonl", code=1)
    )
    np.savez(tmp_path / "other.npz", values=np.zeros(3, np.int32), offsets=np.array([0, 5]))
    assert "`offsets` end at 5, `values` at 3" in one_error(run("decode", "other.npz", "-o", "b.jsonl", code=1))


def test_lines_hold_single_lines_only(run, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", ["a", "b\nc"])
    run("encode", "a.jsonl", "-o", "ids.parquet")
    message = one_error(run("decode", "ids.parquet", "-o", "back.txt", code=1))
    assert "ids.parquet: row 1 holds the end of a line" in message
    write_json_lines(tmp_path / "a.jsonl", ["a", None])
    run("encode", "a.jsonl", "-o", "ids.parquet")
    message = one_error(run("decode", "ids.parquet", "-o", "back.txt", code=1))
    assert "ids.parquet: row 1 is missing, which a line of text cannot say" in message
    assert not (tmp_path / "back.txt").exists()
