"""Labels of texts: those of transformers, for every family; what is too long; what models and options there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numba_nlp.errors import RowError
from numba_nlp.pipelines import pipeline
from tests.pipelines.label_folders import CLASSIFIERS, our_pipeline, their_pipeline, write_folder

TEXTS = ["the quick brown fox", "a", "don't read the fox? Read a thing!", "b \u00fc thing, and the  fox."]
PAIRS = [{"text": "the fox", "text_pair": "reads a thing"}, {"text": "read", "text_pair": "b"}]
LABELS = dict(enumerate(("joy", "grief", "fear", "rage", "calm")))
CLOSE = {"rel": 1e-5, "abs": 1e-6}


def assert_same(got: Any, expected: Any) -> None:
    """The same labels in the same order, with the same scores."""
    if isinstance(expected, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
        return
    assert got["label"] == expected["label"]
    assert got["score"] == pytest.approx(expected["score"], **CLOSE)


@pytest.fixture(scope="module", params=list(CLASSIFIERS))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Ours and theirs, of each family."""
    folder = tmp_path_factory.mktemp("classifier")
    model = write_folder(folder, request.param, CLASSIFIERS[request.param], num_labels=5, id2label=LABELS)
    return our_pipeline("text-classification", folder, request.param), their_pipeline(
        "text-classification", folder, model
    )


