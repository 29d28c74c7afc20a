"""Corpora to shards of ids: every line once wherever files are cut, whole files, nothing done twice."""

from __future__ import annotations

import gzip
import io
import json
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import numba_nlp as nlp
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.streams import whole_lines
from numba_nlp.corpora.reading.texts import TextReader
from numba_nlp.integrations import shards
from numba_nlp.integrations.shards import CorpusError, CorpusSettings, encode_corpus, encode_shard, plan_shards
from tests.cli.files import write_arrow, write_csv, write_json_lines
from tests.integrations.corpora import read_ids, reference_ids, write_corpus
from tests.made_tokenizers import END, gpt2
from tests.toy_vocabulary import toy_vocabulary

TEXT = st.lists(st.sampled_from(["", "a", "bb\r", "é日", "long " * 5]), max_size=12)


@given(TEXT, st.booleans(), st.lists(st.integers(0, 200), max_size=4), st.integers(1, 40))
def test_ranges_of_a_file_give_its_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ended: bool, cuts: list[int], block_bytes: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranges.txt"
    path.write_bytes(("\n".join(lines) + "\n" * ended).encode())
    size = path.stat().st_size
    bounds = sorted({0, size, *(min(cut, size) for cut in cuts)})
    found: list[str | None] = []
    for first, last in pairwise(bounds):
        source = Source(str(path), "text", None, (first, last))
        for batch in TextReader(None, "strict", "null", 3, block_bytes).read(source):
            found += batch.rows.to_list()
    assert found == nlp.TextRows.from_file(path).to_list()


GOOD = {'{"text": "é日"}': "é日", '\ufeff{"text": "b"}': "b", '{"n": 1}': None}
UNREADABLE = ["null", '{"text": "x', '{"text": 1}']
OBJECTS = st.lists(st.sampled_from([*GOOD, *UNREADABLE, "", " \r"]), max_size=12)


@given(OBJECTS, st.lists(st.integers(0, 200), max_size=4), st.integers(1, 40), st.integers(1, 4))
def test_ranges_of_json_lines_give_its_rows(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], cuts: list[int], block_bytes: int, batch_rows: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranges.jsonl"
    lines = ['{"text": "first"}', *lines]
    path.write_bytes("\n".join(lines).encode())
    size = path.stat().st_size
    bounds = sorted({0, size, *(min(cut, size) for cut in cuts)})
    found: list[str | None] = []
    n_unreadable = 0
    for part in pairwise(bounds):
        reader = TextReader("text", "replace", "null", batch_rows, block_bytes)
        for batch in reader.read(Source(str(path), "jsonl", None, part)):
            found += batch.rows.to_list()
            n_unreadable += batch.n_unreadable
    assert found == ["first", *(GOOD.get(line) for line in lines[1:] if line.strip())]
    assert n_unreadable == sum(line in UNREADABLE for line in lines)


def test_a_line_longer_than_any_block() -> None:
    line = b"x" * 200_000
    data = line + b"\nnext\nlast"
    assert list(whole_lines(io.BytesIO(data), 10, 4)) == [line + b"\n"]
    assert list(whole_lines(io.BytesIO(data), None, 4)) == [line + b"\n", b"next\n", b"last"]


@pytest.mark.parametrize("shard_bytes", [1 << 28, 5000])
def test_a_corpus_of_every_kind(tmp_path: Path, shard_bytes: int) -> None:
    paths, texts = write_corpus(tmp_path)
    out = tmp_path / "ids"
    corpus = encode_corpus(
        paths, out, gpt2().ours, column="text", shard_bytes=shard_bytes, batch_rows=64, batch_bytes=999
    )
    expected = reference_ids(texts)
    assert read_ids(out) == expected
    assert corpus.rows == len(texts)
    assert corpus.ids == sum(len(row) for row in expected if row)
    assert corpus.text_bytes == sum(len(text.encode()) for text in texts if text)
    assert corpus.n_encoded == len(corpus.shards) == len(corpus.paths)
    assert [Path(path).name for path in corpus.paths] == sorted(path.name for path in out.iterdir())
    assert len(corpus.shards) == 4 if shard_bytes > 5000 else len(corpus.shards) > 8


