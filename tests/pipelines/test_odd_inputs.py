"""Inputs and options that are unlike others: each is taken as meant, or refused with the way out."""

from __future__ import annotations

import warnings
from collections import UserDict
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import MissingRowError, RowError  # noqa: E402
from numba_nlp.pipelines import Conversation, pipeline  # noqa: E402
from numba_nlp.pipelines.rows import is_missing  # noqa: E402
from numba_nlp.pipelines.turns import Turn  # noqa: E402
from tests.pipelines import (  # noqa: E402  # noqa: E402
    tiny_answer,
    tiny_classify,
    tiny_classify_zero_shot,
    tiny_converse,
    tiny_embed,
    tiny_fill_mask,
    tiny_generate,
    tiny_summarize,
    tiny_tag_tokens,
    tiny_translate,
)

READING = {
    "answer": (tiny_answer, "classifier"),
    "classify": (tiny_classify, "classifier"),
    "classify_zero_shot": (tiny_classify_zero_shot, "classifier"),
    "embed": (tiny_embed, "encoder.blocks.0.feed_forward_norm"),
    "fill_mask": (tiny_fill_mask, "masked_lm.output"),
    "tag_tokens": (tiny_tag_tokens, "classifier"),
}


@pytest.fixture(scope="module")
def classify(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tiny_classify.make(tmp_path_factory.mktemp("classify"))


@pytest.mark.parametrize("task", READING)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_numbers_without_a_share_are_refused(task: str, value: float, tmp_path: Path) -> None:
    """Logits of all infinite weights; one that is minus infinity is ruled out, all of them are nonsense."""
    tiny, name = READING[task]
    pipe = tiny.make(tmp_path)
    with torch.no_grad():
        pipe.model.get_submodule(name).bias.fill_(value)
    with pytest.raises(RowError, match=r"^row 0: the model gives values that are no numbers \(NaN\), or infinite; .*"):
        pipe(tiny.INPUTS[:1])


def test_a_label_that_is_ruled_out_is_taken(classify: Any) -> None:
    ruled_out = pipeline("classify", model=classify.model, tokenizer=classify.tokenizer, top_k=None)
    bias = ruled_out.model.classifier.bias
    with torch.no_grad():
        before = float(bias[0])
        bias[0] = -np.inf
    try:
        found = ruled_out(tiny_classify.INPUTS[0])
    finally:
        with torch.no_grad():
            bias[0] = before
    assert found[-1]["score"] == 0
    assert sum(one["score"] for one in found) == pytest.approx(1)


@pytest.mark.parametrize(
    "scalar", [np.array("abc", object), np.array("abc"), np.array(None, object), np.array({"text": "a"}, object)]
)
def test_arrays_of_no_dimension(classify: Any, scalar: Any) -> None:
    with pytest.raises(TypeError, match="`inputs` must be text, a list or column of texts, or an iterator, got"):
        classify(scalar)


@pytest.mark.parametrize("kind", [MappingProxyType, UserDict])
def test_mappings_are_no_lists_of_their_keys(classify: Any, kind: Any, tmp_path: Path) -> None:
    assert classify(kind({"text": "the", "text_pair": "king"})) == classify({"text": "the", "text_pair": "king"})
    for tiny in (tiny_tag_tokens, tiny_embed):
        with pytest.raises(TypeError, match="`inputs` must be text"):
            tiny.make(tmp_path / tiny.__name__)(kind({"text": "the"}))


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float32("nan"), np.float64("nan"), Decimal("NaN"), pd.NA, pd.NaT], ids=repr
)
def test_what_stands_for_a_missing_row(classify: Any, value: Any) -> None:
    assert is_missing(value)
    found = classify(["the", value], errors="return")
    assert isinstance(found[1].error, MissingRowError)
    with pytest.raises(MissingRowError, match="row 1: the text is missing"):
        classify(pd.Series(["the", value], dtype=object))


@pytest.mark.parametrize("value", [0, 1.5, "", "nan", [], b"a", Decimal(1)])
def test_what_is_not_missing(value: Any) -> None:
    assert not is_missing(value)


def test_missing_rows_say_what_may_be_done(tmp_path: Path) -> None:
    answer, converse = tiny_answer.make(tmp_path / "answer"), tiny_converse.make(tmp_path / "converse")
    with pytest.raises(MissingRowError, match=r"the context is missing .*; leave the row out$"):
        answer({"question": "who?", "context": None})
    with pytest.raises(MissingRowError, match=r"the conversation is missing .*; leave the row out$"):
        converse([["the"], None])


@pytest.mark.parametrize("template", ["x", "x {{}}", "{:.0}", "{0[a]}", "{name}", "{"])
def test_templates_without_a_place_for_the_label(template: str, tmp_path: Path) -> None:
    pipe = tiny_classify_zero_shot.make(tmp_path)
    with pytest.raises(ValueError, match=r"`hypothesis_template` must have \{\} where the label goes, got"):
        pipe("the", ["a", "b"], hypothesis_template=template)


