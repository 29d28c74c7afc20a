"""Labels chosen when they are asked for: those of transformers for every family, whatever labels are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numba_nlp.errors import RowError, SourceFormatError, UnsupportedFeatureError
from numba_nlp.models import create_model
from numba_nlp.pipelines import pipeline
from numba_nlp.pipelines.entailment import find_entailment
from tests.pipelines.label_folders import CLASSIFIERS, our_pipeline, their_pipeline, write_folder

TEXTS = ["the quick brown fox", "b", "don't read! Read a thing?"]
CHOICES = ["fox", "the quick", "thing", "a b"]
LABELS = {0: "contradiction", 1: "neutral", 2: "entailment"}


def assert_same(got: Any, expected: Any) -> None:
    """The same labels in the same order, with the same scores."""
    if isinstance(expected, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
        return
    assert list(got) == list(expected)
    assert got["sequence"] == expected["sequence"]
    assert got["labels"] == expected["labels"]
    assert got["scores"] == pytest.approx(expected["scores"], rel=1e-5, abs=1e-6)


def both_of(folder: Path, family: str, labels: dict[int, str] = LABELS, **settings: Any) -> tuple[Any, Any]:
    """Ours and theirs."""
    model = write_folder(
        folder, family, CLASSIFIERS[family], num_labels=len(labels), id2label=labels,
        label2id={name: number for number, name in labels.items()}, **settings,
    )  # fmt: skip
    theirs = their_pipeline("zero-shot-classification", folder, model)
    if theirs.tokenizer.pad_token is None:  # it pads each pair by itself, and fails without
        theirs.tokenizer.pad_token = theirs.tokenizer.unk_token
    # which is where transformers cuts, and says nothing of it
    theirs.tokenizer.model_max_length = 60
    return our_pipeline("zero-shot-classification", folder, family), theirs


@pytest.mark.parametrize("family", list(CLASSIFIERS))
def test_labels_are_those_of_transformers(family: str, tmp_path: Path) -> None:
    ours, theirs = both_of(tmp_path, family)
    for options in ({}, {"multi_label": True}, {"hypothesis_template": "{} it is!"}):
        got = ours(TEXTS, CHOICES, **options)
        assert_same(got, theirs(TEXTS, CHOICES, **options))
    assert len({tuple(result["scores"]) for result in got}) == len(TEXTS)
    assert_same(ours(TEXTS[0], "fox, thing ,the"), theirs(TEXTS[0], "fox, thing ,the"))
    assert_same(ours(TEXTS[0], candidate_labels=["fox"]), theirs(TEXTS[0], candidate_labels=["fox"]))


@pytest.mark.parametrize(
    "labels",
    [
        {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"},
        {0: "entailment", 1: "not_entailment"},
        {0: "not_entailment", 1: "Entails"},
        {0: "contradiction", 1: "entailment", 2: "neutral"},
    ],
)
def test_order_of_the_labels(labels: dict[int, str], tmp_path: Path) -> None:
    ours, theirs = both_of(tmp_path, "bert", labels)
    for multi_label in (False, True):
        assert_same(ours(TEXTS, CHOICES, multi_label=multi_label), theirs(TEXTS, CHOICES, multi_label=multi_label))


def test_contradiction_in_the_middle(tmp_path: Path) -> None:
    """Transformers takes the first label for contradiction, here "neutral"; ours goes by the name."""
    ours, theirs = both_of(tmp_path, "bert", {0: "neutral", 1: "contradiction", 2: "entailment"})
    logits = ours.model(**ours.tokenizer([TEXTS[0]], ["This example is fox."], return_tensors="pt")).logits[0].numpy()
    shares = np.exp(logits.astype(np.float64))
    assert ours(TEXTS[0], ["fox"])["scores"] == pytest.approx([shares[2] / (shares[1] + shares[2])], rel=1e-5)
    assert theirs(TEXTS[0], ["fox"])["scores"] == pytest.approx([shares[2] / (shares[0] + shares[2])], rel=1e-5)
    assert_same(ours(TEXTS, CHOICES), theirs(TEXTS, CHOICES))


def classifier(**config: Any) -> Any:
    sizes = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    return create_model({"model_type": "bert", **sizes, **config}, head="sequence_classification")


def test_which_labels_say_that_it_follows(tmp_path: Path) -> None:
    def found(*names: str, **config: Any) -> Any:
        return find_entailment(classifier(id2label={str(i): name for i, name in enumerate(names)}, **config))

    assert found("a", "Entailment", "contradictory") == (1, 2)
    assert found("entail", "entailed", "contradiction") == (0, 2)
    assert found("neutral", "entailment", "other") == (1, None)
    assert found("not", "entailment", "contradiction") == (1, None)
    assert found("x", "y", label2id={"entailment": 1, "other": 0}) == (1, 0)
    with pytest.raises(UnsupportedFeatureError, match=r"a label whose name begins with 'entail'; .*'good', 'bad'"):
        found("good", "bad")
    with pytest.raises(SourceFormatError, match="`label2id` must map names to numbers of labels, from 0 to 1"):
        found("entailment", "other", label2id={"entailment": 2})

    write_folder(tmp_path, "bert", CLASSIFIERS["bert"], num_labels=3)
    with pytest.raises(UnsupportedFeatureError, match="'LABEL_0', 'LABEL_1', 'LABEL_2'"):
        pipeline("classify_zero_shot", model=tmp_path)


def test_without_a_contradiction(tmp_path: Path) -> None:
    ours, theirs = both_of(tmp_path, "bert", {0: "neutral", 1: "entailment", 2: "other"})
    assert_same(ours(TEXTS, CHOICES), theirs(TEXTS, CHOICES))
    for labels, options in ((["fox"], {}), (CHOICES, {"multi_label": True})):
        for texts in (TEXTS, []):
            with pytest.raises(UnsupportedFeatureError, match="compare entailment with contradiction"):
                ours(texts, labels, **options)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Of 60 positions."""
    return both_of(tmp_path_factory.mktemp("bert"), "bert")


