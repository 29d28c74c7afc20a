"""``datasets.map``: ids of the reference, and a fingerprint that neither use nor another process changes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import numba_nlp as nlp
from numba_nlp.integrations.datasets import encode_map, inputs_map
from tests.integrations.corpora import LINES, reference_ids
from tests.made_tokenizers import bert, gpt2

datasets = pytest.importorskip("datasets")
from datasets.fingerprint import Hasher  # noqa: E402

TEXTS = [*LINES[:50], "", "naïve 日本語"]


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


@pytest.mark.parametrize("form", [None, "arrow", "numpy"])
def test_ids_are_those_of_the_reference(form: str | None) -> None:
    table = datasets.Dataset.from_dict({"text": TEXTS}).with_format(form)
    mapped = table.map(encode_map(gpt2().ours, length="n"), batched=True, batch_size=20).with_format(None)
    assert mapped["input_ids"][:] == reference_ids(TEXTS)
    assert mapped["n"][:] == list(map(len, reference_ids(TEXTS)))  # type: ignore[arg-type]
    assert mapped["text"][:] == TEXTS
    assert mapped.features["input_ids"].feature.dtype == "int32"


@pytest.mark.parametrize("form", [None, "arrow"])
def test_missing_rows(form: str | None) -> None:
    table = datasets.Dataset.from_dict({"words": ["a", None]}).with_format(form)
    with pytest.raises(nlp.errors.MissingRowError, match="row 1"):
        table.map(encode_map(gpt2().ours, "words"), batched=True)
    mapped = table.map(encode_map(gpt2().ours, "words", ids="ids", nulls="null"), batched=True)
    assert mapped.with_format(None)["ids"][:] == [[64], None]


@pytest.mark.parametrize("form", [None, "arrow"])
def test_model_inputs(form: str | None) -> None:
    table = datasets.Dataset.from_dict({"a": TEXTS[:9], "b": TEXTS[1:10]}).with_format(form)
    mapped = table.map(inputs_map(bert().ours, "a", "b", truncation=True, max_length=12), batched=True).with_format(
        None
    )
    reference = bert().reference
    reference.enable_truncation(12)
    try:
        expected = reference.encode_batch(list(pairwise(TEXTS[:10])))
    finally:
        reference.no_truncation()
    assert mapped["input_ids"][:] == [encoding.ids for encoding in expected]
    assert mapped["token_type_ids"][:] == [encoding.type_ids for encoding in expected]
    assert mapped["attention_mask"][:] == [encoding.attention_mask for encoding in expected]
    padded = table.map(inputs_map(bert().ours, "a", padding="max_length", max_length=30), batched=True)
    assert {len(row) for row in padded.with_format(None)["input_ids"][:]} == {30}


def test_the_fingerprint_is_stable(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.safetensors"
    gpt2().ours.vocabulary.save(path)
    for ours in (nlp.load_tokenizer(path), gpt2().ours):
        mapper = encode_map(ours)
        before = Hasher.hash(mapper)
        mapper({"text": TEXTS})
        ours.encode_batch(TEXTS, spans=True, num_threads=2)
        ours.encode("one text")
        assert Hasher.hash(mapper) == before == Hasher.hash(encode_map(ours))
        assert Hasher.hash(encode_map(ours, special="plain")) != before
        assert Hasher.hash(encode_map(bert().ours)) != before
        assert Hasher.hash(encode_map(ours, "words")) != before


def test_the_second_map_comes_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    gpt2().ours.vocabulary.save(path)
    datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(tmp_path / "set")

    def files(**options: Any) -> tuple[str, ...]:
        table = datasets.load_from_disk(tmp_path / "set")
        mapped = table.map(encode_map(nlp.load_tokenizer(path), **options), batched=True)
        return tuple((one["filename"], Path(one["filename"]).stat().st_mtime_ns) for one in mapped.cache_files)

    first = files()
    assert files() == first
    assert files(special="plain") != first


def test_wrong_use() -> None:
    with pytest.raises(KeyError, match="no column 'text'; it has a, b"):
        encode_map(gpt2().ours)({"a": ["x"], "b": ["y"]})
    with pytest.raises(TypeError, match=r"got DataFrame; .*with_format\('arrow'\)"):
        encode_map(gpt2().ours)(pd.DataFrame({"text": ["a"]}))
    with pytest.raises(ValueError, match=r"with_format\('torch'\)"):
        inputs_map(gpt2().ours, return_tensors="pt")
    with pytest.raises(TypeError, match="must be a Tokenizer"):
        encode_map("gpt2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`nulls` must be"):
        encode_map(gpt2().ours, nulls="drop")  # type: ignore[arg-type]


def test_ids_and_lengths_need_two_columns():
    with pytest.raises(ValueError, match="`ids` and `length` name one column, 'a'"):
        encode_map(gpt2().ours, ids="a", length="a")