def test_labels_that_look_like_places(tmp_path: Path) -> None:
    found = tiny_classify_zero_shot.make(tmp_path)("the king", ["the", "{}"])
    assert sorted(found["labels"]) == ["the", "{}"]


def test_more_answers_than_there_are(tmp_path: Path) -> None:
    answer, row = tiny_answer.make(tmp_path), tiny_answer.INPUTS[1]
    found = answer(row, top_k=10**12)
    assert found == answer(row, top_k=len(found) + 5)
    assert found[:3] == answer(row, top_k=3)
    empty = answer(row, top_k=10**12, handle_impossible_answer=True)
    assert len(empty) == len(found) + 1


def test_rows_before_an_error_of_a_stream_are_given(classify: Any) -> None:
    def rows() -> Any:
        yield from ["the", "king", "fox"]
        raise OSError("disk")

    found, stream = [], classify(rows())
    with pytest.raises(OSError, match="disk"):
        found.extend(stream)
    assert found == classify(["the", "king", "fox"])


def test_turns_and_conversations(tmp_path: Path) -> None:
    converse = tiny_converse.make(tmp_path)
    assert Conversation("the king") == Conversation().add_user("the king")
    assert Conversation([Turn("user", "the king")]) == Conversation().add_user("the king")
    with pytest.raises(TypeError, match="`turns` must be Turns, or a str"):
        Conversation(("the", "king"))  # type: ignore[arg-type]
    with pytest.raises(RowError, match=r"looks like one turn; as a turn it is Turn\('user', 'the'\)"):
        converse([("user", "the")])
    assert converse(["user", "a", "the"]).turns[0] == Turn("user", "user")


def test_lengths_that_cannot_be(tmp_path: Path) -> None:
    generate = tiny_generate.make(tmp_path / "generate")
    with pytest.warns(UserWarning, match="`min_new_tokens` 9 is more than `max_new_tokens` 4: texts end there"):
        generate("the", min_new_tokens=9, max_new_tokens=4)
    summarize = tiny_summarize.make(tmp_path / "summarize")
    with pytest.raises(RowError, match=r"there is no room for text beside . special tokens; give a larger"):
        summarize("the king", chunk=True, max_source_length=1)


def test_languages_have_to_be_some(tmp_path: Path) -> None:
    summarizer = tiny_summarize.make(tmp_path)
    translate = pipeline("translate", model=summarizer.model, tokenizer=summarizer.tokenizer, max_new_tokens=3)
    with pytest.raises(ValueError, match="`target_language` 'Klingon' is no code of ISO 639-1 or 639-3"):
        translate("the", target_language="Klingon")
    if translate.model.family != "marian":
        with pytest.raises(ValueError, match=r"`pair` .* is for Marian models of one pair"):
            translate("the", pair=("en", "de"))


def test_options_of_all_calls_may_be_those_of_the_pipeline(classify: Any) -> None:
    pipe = pipeline(
        "classify", model=classify.model, tokenizer=classify.tokenizer, batch_size=2, errors="return", progress=False
    )
    assert (pipe.calls.batch_size, pipe.calls.errors) == (2, "return")
    assert not pipe(["the", None])[1]
    with pytest.raises(MissingRowError):
        pipe(["the", None], errors="raise")
    with pytest.raises(ValueError, match="`batch_size` must be a whole number from 1 on"):
        pipeline("classify", model=classify.model, tokenizer=classify.tokenizer, batch_size=0)


def test_no_name_is_no_folder() -> None:
    with pytest.raises(FileNotFoundError, match="'' is no folder and no name on the hub"):
        pipeline("classify", "")


def test_a_prefix_stands_behind_the_code_of_the_language(tmp_path: Path) -> None:
    translate = tiny_translate.make(tmp_path)
    if translate.model.family != "marian" or not translate._codes:
        pytest.skip("the tiny model is told no language by a code")
    code = next(iter(translate._codes))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call = translate.take_options(translate.options, {"target_language": code, "prefix": "say: "})
        assert translate.prefix_and_start("the", 0, call) == (f">>{code}<< say: ", 0)
        with pytest.raises(RowError, match=r"begins with '>>xx<<', and `target_language`"):
            translate.prefix_and_start(">>xx<< the", 3, call)


def test_devices_that_are_not_there(tmp_path: Path) -> None:
    tiny_classify.make(tmp_path)
    assert pipeline("classify", tmp_path, device=-1).model.device.type == "cpu"
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match=r"device= 'cuda:7': this torch .* sees no CUDA device; leave it out"):
        pipeline("classify", tmp_path, device="cuda:7")


def test_the_text_as_it_is(tmp_path: Path) -> None:
    summarizer = tiny_summarize.make(tmp_path)
    pipe = pipeline("text2text-generation", model=summarizer.model, tokenizer=summarizer.tokenizer, max_new_tokens=3)
    assert pipe("the king") == pipeline(
        "translate", model=summarizer.model, tokenizer=summarizer.tokenizer, prefix="", max_new_tokens=3
    )("the king")