def test_labels_are_those_of_transformers(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    rows = [*TEXTS, *PAIRS]
    assert_same(ours(rows), theirs(rows))
    assert len({result["score"] for result in ours(rows)}) == len(rows)
    assert_same([ours(TEXTS[0])], theirs(TEXTS[0]))  # theirs puts the result of one text into a list
    for options in (
        {"top_k": 1},
        {"top_k": 3},
        {"top_k": None},
        {"top_k": 9, "function_to_apply": "sigmoid"},
        {"top_k": None, "function_to_apply": "none"},
    ):
        assert_same(ours(rows, **options), [theirs(row, **options) for row in rows])


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Of 60 positions."""
    folder = tmp_path_factory.mktemp("bert")
    model = write_folder(folder, "bert", CLASSIFIERS["bert"], num_labels=5, id2label=LABELS)
    return pipeline("classify", model=folder), their_pipeline("text-classification", folder, model)


@pytest.mark.parametrize(
    ("settings", "function"),
    [
        ({"num_labels": 3}, "softmax"),
        ({"num_labels": 3, "problem_type": "single_label_classification"}, "softmax"),
        ({"num_labels": 3, "problem_type": "multi_label_classification"}, "sigmoid"),
        ({"num_labels": 1}, "sigmoid"),
        ({"num_labels": 1, "problem_type": "regression"}, "none"),
        ({"num_labels": 2, "problem_type": "regression"}, "none"),
    ],
)
def test_the_function_that_the_config_asks_for(settings: dict[str, Any], function: str, tmp_path: Path) -> None:
    model = write_folder(tmp_path, "bert", CLASSIFIERS["bert"], **settings)
    ours, theirs = pipeline("classify", model=tmp_path), their_pipeline("text-classification", tmp_path, model)
    assert_same(ours(TEXTS), theirs(TEXTS))
    expected = [theirs(text, top_k=None) for text in TEXTS]
    assert_same(ours(TEXTS, top_k=None), expected)
    assert_same(ours(TEXTS, top_k=None, function_to_apply=function), expected)
    if function == "none":
        assert min(result["score"] for row in expected for result in row) < 0  # logits, and no shares


def test_parameters_of_the_task_in_the_config(bert: tuple[Any, Any]) -> None:
    ours, _ = bert
    special = {"text-classification": {"problem_type": "multi_label_classification"}}
    again = pipeline("classify", model=ours.model, tokenizer=ours.tokenizer)
    try:
        ours.model.config["task_specific_params"] = special
        assert again(TEXTS) == ours(TEXTS, function_to_apply="sigmoid")
    finally:
        del ours.model.config["task_specific_params"]
    assert again(TEXTS) == ours(TEXTS, function_to_apply="softmax")


def test_arrays(bert: tuple[Any, Any]) -> None:
    ours, _ = bert
    results = ours.arrays(TEXTS, top_k=None)
    assert results.labels == tuple(LABELS.values())
    assert results.indices.dtype == np.int32
    assert results.scores.dtype == np.float32
    assert results.scores.shape == results.indices.shape == (len(TEXTS), 5)
    np.testing.assert_allclose(results.scores.sum(1), 1, rtol=1e-6)
    assert (np.diff(results.scores, axis=1) <= 0).all()
    assert ours.arrays(TEXTS).scores.shape == (len(TEXTS), 1)


def test_what_is_too_long_is_refused_or_cut(bert: tuple[Any, Any]) -> None:
    ours, theirs = bert
    long = "the quick fox " * 30
    tokens = ours.tokenizer.count(long, add_special_tokens=True)
    with pytest.raises(RowError, match=rf"^row 1: {tokens} tokens, and the most are 60; .*truncation=True") as caught:
        ours(["a", long])
    assert caught.value.row == 1
    with pytest.raises(RowError, match="and the most are 10; "):
        ours(TEXTS, max_length=10)
    pair, other = {"text": long, "text_pair": "read a thing"}, {"text": "read a thing", "text_pair": long}
    for rows, truncation in (
        ([long, *TEXTS, pair, other], True),
        ([long, *TEXTS, pair], "only_first"),
        ([other], "only_second"),
        ([pair, other], "longest_first"),
    ):
        expected = [theirs(row, top_k=None, truncation=truncation, max_length=60) for row in rows]
        assert_same(ours(rows, top_k=None, truncation=truncation), expected)
        assert_same(
            ours(rows, top_k=None, truncation=truncation, max_length=20),
            [theirs(row, top_k=None, truncation=truncation, max_length=20) for row in rows],
        )
    # what cannot be cut as it is asked for
    with pytest.raises(RowError, match=r"^row 2: .*'only_second' has no second text to cut"):
        ours(["a", pair["text_pair"], long], truncation="only_second")
    with pytest.raises(RowError, match=r"^row 1: the first text is too short to be cut"):
        ours(["a", other], truncation="only_first")


def test_ten_megabytes(bert: tuple[Any, Any]) -> None:
    ours, _ = bert
    text = "the fox " * (10 << 17)
    got = ours(["a", text, "b"], errors="return")
    assert "and the most are 60" in str(got[1].error)
    assert_same([got[0], got[2]], ours(["a", "b"]))
    assert_same(ours(text, truncation=True), ours("the fox " * 29))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"top_k": 0}, ValueError, "`top_k` must be a whole number from 1 on, got 0"),
        ({"top_k": "all"}, ValueError, "`top_k` must be 'best', got 'all'"),
        ({"top_k": True}, TypeError, "`top_k` must be a whole number from 1 on"),
        ({"function_to_apply": "relu"}, ValueError, "`function_to_apply` must be 'default', .* or 'none', got 'relu'"),
        ({"truncation": "left"}, ValueError, "`truncation` must be False, True, .* or 'only_second', got 'left'"),
        ({"max_length": 0}, ValueError, "`max_length` must be a whole number from 1 on, got 0"),
        ({"max_length": 61}, ValueError, "`max_length` is 61, but the model has 60 positions"),
        ({"max_length": 2}, ValueError, "`max_length` is 2, which leaves no room for text beside 2 special tokens"),
    ],
)
def test_options(bert: tuple[Any, Any], options: dict[str, Any], error: type[Exception], message: str) -> None:
    ours, _ = bert
    for texts in (TEXTS, []):
        with pytest.raises(error, match=message):
            ours(texts, errors="return", **options)
    with pytest.raises(error, match=message):
        pipeline("classify", model=ours.model, tokenizer=ours.tokenizer, **options)


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    write_folder(tmp_path, "bert", CLASSIFIERS["bert"])
    ours = pipeline("classify", model=tmp_path)
    ours.model.classifier.weight.data[0, 0] = float("nan")
    with pytest.raises(RowError, match=r"^row 0: the model gives values that are no numbers \(NaN\)"):
        ours(TEXTS)
    assert [result.row for result in ours(TEXTS, errors="return")] == [0, 1, 2, 3]


def test_half_precision(bert: tuple[Any, Any], tmp_path: Path) -> None:
    model = write_folder(tmp_path, "bert", CLASSIFIERS["bert"], num_labels=5, id2label=LABELS)
    half = pipeline("classify", model=tmp_path, dtype="bfloat16")
    assert half.describe()["dtype"] == "bfloat16"
    theirs = their_pipeline("text-classification", tmp_path, model)
    assert half.arrays(TEXTS).scores[:, 0] == pytest.approx([row["score"] for row in theirs(TEXTS)], abs=0.1)


def test_a_row_without_tokens(tmp_path: Path) -> None:
    write_folder(tmp_path, "gpt2", CLASSIFIERS["gpt2"])
    ours = pipeline("classify", model=tmp_path)
    with pytest.raises(RowError, match=r"^row 1: the text gives no token"):
        ours(["a", "", "b"])
    got = ours(["a", "", "b"], errors="return")
    assert_same([got[0], got[2]], ours(["a", "b"]))
