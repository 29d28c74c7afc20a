"""Answers: as transformers 4 gave them, across every border of windows, and what cannot be answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")

import numba_nlp as nlp  # noqa: E402
from numba_nlp.errors import RowError, UnsupportedFeatureError  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from numba_nlp.pipelines import pipeline  # noqa: E402
from numba_nlp.pipelines.answer import Answer  # noqa: E402
from numba_nlp.pipelines.windows import encode_texts  # noqa: E402
from tests.pipelines.spelled_models import LettersModel, spelled_checkpoint  # noqa: E402
from tests.pipelines.transformers_spans import best_answer, whole_words  # noqa: E402
from tools.record_pipelines.answer import FAMILIES, texts_of  # noqa: E402
from tools.record_pipelines.span_models import ARCHITECTURES, passage, write_checkpoint  # noqa: E402

RECORD = Path(__file__).parent / "recorded_answers.json"
CASES = json.loads(RECORD.read_text())["cases"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Pipelines by family, each made once."""
    kept: dict[str, Any] = {}

    def of(family: str) -> tuple[Answer, Path]:
        if family not in kept:
            folder = tmp_path_factory.mktemp(family)
            write_checkpoint(family, "question_answering", folder)
            kept[family] = pipeline("question-answering", model=folder), folder
        return kept[family]  # type: ignore[no-any-return]

    return of


