"""Translation and summaries are what transformers writes, in every family, whatever the batch."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import RowError
from numba_nlp.pipelines import FailedRow, pipeline
from tests.pipelines.text_folders import FAMILIES, Reference, open_pipeline, write_checkpoint

TEXTS = ["the king", "To be, or not to be: that is the question.", "a", "Who's there? Nay, answer me: stand!"]
LANGUAGES = {
    "t5": {"source_language": "English", "target_language": "fra"},
    "marian": {"target_language": "French"},
    **{name: {"source_language": "en", "target_language": "fr"} for name in ("mbart", "mbart50", "m2m_100", "nllb")},
}
#: Beams and greedy choice, by options that pipelines of version 4 took.
OPTIONS = [{"max_new_tokens": 8}, {"num_beams": 3, "max_length": 9, "length_penalty": 0.5, "no_repeat_ngram_size": 2}]
PREFIXES = {"t5": "translate English to French: ", "marian": ">>fra<< "}


@pytest.fixture(scope="module", params=list(FAMILIES))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Reference]:
    name = request.param
    folder = write_checkpoint(name, tmp_path_factory.mktemp(name))
    return (
        PREFIXES.get(name, ""),
        pipeline("translate", model=folder, **LANGUAGES.get(name, {})),
        Reference(name, folder),
    )


def test_translations_are_those_of_transformers(made: tuple[str, Any, Reference]) -> None:
    prefix, pipe, reference = made
    for options in OPTIONS:
        expected = [reference(prefix + text, **options)[0] for text in TEXTS]
        assert len(set(expected)) > 1
        assert pipe(TEXTS, **options) == expected
        assert pipe(TEXTS[1], batch_size=1, **options) == expected[1]


def test_several_texts_of_each(made: tuple[str, Any, Reference]) -> None:
    prefix, pipe, reference = made
    options = {"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 6}
    expected = [reference(prefix + text, **options) for text in TEXTS[:2]]
    assert pipe(TEXTS[:2], **options) == expected
    assert pipe.arrays(TEXTS[:2], **options).scores.shape == (2, 2)


def test_spaces_before_punctuation_go_on_demand(made: tuple[str, Any, Reference]) -> None:
    _, pipe, reference = made
    words = [" .", " ,", "n't", " 's", " '", " ?"]
    ids = [pipe.tokenizer.encode("the" + word * 2 + " a") for word in words]
    plain = pipe.texts_of(ids, pipe.options)
    cleaned = pipe.texts_of(ids, replace(pipe.options, clean_up_tokenization_spaces=True))
    assert cleaned == [reference.tokenizer.clean_up_tokenization(text) for text in plain] != plain
    assert pipe.texts_of(ids, replace(pipe.options, clean_up_tokenization_spaces=False)) == plain


TASK = {
    "summarization": {
        "prefix": "summarize: ", "num_beams": 2, "max_length": 9, "min_length": 4, "no_repeat_ngram_size": 2,
        "length_penalty": 2.0, "early_stopping": True,
    }
}  # fmt: skip


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_summaries_take_the_options_of_the_task(name: str, tmp_path: Path) -> None:
    folder = write_checkpoint(name, tmp_path, task_specific_params=TASK)
    values = dict(TASK["summarization"])
    prefix = values.pop("prefix")
    reference = Reference(name, folder)
    expected = [reference(prefix + text, **values)[0] for text in TEXTS]
    pipe = open_pipeline("summarization", folder)
    assert pipe(TEXTS) == expected
    # and those of a call count more
    changed = {"num_beams": 1, "early_stopping": False, "length_penalty": 1.0, "max_length": 6}
    assert pipe(TEXTS[1], **changed) == reference(prefix + TEXTS[1], **{**values, **changed})[0]
    assert pipe(TEXTS[1], prefix="") == reference(TEXTS[1], **values)[0]


@pytest.fixture(scope="module")
def summarize(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = write_checkpoint("bart", tmp_path_factory.mktemp("bart"), positions=64)
    return pipeline("summarize", model=folder, max_new_tokens=6)


def long_text(sentences: int, seed: int = 0) -> str:
    draw = random.Random(seed)
    words = ["the", "quick", "fox", "reads", "a", "thing", "don't", "über", "b"]
    return "  ".join(" ".join(draw.choices(words, k=draw.randint(2, 7))).capitalize() + "." for _ in range(sentences))


def test_long_texts_are_not_cut_by_themselves(summarize: Any) -> None:
    text = long_text(40)
    size = summarize.tokenizer.count(text, add_special_tokens=True)
    with pytest.raises(RowError, match=rf"row 1: the text has {size} tokens, and the model reads at most 64 at once; .*"
                                       r"chunk=True.*truncation=True"):  # fmt: skip
        summarize(["fits", text])
    found = summarize(["fits", text, "too"], errors="return")
    assert isinstance(found[1], FailedRow)
    assert found[0] == summarize("fits")


def test_truncation_cuts_at_the_end_and_says_so(summarize: Any) -> None:
    text = long_text(40)
    ids = summarize.tokenizer(text, truncation=True, max_length=64)["input_ids"]
    out = summarize.arrays(["fits", text], truncation=True)
    assert out.truncated.tolist() == [False, True]
    assert out.source_tokens.tolist()[1] == 64
    rows = summarize.model.generate([ids], max_new_tokens=6).sequences[0, 1:]
    assert out.texts[1] == summarize.tokenizer.decode(rows.numpy(), skip_special_tokens=True)


@pytest.mark.parametrize("sentences", [15, 60])
def test_chunks_are_whole_sentences_and_as_long_as_may_be(summarize: Any, sentences: int) -> None:
    text = long_text(sentences)
    out = summarize.arrays(["short one.", text, ""], chunk=True)
    assert out.n_chunks[0] == 1
    assert out.n_chunks[1] >= 4
    assert out.n_chunks[2] == 0
    assert out.texts[2] == ""
    first, last = out.chunk_offsets[1:3]
    spans = list(zip(out.chunk_starts[first:last].tolist(), out.chunk_ends[first:last].tolist(), strict=True))
    parts = [text[start:end] for start, end in spans]
    # they begin with the text, end with it, and leave white space out only
    assert (spans[0][0], spans[-1][1]) == (0, len(text))
    assert all(text[one[1] : other[0]].isspace() for one, other in pairwise(spans))
    assert all(part.endswith(".") for part in parts)
    count = summarize.tokenizer.count
    sizes = [count(part, add_special_tokens=True) for part in parts]
    assert sizes == out.source_tokens[first:last].tolist()
    assert max(sizes) <= 64
    for (start, end), (_, next_end) in pairwise(spans):
        more = text[start : text.index(".", end, next_end) + 1]
        assert count(more, add_special_tokens=True) > 64
    # each part is done as if it were alone
    assert out.texts[1] == " ".join(summarize(parts))
    assert summarize(text, chunk=True, separator="|") == "|".join(summarize(parts))


def test_a_sentence_that_is_too_long_is_cut_between_words(summarize: Any) -> None:
    text = long_text(60).replace(".", ",")
    out = summarize.arrays([text], chunk=True)
    assert out.n_chunks[0] >= 4
    edges = [*out.chunk_ends[:-1].tolist(), *(out.chunk_starts[1:] - 1).tolist()]
    assert all(text[edge].isspace() for edge in edges)
    without_spaces = "b" * 300
    out = summarize.arrays([without_spaces], chunk=True)
    assert np.array_equal(out.chunk_starts[1:], out.chunk_ends[:-1])
    assert out.source_tokens.max() == 64


def test_options_that_exclude_each_other(summarize: Any) -> None:
    with pytest.raises(ValueError, match="`truncation` and `chunk` are both True"):
        summarize("a", truncation=True, chunk=True)
    with pytest.raises(ValueError, match="`chunk` with `num_return_sequences` 2"):
        summarize("a", chunk=True, num_beams=2, num_return_sequences=2)
    with pytest.raises(TypeError, match="no option 'num_beam' of generation; for 'num_beam', is `num_beams` meant"):
        summarize("a", num_beam=2)
    with pytest.raises(TypeError, match="`streamer` is of generate"):
        summarize("a", streamer=print)


def test_sampling_depends_on_rows_and_their_order_among_equal_ones_only(summarize: Any) -> None:
    texts = ["the fox", "a", "the fox", "the quick brown fox", "the fox"]
    options = {"do_sample": True, "seed": 7, "top_k": 0}
    expected = summarize(texts, **options)
    assert len({expected[0], expected[2], expected[4]}) == 3
    for size in (1, 2, 3):
        assert summarize(texts, batch_size=size, **options) == expected
    order = [3, 0, 1, 2, 4]
    assert summarize([texts[i] for i in order], batch_size=2, **options) == [expected[i] for i in order]
    # as generate has it for one prompt
    ids = summarize.tokenizer("a")["input_ids"]
    rows = summarize.model.generate([ids], max_new_tokens=6, **options).sequences[0, 1:]
    assert expected[1] == summarize.tokenizer.decode(rows.numpy(), skip_special_tokens=True)


def test_task_params_that_change_tokens_and_are_not_supported_are_refused(tmp_path: Path) -> None:
    params = {"summarization": {"guidance_scale": 2.0}}
    folder = write_checkpoint("bart", tmp_path, task_specific_params=params)
    from numba_nlp.errors import UnsupportedFeatureError

    with pytest.raises(UnsupportedFeatureError, match=r"task_specific_params: `guidance_scale` 2\.0 is not supported"):
        pipeline("summarize", model=folder)
    assert isinstance(pipeline("summarize", model=folder, guidance_scale=None)("the fox"), str)


def test_recorded_pipelines_of_version_4(tmp_path: Path) -> None:
    from tools.record_pipelines.text_to_text import RECORD, load_case

    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["transformers"].startswith("4.")
    for case in record["cases"]:
        folder = load_case(case["model"], tmp_path / case["model"])
        pipe = pipeline(case["task"], model=folder, dtype="float32")
        assert pipe(case["texts"], **case["options"]) == case["results"], case