@pytest.mark.parametrize("side", ["right", "left"])
def test_what_is_too_long_is_refused_or_cut(side: str, tmp_path: Path) -> None:
    folder = tmp_path
    ours, theirs = both_of(folder, "bert")
    if side == "left":
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "truncation_side": "left"}')
        ours = pipeline("classify_zero_shot", model=folder)
        theirs.tokenizer.truncation_side = "left"
    long = "the quick fox " * 20 + "don't read a thing " * 9
    rows = [long, *TEXTS]
    with pytest.raises(
        RowError, match=r"^row 0: \d+ tokens with the sentence 'This example is fox.', and the most are 60"
    ):
        ours(rows, CHOICES)
    assert_same(ours(rows, CHOICES, truncation="only_first"), theirs(rows, CHOICES))
    theirs.tokenizer.model_max_length = 30
    cut = ours(rows, CHOICES, truncation="only_first", max_length=30)
    assert_same(cut, theirs(rows, CHOICES))
    assert cut[0]["scores"] != pytest.approx(ours(rows, CHOICES, truncation="only_first")[0]["scores"], abs=1e-6)
    label = "the fox " * 30
    with pytest.raises(RowError, match=r"^row 0: the sentence 'This example is the fox .* leaves no room for the text"):
        ours(TEXTS, [label, "fox"], truncation="only_first")


def test_labels_are_asked_for(bert: tuple[Any, Any]) -> None:
    ours, _ = bert
    for inputs in (TEXTS, TEXTS[0], [], iter(TEXTS)):
        with pytest.raises(ValueError, match="`candidate_labels` are missing"):
            ours(inputs)
        with pytest.raises(ValueError, match="`candidate_labels` are missing"):
            ours(inputs, [])
    with pytest.raises(ValueError, match="`candidate_labels` are missing"):
        ours.arrays(TEXTS)
    kept = pipeline("classify_zero_shot", model=ours.model, tokenizer=ours.tokenizer, candidate_labels=CHOICES)
    assert kept(TEXTS) == ours(TEXTS, CHOICES)
    assert kept(TEXTS, ["fox", "b"]) == ours(TEXTS, ["fox", "b"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"candidate_labels": " , "}, ValueError, "`candidate_labels` holds no label: ' , '"),
        ({"candidate_labels": ["a", ""]}, ValueError, "`candidate_labels` holds an empty label"),
        ({"candidate_labels": ["a", "b", "a"]}, ValueError, "`candidate_labels` holds a label twice"),
        ({"candidate_labels": ["a", 1]}, TypeError, "`candidate_labels` must hold strings"),
        ({"hypothesis_template": "It is so."}, ValueError, "`hypothesis_template` must have {} where the label goes"),
        ({"hypothesis_template": "{} {}"}, ValueError, "`hypothesis_template` must have {} where the label goes"),
        ({"hypothesis_template": "{label}"}, ValueError, "`hypothesis_template` must have {} where the label goes"),
        ({"hypothesis_template": "{"}, ValueError, "`hypothesis_template` must have {} where the label goes"),
        ({"multi_label": 1}, TypeError, "`multi_label` must be True or False"),
        ({"truncation": "only_second"}, ValueError, "`truncation` must be False, True or 'only_first'"),
        ({"max_length": 61}, ValueError, "`max_length` is 61, but the model has 60 positions"),
        ({"max_length": 2}, ValueError, "`max_length` is 2, which leaves no room for text beside 2 special tokens"),
    ],
)
def test_options(bert: tuple[Any, Any], options: dict[str, Any], error: type[Exception], message: str) -> None:
    ours, _ = bert
    with pytest.raises(error, match=message):
        ours(TEXTS, **{"candidate_labels": CHOICES, **options})


def test_arrays(bert: tuple[Any, Any]) -> None:
    ours, _ = bert
    results = ours.arrays(TEXTS, CHOICES)
    assert results.sequences == tuple(TEXTS)
    assert results.labels == tuple(CHOICES)
    assert results.indices.dtype == np.int32
    assert results.scores.dtype == np.float32
    np.testing.assert_allclose(results.scores.sum(1), 1, rtol=1e-6)
    assert sorted(results.indices[0].tolist()) == [0, 1, 2, 3]


def test_large_logits(bert: tuple[Any, Any], tmp_path: Path) -> None:
    """Their exponentials, which transformers adds up as they are, are no numbers any more."""
    write_folder(tmp_path, "bert", CLASSIFIERS["bert"], num_labels=3, id2label=LABELS)
    ours = pipeline("classify_zero_shot", model=tmp_path)
    ours.model.classifier.weight.data *= 1000
    for multi_label in (False, True):
        scores = ours.arrays(TEXTS, CHOICES, multi_label=multi_label).scores
        assert np.isfinite(scores).all()
