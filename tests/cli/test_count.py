"""``numba-nlp count``: sums of files, and counts of rows."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.cli.files import LINES, SPECIAL, TEXTS, write_json_lines, write_lines


def test_sums_of_files(run, tok, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    write_json_lines(tmp_path / "b.jsonl", TEXTS)
    said = json.loads(run("count", "a.txt", "b.jsonl", "--json").stdout)
    tokens = [int(tok.count_batch(texts, special="plain", nulls="empty").sum()) for texts in (LINES, TEXTS)]
    n_bytes = [sum(len((text or "").encode()) for text in texts) for texts in (LINES, TEXTS)]
    assert said["vocabulary"] == tok.vocabulary.digest
    assert said["files"] == [
        {"file": "a.txt", "rows": 6, "tokens": tokens[0], "text_bytes": n_bytes[0], "specials": {SPECIAL: 2}},
        {
            "file": "b.jsonl",
            "rows": 9,
            "tokens": tokens[1],
            "text_bytes": n_bytes[1],
            "missing": 1,
            "specials": {SPECIAL: 2},
        },
    ]
    assert said["total"]["tokens"] == sum(tokens)
    assert said["total"]["specials"] == {SPECIAL: 4}
    table = run("count", "a.txt", "b.jsonl").stdout
    for shown in ("a.txt", "b.jsonl", "all", f"{sum(tokens):,}", f"{sum(n_bytes):,}"):
        assert shown in table


@pytest.mark.parametrize("flags", [[], ["--add-special-tokens"], ["--special", "match"]])
def test_counts_of_rows(flags, run, tok, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    keywords = {"special": "match"} if "match" in flags else {"special": "plain"}
    expected = tok.count_batch(
        TEXTS, nulls="null", add_special_tokens="--add-special-tokens" in flags, **keywords
    ).tolist()
    shown = [None if text is None else count for text, count in zip(TEXTS, expected, strict=True)]
    run("count", "a.jsonl", "-o", "out.parquet", "--batch-rows", 2, *flags)
    assert pq.read_table(tmp_path / "out.parquet")["tokens"].to_pylist() == shown
    run("count", "a.jsonl", "-o", "out.npz", "--batch-rows", 2, *flags)
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays["tokens"].tolist() == expected
        assert arrays["valid"].tolist() == [text is not None for text in TEXTS]
    run("count", "a.jsonl", "-o", "out.jsonl", *flags)
    assert [json.loads(line)["tokens"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == shown
    result = run("count", "a.jsonl", "-o", "-", "--nulls", "empty", *flags)
    filled = tok.count_batch(
        [text or "" for text in TEXTS], add_special_tokens="--add-special-tokens" in flags, **keywords
    )
    assert list(map(int, result.stdout.split())) == filled.tolist()


def test_a_file_that_cannot_be_read_does_not_stop_the_others(run, tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(b"no gzip")
    write_lines(tmp_path / "b.txt", ["the"])
    result = run("count", "a.txt.gz", "b.txt", "--json", code=1)
    assert [entry["file"] for entry in json.loads(result.stdout)["files"]] == ["b.txt"]
    assert "error: a.txt.gz: cannot be unpacked as gzip" in result.stderr
