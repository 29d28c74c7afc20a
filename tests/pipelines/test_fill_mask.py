"""Words for masks: those of transformers for every family that fills them; targets, several masks, padded tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numba_nlp.errors import RowError, UnsupportedFeatureError
from numba_nlp.pipelines import pipeline
from tests.checkpoint_folders import BERT_LINES
from tests.pipelines.label_folders import FILLERS, our_pipeline, their_pipeline, tokenizer_of, write_folder

TEXTS = ["the quick {} fox", "{}", "{}don't read! Read a thing?", "the {}, a {} b", "{} {}"]


def assert_same(got: Any, expected: Any) -> None:
    """The same words in the same order, with the same texts and scores."""
    if isinstance(expected, list):
        assert isinstance(got, list)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
        return
    assert list(got) == list(expected)
    for name in ("token", "token_str", "sequence"):
        assert got[name] == expected[name], name
    assert got["score"] == pytest.approx(expected["score"], rel=2e-5, abs=1e-7)


def masked(theirs: Any) -> list[str]:
    return [text.replace("{}", theirs.tokenizer.mask_token) for text in TEXTS]


@pytest.mark.parametrize("family", list(FILLERS))
def test_words_are_those_of_transformers(family: str, tmp_path: Path) -> None:
    model = write_folder(tmp_path, family, FILLERS[family])
    ours, theirs = our_pipeline("fill-mask", tmp_path, family), their_pipeline("fill-mask", tmp_path, model)
    rows = masked(theirs)
    got = ours(rows)
    assert_same(got, theirs(rows))
    assert len({word["token"] for word in got[0]}) == 5
    assert_same(ours(rows[0]), theirs(rows[0]))
    assert_same(ours(rows, top_k=2), theirs(rows, top_k=2))
    every = sorted(word["token"] for word in ours(rows[0], top_k=10**6))
    assert every == list(range(model.config.vocab_size))
    words = [ours.tokenizer.id_to_token(number) for number in every[-6:-2]]
    assert_same(ours(rows, targets=words), theirs(rows, targets=words))
    assert_same(ours(rows, targets=words, top_k=3), theirs(rows, targets=words, top_k=3))
    assert_same(ours(rows, targets=words[0]), theirs(rows, targets=words[0]))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Of 60 positions."""
    folder = tmp_path_factory.mktemp("bert")
    model = write_folder(folder, "bert", FILLERS["bert"])
    return pipeline("fill_mask", model=folder), their_pipeline("fill-mask", folder, model)


def test_targets_are_single_tokens(bert: tuple[Any, Any]) -> None:
    """Transformers takes the first piece of others, or "[UNK]", with a line in its log."""
    ours, _ = bert
    assert [word["token_str"] for word in ours("the [MASK]", targets=["fox", "Fox", "##ing"])] != []
    assert {word["token"] for word in ours("the [MASK]", targets=["fox", "Fox", "##ing"])} == {
        BERT_LINES.index("fox"), BERT_LINES.index("##ing"),
    }  # fmt: skip
    for texts in (["the [MASK]"], []):
        with pytest.raises(
            ValueError, match="`targets`: 'reading' is no single token of this vocabulary, but 'read', '##ing'"
        ):
            ours(texts, targets=["fox", "reading"])
        with pytest.raises(
            ValueError, match=r"`targets`: 'zebra' is no single token of this vocabulary, but '\[UNK\]'"
        ):
            ours(texts, targets="zebra")
        with pytest.raises(ValueError, match="`targets`: '' is no single token of this vocabulary, but no token"):
            ours(texts, targets=[""])


def test_a_target_as_it_stands_in_a_text(tmp_path: Path) -> None:
    """Of byte-level vocabularies: as the vocabulary writes it, or with its space."""
    write_folder(tmp_path, "roberta", FILLERS["roberta"])
    ours = pipeline("fill_mask", model=tmp_path)
    spaced = ours("a <mask>", targets=[" the"])
    assert spaced == ours("a <mask>", targets=["\u0120the"])
    assert spaced[0]["token_str"] == " the"
    assert spaced[0]["token"] != ours("a <mask>", targets=["the"])[0]["token"]