def is_near(answer: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether answers are the same but for the last bits of their scores, which another batch changes."""
    return {**answer, "score": 0} == {**other, "score": 0} and answer["score"] == pytest.approx(
        other["score"], rel=1e-4
    )


def without_spaces(context: str, answers: list[Any]) -> list[Any]:
    """Spans without the space before a word, which SentencePiece tokens have in transformers 4 and not in 5.

    A token that is nothing but this space has the character behind it in 5.
    """
    return [
        (start + (context[start] == " "), end + (context[end - 1] == " "), score) if end else (start, end, score)
        for start, end, score in answers
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_those_of_transformers_4(family: str, made: Any) -> None:
    pipe, folder = made(family)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for case in CASES:
        if case["family"] != family:
            continue
        question, context = texts_of(case)
        expected = [tuple(answer) for answer in case["answers"]]
        if family in ("camembert", "xlm-roberta"):
            expected = without_spaces(context, expected)
        if case["options"]["align_to_words"]:
            expected = whole_words(theirs, context, expected)
        # it lists a span once for each window that has it
        once: dict[Any, Any] = {}
        for *span, score in expected:
            once.setdefault(tuple(span), score)
        expected = [(*span, score) for span, score in once.items()]
        options = {**case["options"], "top_k": max(len(expected), 2)}
        found = pipe(question=question, context=context, **options)[: len(expected)]
        assert [(answer["start"], answer["end"]) for answer in found] == [answer[:2] for answer in expected]
        np.testing.assert_allclose(
            [answer["score"] for answer in found], [answer[2] for answer in expected], rtol=2e-4, atol=1e-8
        )
        assert [answer["answer"] for answer in found] == [context[answer["start"] : answer["end"]] for answer in found]
        assert pipe(question=question, context=context, **{**options, "top_k": 1}) == found[0]


def test_the_record_says_something() -> None:
    """Most contexts have four windows or more, and answers are found in several of them."""
    assert {case["family"] for case in CASES} == set(FAMILIES)
    assert sum(case["windows"] >= 4 for case in CASES) > len(CASES) / 2
    assert any(case["windows"] == 1 for case in CASES)
    repeated = sum(len({tuple(a[:2]) for a in case["answers"]}) < len(case["answers"]) for case in CASES)
    assert repeated > 3
    assert any(answer[:2] == [0, 0] for case in CASES for answer in case["answers"])


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_answers_are_the_best_by_the_logits_of_transformers_5(family: str, made: Any) -> None:
    """XLNet too, where the question comes second and padding first."""
    pipe, folder = made(family)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, pipe.model.config["architectures"][0]).from_pretrained(folder).eval()
    questions = [f"{passage(20 * place, 3)}?" for place in range(4)]
    contexts = [passage(700 * place, length) for place, length in enumerate((90, 120, 8, 150))]
    sizes = {"max_seq_len": 50, "doc_stride": 9}
    found = pipe(question=questions, context=contexts, align_to_words=False, **sizes)
    aligned = pipe(question=questions, context=contexts, **sizes)
    options = {"handle_impossible_answer": True, "max_answer_len": 1, "top_k": 3000, **sizes}
    listed = pipe(question=questions, context=contexts, **options)
    windows = 0
    for place, (question, context) in enumerate(zip(questions, contexts, strict=True)):
        best = best_answer(tokenizer, model, question, context, **sizes)
        windows = max(windows, best.windows)
        assert (found[place]["start"], found[place]["end"]) == (best.start, best.end)
        np.testing.assert_allclose(found[place]["score"], best.score, rtol=1e-4)
        ((start, end, _),) = whole_words(tokenizer, context, [(best.start, best.end, best.score)])
        assert (aligned[place]["start"], aligned[place]["end"]) == (start, end)
        (none,) = [answer for answer in listed[place] if answer["end"] == 0]
        np.testing.assert_allclose(none["score"], best.no_answer, rtol=2e-4)
        assert none["answer"] == ""
    assert windows >= 4


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet"])
def test_an_answer_across_each_border_is_found_once(family: str, made: Any) -> None:
    """Of three tokens, at each place of a text of many windows; the model is a function of ids."""
    tokenizer = made(family)[0].tokenizer
    words = ["the king", "lord", "queen"]
    first, last = (int(tokenizer.encode(f"the {word}")[-1]) for word in ("king", "queen"))
    pipe = Answer(LettersModel({first: 0, last: 1}, None), tokenizer, max_seq_len=24, doc_stride=5)
    contexts = [" ".join(["the"] * place + words + ["the"] * (45 - place)) for place in range(46)]
    found = pipe(question="the?", context=contexts, top_k=3)
    for place, (context, answers) in enumerate(zip(contexts, found, strict=True)):
        begin = 4 * place + 4
        assert context[begin : begin + 15] == "king lord queen"
        assert (answers[0]["start"], answers[0]["end"]) == (begin, begin + 15)
        assert answers[0]["score"] > 0.9
        assert len({(answer["start"], answer["end"]) for answer in answers}) == 3
        # of windows that hold its beginning only
        assert answers[1]["score"] < 0.2


def test_an_answer_across_each_border_with_real_weights(tmp_path: Path) -> None:
    tokenizer = spelled_checkpoint(tmp_path, "question_answering", ("king", "queen"))
    pipe = pipeline("answer", model=tmp_path, tokenizer=tokenizer, max_seq_len=24, doc_stride=5)
    contexts = [" ".join(["the"] * place + ["king", "lord", "queen"] + ["the"] * (45 - place)) for place in range(46)]
    found = pipe(question="the?", context=contexts)
    assert [answer["answer"] for answer in found] == ["king lord queen"] * 46
    assert [answer["start"] for answer in found] == [4 * place for place in range(46)]
    assert min(answer["score"] for answer in found) > 0.9


def test_scores_within_the_context_are_shares_of_all_windows(made: Any) -> None:
    """Windows with large logits outweigh those with small ones; with one window nothing changes."""
    tokenizer = made("bert")[0].tokenizer
    king, lord, queen = (tokenizer.token_to_id(word) for word in ("king", "lord", "queen"))

    class Uneven(LettersModel):
        """The queen has larger logits than the king, who is alone among small ones."""

        def __call__(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            out = super().__call__(input_ids, attention_mask)
            ids = torch.as_tensor(input_ids)
            for logits in (out.start_logits, out.end_logits):
                logits[ids == lord] = 18.0
                logits[ids == queen] = 20.0
            return out

    filler = ["the"] * 30
    context = " ".join([*filler, "king", *filler, *["lord"] * 4, "queen", *["lord"] * 4, *filler])
    pipe = Answer(Uneven({king: 0}, None), tokenizer, max_seq_len=24, doc_stride=5, max_answer_len=1)
    pipe.model.chosen = {king: 0}
    by_window, by_context = (
        {answer["answer"]: answer["score"] for answer in pipe(question="the?", context=context, top_k=500, **within)}
        for within in ({}, {"score_within": "context"})
    )
    assert by_context["queen"] == pytest.approx(by_window["queen"], rel=1e-3)
    assert by_window["king"] > 0.01
    assert by_context.get("king", 0.0) < 1e-6
    short = {"question": "the?", "context": "the king", "top_k": 2}
    assert pipe(**short) == pipe(**short, score_within="context")
    assert (
        sum(a["score"] for a in pipe(question="the?", context=context, top_k=500, score_within="context")) <= 1 + 1e-5
    )


@pytest.mark.parametrize("family", ["bert", "xlnet"])
def test_questions_that_share_contexts(family: str, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is answered as by itself, and a context goes through the tokenizer once."""
    pipe, _ = made(family)
    contexts = [passage(0, 90), passage(300, 60), passage(500, 7)]
    rows = [{"question": f"{passage(9 * n, 3)}?", "context": contexts[n * n % 3]} for n in range(7)]
    options = {"max_seq_len": 40, "doc_stride": 6, "top_k": 2}
    alone = [pipe(row, **options) for row in rows]
    seen: list[int] = []

    def counting(tokenizer: Any, texts: Any, **wanted: Any) -> Any:
        seen.append(len(texts))
        return encode_texts(tokenizer, texts, **wanted)

    monkeypatch.setattr("numba_nlp.pipelines.answer.encode_texts", counting)
    together = pipe(rows, **options)
    assert seen == [7, 2]  # n * n % 3 is never 2
    for expected, found in zip(alone, together, strict=True):
        assert all(is_near(*pair) for pair in zip(found, expected, strict=True))


def test_questions_and_contexts_come_in_many_forms(made: Any) -> None:
    pipe, _ = made("bert")
    questions, contexts = ["who is the king?", "where?"], [passage(0, 30), passage(50, 12)]
    rows = [{"question": q, "context": c, "id": 3} for q, c in zip(questions, contexts, strict=True)]
    expected = pipe(rows)
    assert isinstance(expected[0], dict)
    assert pipe(question=questions, context=contexts) == expected
    assert pipe(rows[0]) == pipe(question=questions[0], context=contexts[0])
    assert is_near(pipe(rows[0]), expected[0])
    assert is_near(pipe(question=questions[0], context=contexts)[0], expected[0])
    assert is_near(pipe(question=questions, context=contexts[1])[1], expected[1])
    assert list(pipe(iter(rows))) == expected
    assert list(pipe(question=iter(questions), context=contexts)) == expected
    assert is_near(next(pipe(question=questions[0], context=iter(contexts))), expected[0])
    assert pipe(question=[], context=[]) == []
    arrays = pipe.arrays(question=questions, context=contexts, top_k=3)
    assert arrays.to_list() == pipe(rows, top_k=3)
    assert arrays.offsets.tolist() == [0, 3, 6]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({}, TypeError, "or give `question` and `context`"),
        ({"question": "who?"}, TypeError, "`context` is missing"),
        ({"inputs": "who?"}, TypeError, "dicts with question and context"),
        ({"inputs": {"question": "who?", "context": "I"}, "question": "who?"}, TypeError, "not both"),
        ({"question": ["who?"] * 2, "context": ["I"]}, ValueError, "`question` holds 2 texts and `context` 1"),
        ({"question": "who?", "context": "I", "top_k": 0}, ValueError, "`top_k`"),
        ({"question": "who?", "context": "I", "max_answer_len": 0}, ValueError, "`max_answer_len`"),
        ({"question": "who?", "context": "I", "max_seq_len": 99}, ValueError, "the model has 70 positions"),
        ({"question": "who?", "context": "I", "doc_stride": 9, "max_seq_len": 9}, ValueError, "must be less than"),
        ({"question": "who?", "context": "I", "score_within": "row"}, ValueError, "`score_within`"),
        ({"question": "who?", "context": "I", "padding": True}, TypeError, "no option 'padding'"),
        ({"question": "who?", "context": ""}, RowError, "row 0: the context is empty"),
        (
            {"question": "the " * 80, "context": "I"},
            RowError,
            "row 0: the question has 80 tokens, which leaves 0 of the",
        ),
        ({"inputs": [{"question": "who?"}]}, RowError, "row 0: has no 'context'; it has 'question'"),
    ],
)
def test_what_cannot_be_answered_says_why(
    call: dict[str, Any], error: type[Exception], message: str, made: Any
) -> None:
    with pytest.raises(error, match=message):
        made("bert")[0](**call)


