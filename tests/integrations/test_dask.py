"""Bags, columns and corpora through dask's own schedulers, and names of tasks that follow from what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from numba_nlp.integrations import dask as nlp_dask
from numba_nlp.integrations.shards import encode_corpus
from tests.integrations.corpora import LINES, read_ids, reference_ids, write_corpus
from tests.made_tokenizers import END, bert, gpt2

dask = pytest.importorskip("dask")
bag = pytest.importorskip("dask.bag")
frames = pytest.importorskip("dask.dataframe")

TEXTS: list[Any] = [*LINES[:40], "naïve 日本語", "", None, b"bytes"]


def column_of(texts: list[Any]) -> Any:
    return frames.from_pandas(pd.DataFrame({"text": texts, "n": range(len(texts))}), npartitions=3)["text"]


def test_bags() -> None:
    texts = bag.from_sequence(TEXTS, npartitions=4)
    expected = reference_ids([text.decode() if isinstance(text, bytes) else text for text in TEXTS])
    with dask.config.set(scheduler="threads"):
        rows = nlp_dask.encode(texts, gpt2().ours).compute()
        assert [None if row is None else row.tolist() for row in rows] == expected
        assert {row.dtype for row in rows if row is not None} == {np.dtype(np.int32)}
        lengths = nlp_dask.count(texts, gpt2().ours)
        assert lengths.compute() == [None if row is None else len(row) for row in expected]
        assert lengths.filter(None).sum().compute() == sum(len(row) for row in expected if row)
        # a generator of texts, as what precedes in a pipeline may give
        assert nlp_dask.count(texts.map_partitions(iter), gpt2().ours, nulls="empty").compute()[-2] == 0


@pytest.mark.parametrize("kind", [None, object, "string", pd.ArrowDtype(pa.large_string()), "category"])
def test_columns_and_parquet(kind: Any, tmp_path: Path) -> None:
    texts = TEXTS[:-1]
    with dask.config.set({"dataframe.convert-string": False, "scheduler": "sync"}):
        table = pd.Series(texts, dtype=kind, index=range(100, 100 + len(texts))).to_frame("text")
        column = frames.from_pandas(table, npartitions=3)["text"]
        ids, lengths = nlp_dask.encode(column, gpt2().ours), nlp_dask.count(column, gpt2().ours)
        assert ids.dtype == pd.ArrowDtype(pa.list_(pa.int32()))
        expected = reference_ids(texts)
        found = ids.compute()
        assert found.name == "text"
        assert found.index.tolist() == list(range(100, 100 + len(texts)))
        assert pa.array(found).to_pylist() == expected
        counted = lengths.compute()
        assert counted.dtype == lengths.dtype == pd.ArrowDtype(pa.int64())
        assert pa.array(counted).to_pylist() == [None if row is None else len(row) for row in expected]
        ids.to_frame("ids").to_parquet(tmp_path / "ids", write_index=False)
        assert parquet.read_table(tmp_path / "ids")["ids"].to_pylist() == expected


def test_a_column_without_rows() -> None:
    column = column_of(["a", "b", "c"])
    empty = nlp_dask.encode(column[column == "none"], gpt2().ours).compute(scheduler="sync")
    assert len(empty) == 0
    assert empty.dtype == pd.ArrowDtype(pa.list_(pa.int32()))


def test_options_and_errors_go_through() -> None:
    texts = bag.from_sequence(["a" + END, "b\ud800"], npartitions=1)
    options: dict[str, Any] = {"special": "match", "errors": "replace"}
    rows = nlp_dask.encode(texts, gpt2().ours, **options).compute(scheduler="sync")
    assert rows[0].tolist() == [64, 50256]
    with pytest.raises(ValueError, match="row 1, byte 1"):
        nlp_dask.encode(texts, gpt2().ours, special="plain").compute(scheduler="sync")
    with pytest.raises(ValueError, match="row 0 is missing"):
        nlp_dask.encode(bag.from_sequence([None]), gpt2().ours, nulls="error").compute(scheduler="sync")


def test_other_collections_are_refused() -> None:
    column = column_of(["a"])
    with pytest.raises(TypeError, match=r"pass one of its columns \(text\)"):
        nlp_dask.encode(column.to_frame(), gpt2().ours)
    with pytest.raises(TypeError, match="a dask Bag or a dask Series of text, got list"):
        nlp_dask.encode(["a"], gpt2().ours)
    with pytest.raises(TypeError, match="must be a Tokenizer, got str"):
        nlp_dask.encode(column, "gpt2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`nulls` must be"):
        nlp_dask.encode(column, gpt2().ours, nulls="drop")  # type: ignore[arg-type]


def names(collection: Any) -> list[str]:
    return sorted(map(str, collection.__dask_keys__()))


def test_names_of_tasks() -> None:
    ours, other = gpt2().ours, bert().ours
    texts = bag.from_sequence(["a", "b"], npartitions=2)
    column = frames.from_pandas(pd.DataFrame({"text": ["a", "b"]}), npartitions=2)["text"]
    for collection in (texts, column):
        usual = names(nlp_dask.encode(collection, ours))
        assert usual == names(nlp_dask.encode(collection, ours))
        others = [
            names(nlp_dask.encode(collection, other)),
            names(nlp_dask.encode(collection, ours, special="plain")),
            names(nlp_dask.count(collection, ours)),
        ]
        assert all(found != usual for found in others)
        assert len(set(map(str, others))) == len(others)


def test_a_tokenizer_is_named_by_its_vocabulary() -> None:
    from dask.base import tokenize

    assert tokenize(gpt2().ours) == tokenize(type(gpt2().ours)(gpt2().ours.vocabulary)) != tokenize(bert().ours)


def test_a_corpus_on_threads_and_in_processes(tmp_path: Path) -> None:
    paths, texts = write_corpus(tmp_path)
    ours = gpt2().ours
    encode_corpus(paths, tmp_path / "one", ours, column="text", shard_bytes=5000)
    expected = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    with dask.config.set(scheduler="threads"):
        corpus = nlp_dask.encode_corpus(paths, tmp_path / "many", ours, column="text", shard_bytes=5000)
    assert {path.name: path.read_bytes() for path in (tmp_path / "many").iterdir()} == expected
    assert read_ids(tmp_path / "many") == reference_ids(texts)
    assert corpus.n_encoded == len(expected)
    with dask.config.set(scheduler="threads"):
        again = nlp_dask.encode_corpus(paths, tmp_path / "many", ours, column="text", shard_bytes=5000)
    assert (again.n_encoded, again.ids) == (0, corpus.ids)


def test_without_a_client_there_is_nobody_to_share_with() -> None:
    with pytest.raises(ValueError, match=r"(?i)no client"):
        nlp_dask.share(gpt2().ours)