def test_arrays(bert: tuple[Any, Any]) -> None:
    ours, theirs = bert
    results = ours.arrays(masked(theirs), top_k=3, batch_size=2)
    assert results.offsets.tolist() == [0, 1, 2, 3, 5, 7]
    assert results.tokens.dtype == np.int32
    assert results.scores.dtype == np.float32
    assert results.tokens.shape == results.scores.shape == (7, 3)
    assert (np.diff(results.scores, axis=1) <= 0).all()
    assert len(results.token_strs) == len(results.sequences) == 7


def test_what_is_too_long_is_refused_or_cut(bert: tuple[Any, Any]) -> None:
    ours, theirs = bert
    long = "the quick [MASK] fox " + "reads a thing, " * 20
    with pytest.raises(RowError, match=r"^row 1: 106 tokens, and the most are 60; .*truncation=True"):
        ours(["[MASK]", long])
    cut = {"truncation": True, "max_length": 60}
    assert_same(ours([long, "[MASK]"], truncation=True), theirs([long, "[MASK]"], tokenizer_kwargs=cut))
    late = "reads a thing, " * 20 + "[MASK]"
    with pytest.raises(RowError, match=r"^row 1: the text holds no mask within its first tokens, to which it is cut"):
        ours(["[MASK]", late], truncation=True)


def test_texts_without_a_mask(bert: tuple[Any, Any]) -> None:
    ours, _ = bert
    for text in ("the fox", "", "<mask>", "[mask]"):
        with pytest.raises(
            RowError, match=r"^row 1: the text holds no mask; put \[MASK\] where the word is sought, got"
        ):
            ours(["[MASK]", text])


def test_other_masks(bert: tuple[Any, Any]) -> None:
    ours, _ = bert
    # any special token may stand for the word
    got = ours("the [UNK]", mask_token="[UNK]")
    assert len(got) == 5
    with pytest.raises(
        ValueError, match=r"`mask_token` must be a special token of the vocabulary, got '<mask>'; it has"
    ):
        ours("the <mask>", mask_token="<mask>")
    with pytest.raises(UnsupportedFeatureError, match=r"'\[MASK\]' or '<mask>', and the vocabulary has neither"):
        pipeline("fill_mask", model=ours.model, tokenizer=tokenizer_of("gpt2"))


def test_ids_without_a_token(tmp_path: Path) -> None:
    """Matrices are rounded up: what no token has is never a word, and keeps its share."""
    words = len(BERT_LINES)
    write_folder(tmp_path, "bert", FILLERS["bert"], vocab_size=words + 28)
    ours = pipeline("fill_mask", model=tmp_path)
    every = ours("the [MASK]", top_k=1000)
    assert sorted(word["token"] for word in every) == list(range(words))
    inputs = ours.tokenizer(["the [MASK]"], return_tensors="pt")
    logits = ours.model(**inputs).logits[0, 2].numpy().astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum()
    assert sum(word["score"] for word in every) == pytest.approx(shares[:words].sum(), rel=1e-5)
    assert shares[words:].sum() > 0.05


def test_models_that_fill_no_masks(tmp_path: Path) -> None:
    write_folder(tmp_path, "t5", "T5ForConditionalGeneration")
    with pytest.raises(UnsupportedFeatureError, match="needs a masked language model, or bart or mbart; a t5 has no"):
        pipeline("fill_mask", model=tmp_path)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"top_k": 0}, ValueError, "`top_k` must be a whole number from 1 on, got 0"),
        ({"top_k": None}, TypeError, "`top_k` must be a whole number from 1 on"),
        ({"targets": []}, ValueError, "`targets` holds no word"),
        ({"targets": [1]}, TypeError, "`targets` must hold strings"),
        ({"mask_token": 5}, TypeError, "`mask_token` must be a str"),
        ({"truncation": "only_first"}, ValueError, "`truncation` must be False or True"),
        ({"max_length": 61}, ValueError, "`max_length` is 61, but the model has 60 positions"),
        ({"max_length": 2}, ValueError, "`max_length` is 2, which leaves no room for text beside 2 special tokens"),
    ],
)
def test_options(bert: tuple[Any, Any], options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bert[0]("the [MASK]", **options)