def test_streams_that_end_too_early_say_so(made: Any) -> None:
    with pytest.raises(ValueError, match="`context` ends before row 1"):
        list(made("bert")[0](question=iter(["who?", "where?"]), context=iter(["the king"])))


def test_long_questions_are_cut_where_that_is_asked_for(made: Any) -> None:
    pipe, _ = made("bert")
    context = passage(0, 60)
    with pytest.raises(RowError, match="let `max_question_len` cut it"):
        pipe(question="who is the king " * 20, context=context)
    cut = pipe(question="who is the king " * 20, context=context, max_question_len=4)
    assert cut == pipe(question="who is the king", context=context)


def test_white_space_holds_no_answer(made: Any) -> None:
    pipe, _ = made("bert")
    assert pipe(question="who?", context=" \n") == {"score": 0.0, "start": 0, "end": 0, "answer": ""}
    none = pipe(question="who?", context=" \n", handle_impossible_answer=True)
    assert none["answer"] == ""
    assert none["score"] == pytest.approx(1.0)


def test_answers_by_beam_are_refused(made: Any) -> None:
    sizes = {"d_model": 8, "n_layer": 1, "n_head": 2, "d_inner": 8, "vocab_size": 900}
    config = {"model_type": "xlnet", "architectures": ["XLNetForQuestionAnswering"], **sizes}
    with pytest.raises(UnsupportedFeatureError, match="a checkpoint of XLNetForQuestionAnsweringSimple"):
        pipeline("answer", model=create_model(config), tokenizer=made("xlnet")[0].tokenizer)


def test_no_answer_needs_a_token_for_it(made: Any) -> None:
    folder = Path(__file__).parents[2] / "examples" / "data" / "gpt2"
    tokenizer = nlp.load_tokenizer([folder / "vocab.json", folder / "merges.txt"])
    pipe = Answer(LettersModel({}, None), tokenizer)
    assert pipe(question="who?", context="the king")["answer"]
    with pytest.raises(UnsupportedFeatureError, match="stands for no answer"):
        pipe(question="who?", context="the king", handle_impossible_answer=True)


def test_numbers_that_are_none_are_refused(made: Any) -> None:
    class Broken(LettersModel):
        def __call__(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            out = super().__call__(input_ids, attention_mask)
            out.end_logits[0, 0] = float("nan")
            return out

    pipe = Answer(Broken({}, None), made("bert")[0].tokenizer)
    with pytest.raises(RowError, match="row 0: the model gives values that are no numbers"):
        pipe(question="who?", context="the king")