def test_a_finished_shard_is_not_done_again(tmp_path: Path) -> None:
    paths, texts = write_corpus(tmp_path)
    out, ours = tmp_path / "ids", gpt2().ours
    first = encode_corpus(paths, out, ours, column="text", shard_bytes=5000)
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    lost = Path(first.paths[2])
    lost.unlink()
    # what a killed process leaves
    (out / f".{lost.name}.123.abc.tmp").write_bytes(b"PAR1")
    second = encode_corpus(paths, out, ours, column="text", shard_bytes=5000)
    assert second.n_encoded == 1
    assert [replace(shard, was_there=False) for shard in second.shards] == list(first.shards)
    assert {path for path in out.iterdir() if path.stat().st_mtime_ns != before[path]} == {lost}
    assert read_ids(out) == reference_ids(texts)


def test_special_text_is_counted(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text(f"one {END}{END}\ntwo\n<|endof\ntext|>\n{END}", encoding="utf-8")
    ours = gpt2().ours
    plain = encode_corpus(source, tmp_path / "plain", ours)
    assert plain.special_seen == {END: 3}
    assert encode_corpus(source, tmp_path / "plain", ours).special_seen == {END: 3}
    match = encode_corpus(source, tmp_path / "match", ours, special={END})
    assert match.special_seen == {}
    assert read_ids(tmp_path / "match")[4] == [50256]
    assert 50256 not in {token for row in read_ids(tmp_path / "plain") for token in row or ()}


def test_what_cannot_be_encoded_costs_its_shard_only(tmp_path: Path) -> None:
    sources = [tmp_path / f"{name}.txt" for name in "abc"]
    for source in sources:
        source.write_text("good\nrows\n", encoding="utf-8")
    sources[1].write_bytes(b"good\nb\xff d\n")
    out, ours = tmp_path / "ids", gpt2().ours
    with pytest.raises(CorpusError, match=r"(?s)1 of 3 shards .*b\.txt.*row 1 is no valid text from its byte 1"):
        encode_corpus(sources, out, ours)
    assert [path.name for path in sorted(out.iterdir())] == [
        "part-00000-of-00003.parquet",
        "part-00002-of-00003.parquet",
    ]
    sources[1].write_text("good\nrows\n", encoding="utf-8")
    assert encode_corpus(sources, out, ours).n_encoded == 1
    with pytest.raises(CorpusError, match="errors was 'strict' and is 'replace' now"):
        encode_corpus(sources, out, ours, errors="replace")


def test_damaged_sources_are_named(tmp_path: Path) -> None:
    whole = gzip.compress(b"To be, or not to be\n" * 1000)
    sources = [tmp_path / name for name in ("cut.txt.gz", "no.jsonl", "good.txt")]
    sources[0].write_bytes(whole[: len(whole) // 2] + bytes(20))
    sources[1].write_text('{"text": "a"}\n{"text": 5}\n', encoding="utf-8")
    sources[2].write_text("a\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"(?s)2 of 3 shards .*cut\.txt\.gz.*no\.jsonl") as found:
        encode_corpus(sources, tmp_path / "ids", gpt2().ours, column="text")
    assert "good.txt" not in str(found.value)
    # and nothing half written stays
    assert [path.name for path in (tmp_path / "ids").iterdir()] == ["part-00002-of-00003.parquet"]


@pytest.mark.parametrize("shard_bytes", [1 << 28, 40])
def test_lines_that_cannot_be_read(tmp_path: Path, shard_bytes: int) -> None:
    lines = ['{"text": "To be"}', "null", '{"text": "or"}', '{"text": {"en": "not"}}', '{"text": "to', "", '{"n": 1}']
    source = tmp_path / "a.jsonl"
    source.write_bytes("\n".join(lines).encode() + b'\n{"text": "caf\xe9"}\n')
    ours = gpt2().ours
    with pytest.raises(CorpusError, match=r"a\.jsonl(, from byte \d+ on)?, line \d: is null, expected an object"):
        encode_corpus(source, tmp_path / "no", ours, column="text", shard_bytes=shard_bytes)
    for was_there in (False, True):
        corpus = encode_corpus(source, tmp_path / "ids", ours, column="text", shard_bytes=shard_bytes, errors="replace")
        assert (corpus.missing, corpus.unreadable, corpus.invalid) == (4, 3, 1)
        assert all(shard.was_there is was_there for shard in corpus.shards)
    assert read_ids(tmp_path / "ids") == reference_ids(["To be", None, "or", None, None, None, "caf\ufffd"])


def test_what_the_command_line_reads_is_a_corpus_too(tmp_path: Path) -> None:
    texts = ["To be,", None, "or not"]
    paths = [
        write_csv(tmp_path / "a.csv.bz2", ["To be,", "or\nnot"], column="body.en"),
        write_arrow(tmp_path / "b.arrow", [{"en": text} for text in texts], "body", pa.struct({"en": pa.string()})),
        write_json_lines(tmp_path / "c.jsonl.lz4", [{"en": text} for text in texts], "body"),
    ]
    corpus = encode_corpus(paths, tmp_path / "ids", gpt2().ours, column="body.en", shard_bytes=10)
    assert read_ids(tmp_path / "ids") == reference_ids(["To be,", "or\nnot", *texts, *texts])
    assert len(corpus.shards) == 3


def test_another_corpus_in_the_folder_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("To be, or not to be\n" * 50, encoding="utf-8")
    out, ours = tmp_path / "ids", gpt2().ours
    encode_corpus(source, out, ours)
    with pytest.raises(CorpusError, match=r"holds part-00000-of-00001\.parquet, which is no shard .* of 10"):
        encode_corpus(source, out, ours, shard_bytes=100)
    (shard,) = plan_shards(source)
    with pytest.raises(CorpusError, match=r"its vocabulary was .* and is .* now"):
        encode_shard(shard, str(out), nlp.Tokenizer(toy_vocabulary()), CorpusSettings())
    os.utime(source, ns=(1, 1))
    with pytest.raises(CorpusError, match="its source_modified was"):
        encode_corpus(source, out, ours)
    (out / shard.output).unlink()
    with pytest.raises(CorpusError, match="was changed while"):
        encode_shard(shard, str(out), ours, CorpusSettings())
    (out / shard.output).write_bytes(b"nothing")
    with pytest.raises(CorpusError, match="no whole Parquet file"):
        encode_corpus(source, out, ours)
    parquet.write_table(parquet.read_table(write_corpus(tmp_path)[0][3]), out / shard.output)
    with pytest.raises(CorpusError, match="not made by numba_nlp"):
        encode_corpus(source, out, ours)


def test_the_files_say_what_they_are(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("To be\n\nor not to be\n", encoding="utf-8")
    ours = gpt2().ours
    encode_corpus(source, tmp_path / "ids", ours)
    metadata = parquet.read_metadata(tmp_path / "ids" / "part-00000-of-00001.parquet").metadata
    assert metadata[b"numba_nlp.version"].decode() == nlp.__version__
    assert metadata[b"numba_nlp.vocabulary_digest"].decode() == ours.vocabulary.digest
    assert json.loads(metadata[b"numba_nlp.shard"])["vocabulary"] == ours.vocabulary.digest
    assert json.loads(metadata[b"numba_nlp.result"])["rows"] == 3
    # other readers of Parquet know the encoding
    for read in (pl.read_parquet, pd.read_parquet):
        rows = read(tmp_path / "ids" / "part-00000-of-00001.parquet")["ids"]
        assert [list(row) for row in rows] == reference_ids(["To be", "", "or not to be"])


def test_wrong_arguments(tmp_path: Path) -> None:
    paths, _ = write_corpus(tmp_path)
    out, ours = tmp_path / "ids", gpt2().ours
    for sources, error, match in [
        ([], ValueError, "`sources` is empty"),
        ([paths[0], paths[0]], ValueError, "twice"),
        (tmp_path / "none.txt", FileNotFoundError, r"none\.txt"),
        (tmp_path / "a.docx", ValueError, r"a\.docx: .* ending, which must be one of"),
        (tmp_path / "a.parquet.gz", ValueError, "parquet files are not read packed with gzip"),
        (paths[3], ValueError, "say which `column`"),
        (3, TypeError, "`sources` must be a path or paths, got 3"),
    ]:
        with pytest.raises(error, match=match):
            encode_corpus(sources, out, ours)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no column 'words'; it has 'text', 'n'"):
        encode_corpus(paths[3], out, ours, column="words")
    with pytest.raises(ValueError, match="holds int64, not text"):
        encode_corpus(paths[3], out, ours, column="n")
    with pytest.raises(ValueError, match="`shard_bytes` must be"):
        encode_corpus(paths[0], out, ours, shard_bytes=0)
    with pytest.raises(ValueError, match="`special` must be"):
        encode_corpus(paths[0], out, ours, special=None)
    with pytest.raises(TypeError, match="unexpected keyword"):
        encode_corpus(paths[0], out, ours, columns="text")
    assert not out.exists()
    assert shards.OUTPUTS == "part-*-of-*.parquet"
