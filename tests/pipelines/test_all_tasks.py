"""What holds for every task: results do not depend on batches, inputs of every kind, failures, timings, threads.

Each task has a module ``tiny_<task>`` here, with ``make(folder)``, which gives a pipeline, ``INPUTS``, valid rows of
very unlike lengths, and ``BAD_ROWS``, which must fail.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from numba_nlp.errors import MissingRowError, NumbaNlpError, RowError, UnknownIdError, UnsupportedFeatureError
from numba_nlp.generation import prompts
from numba_nlp.models import create_model, decoder, encoder, encoder_decoder, xlnet
from numba_nlp.models.families import HEADS
from numba_nlp.pipelines import FailedRow, base, pipeline
from numba_nlp.pipelines.base import Pipeline
from numba_nlp.pipelines.stopwatch import STAGES
from numba_nlp.pipelines.task_names import TASKS


class Case(NamedTuple):
    """A task, a small pipeline for it, rows and what it makes of them."""

    task: str
    pipe: Any
    inputs: list[Any]
    bad_rows: list[Any]
    expected: list[Any]


def _task(name: str) -> Any:
    is_there = importlib.util.find_spec(f"numba_nlp.pipelines.{TASKS[name].module}") is not None
    return pytest.param(name, marks=() if is_there else pytest.mark.skip(f"there is no pipeline for {name} yet"))


@pytest.fixture(scope="module", params=[_task(name) for name in TASKS])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    task = request.param
    tiny = importlib.import_module(f"tests.pipelines.tiny_{task}")
    pipe = tiny.make(tmp_path_factory.mktemp(task))
    return Case(task, pipe, list(tiny.INPUTS), list(tiny.BAD_ROWS), pipe(list(tiny.INPUTS)))


def assert_like(got: Any, expected: Any, where: str = "result") -> None:
    """The same texts, numbers and structure; floating-point numbers within 1e-5."""
    assert type(got) is type(expected), where
    if isinstance(expected, dict):
        assert list(got) == list(expected), where
        for name, value in expected.items():
            assert_like(got[name], value, f"{where}[{name!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected), where
        for place, (one, other) in enumerate(zip(got, expected, strict=True)):
            assert_like(one, other, f"{where}[{place}]")
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype, where
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=where)
    elif isinstance(expected, (float, np.floating)):
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-5), where
    elif is_dataclass(expected):
        for field in fields(expected):
            assert_like(getattr(got, field.name), getattr(expected, field.name), f"{where}.{field.name}")
    else:
        assert got == expected, where


def test_the_rows_are_worth_the_tests(case: Case) -> None:
    assert len(case.inputs) >= 4
    assert len(case.bad_rows) >= 2
    assert len({repr(result) for result in case.expected}) > 1, "all results are the same"


@pytest.mark.parametrize("limits", [{"batch_size": 1}, {"batch_size": 2}, {"batch_tokens": 40}, {}])
def test_results_do_not_depend_on_what_else_is_in_the_batch(case: Case, limits: dict[str, int]) -> None:
    order = list(range(len(case.inputs))) * 2
    random.Random(repr(limits)).shuffle(order)
    got = case.pipe([case.inputs[place] for place in order], **limits)
    assert_like(got, [case.expected[place] for place in order])


def test_chunks_of_a_long_list(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "ROWS_OF_LISTS", 2)
    assert_like(case.pipe(case.inputs), case.expected)
    assert_like(case.pipe.arrays(case.inputs).to_list(), case.expected)


def test_nothing_gives_nothing(case: Case) -> None:
    assert case.pipe([]) == []
    assert list(case.pipe(iter([]))) == []
    results = case.pipe.arrays([])
    assert len(results) == 0
    assert results.to_list() == []
    assert case.pipe([], errors="return") == []


def test_one_input_alone(case: Case) -> None:
    for row, expected in zip(case.inputs, case.expected, strict=True):
        assert_like(case.pipe(row), expected)
    assert_like(case.pipe.arrays(case.inputs[0]).to_list(), case.expected[:1])


def test_an_iterator_gives_an_iterator(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(case.pipe), "stream_rows", 2)
    taken = 0

    def endless() -> Iterator[Any]:
        nonlocal taken
        for row in itertools.cycle(case.inputs):
            taken += 1
            yield row

    results = case.pipe(endless())
    assert iter(results) is results
    assert taken == 0
    got = list(itertools.islice(results, len(case.inputs)))
    assert_like(got, case.expected)
    assert taken <= len(case.inputs) + 2
    assert_like(list(case.pipe(iter(case.inputs))), case.expected)
    assert_like(case.pipe.arrays(iter(case.inputs)).to_list(), case.expected)


def test_rows_that_fail_are_named(case: Case) -> None:
    """Alone, among others, and in a stream; what comes before them in a stream is given."""
    before = case.inputs[:2]
    for bad in case.bad_rows:
        for rows, number in (([bad], 0), ([*before, bad, *case.inputs[2:]], 2)):
            with pytest.raises((RowError, MissingRowError), match=rf"^row {number}: ") as caught:
                case.pipe(rows)
            assert getattr(caught.value, "row", number) == number
            with pytest.raises((RowError, MissingRowError), match=rf"^row {number}: "):
                list(case.pipe(iter(rows)))
            with pytest.raises((RowError, MissingRowError), match=rf"^row {number}: "):
                case.pipe.arrays(rows)


def test_rows_that_fail_do_not_lose_the_others(case: Case) -> None:
    rows, expected = [], []
    bad = itertools.cycle(case.bad_rows)
    for place in range(2 * max(len(case.inputs), len(case.bad_rows))):
        if place % 2:
            rows.append(next(bad))
            expected.append(None)
        else:
            rows.append(case.inputs[place // 2 % len(case.inputs)])
            expected.append(case.expected[place // 2 % len(case.inputs)])
    for got in (
        case.pipe(rows, errors="return"),
        list(case.pipe(iter(rows), errors="return")),
        case.pipe(rows, errors="return", batch_size=2),
    ):
        assert len(got) == len(rows)
        for number, (one, wanted) in enumerate(zip(got, expected, strict=True)):
            if wanted is not None:
                assert_like(one, wanted, f"result[{number}]")
                continue
            assert isinstance(one, FailedRow)
            assert one.row == number
            assert isinstance(one.error, NumbaNlpError)
            assert str(one.error).startswith(f"row {number}: ")
    assert_like(case.pipe(case.inputs, errors="return"), case.expected)


def test_arrays_are_the_plain_results(case: Case) -> None:
    results = case.pipe.arrays(case.inputs, batch_size=3)
    assert len(results) == len(case.inputs)
    assert is_dataclass(results)
    assert_like(results.to_list(), case.expected)


def test_timings(case: Case) -> None:
    begin = perf_counter()
    got, seconds = case.pipe(case.inputs, timings=True)
    elapsed = perf_counter() - begin
    assert_like(got, case.expected)
    assert tuple(seconds) == STAGES
    assert min(seconds.values()) >= 0
    assert min(seconds["tokenize"], seconds["forward"]) > 0
    assert sum(seconds.values()) <= elapsed
    alone, _ = case.pipe(case.inputs[0], timings=True)
    assert_like(alone, case.expected[0])
    with pytest.raises(ValueError, match="give a list"):
        case.pipe(iter(case.inputs), timings=True)


def test_threads_may_share_a_pipeline(case: Case) -> None:
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: case.pipe(case.inputs, batch_size=2), range(8)):
            assert_like(got, case.expected)


def test_columns(case: Case) -> None:
    objects = np.empty(len(case.inputs), object)
    for place, row in enumerate(case.inputs):  # at once, rows that are lists would become columns
        objects[place] = row
    columns = [tuple(case.inputs), objects, pd.Series(case.inputs, dtype=object)]
    if all(isinstance(row, str) for row in case.inputs):
        columns += [pa.array(case.inputs), pa.chunked_array([case.inputs[:2], case.inputs[2:]]), pd.Series(case.inputs)]
    for column in columns:
        assert_like(case.pipe(column), case.expected)
    with pytest.raises(MissingRowError, match=r"^row 1: "):
        case.pipe(pd.Series([case.inputs[0], None], dtype=object))


def test_what_is_no_input(case: Case) -> None:
    for inputs in (None, 5, 2.5, True, b"bytes"):
        with pytest.raises(TypeError, match=r"^`\w+`"):  # names the argument
            case.pipe(inputs)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"wrong": 1}, TypeError, r"no option 'wrong'.*(it has|there are)"),
        ({"errors": "ignore"}, ValueError, "`errors` must be 'raise' or 'return', got 'ignore'"),
        ({"batch_size": 0}, ValueError, "`batch_size` must be"),
        ({"batch_tokens": "many"}, TypeError, "`batch_tokens` must be"),
        ({"progress": 1}, TypeError, "`progress` must be True or False"),
        ({"timings": None}, TypeError, "`timings` must be True or False"),
    ],
)
def test_options_that_are_none(case: Case, options: dict[str, Any], error: type[Exception], message: str) -> None:
    for inputs in (case.inputs, [], iter(case.inputs)):
        with pytest.raises(error, match=message):
            case.pipe(inputs, **options)
    if "wrong" in options:
        with pytest.raises(error, match=message):
            pipeline(case.task, model=case.pipe.model, tokenizer=case.pipe.tokenizer, **options)


def test_a_model_of_another_task_is_refused(case: Case) -> None:
    head = "discriminator"
    kind: type[Pipeline] = type(case.pipe)
    if head in kind.heads:
        assert kind.heads == HEADS  # any model will do
        return
    config = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 30}
    other = create_model({"model_type": "electra", **config}, head=head)
    with pytest.raises(UnsupportedFeatureError, match=rf"task '{case.task}' needs .*has the head 'discriminator'"):
        pipeline(case.task, model=other, tokenizer=case.pipe.tokenizer)


def test_without_a_model(case: Case) -> None:
    if type(case.pipe).default_model() is None:
        with pytest.raises(ValueError, match=rf"`model` is missing: task '{case.task}' needs the folder or hub name"):
            pipeline(case.task)
    else:
        assert pipeline(case.task).task == case.task


def test_progress_is_shown(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert_like(case.pipe(case.inputs, progress=True), case.expected)
    shown = capsys.readouterr()
    assert not shown.out
    n = len(case.inputs)
    assert case.task in shown.err
    assert f"{n}/{n}" in shown.err
    case.pipe(case.inputs)
    assert not capsys.readouterr().err


def test_what_it_says_of_itself(case: Case) -> None:
    told = case.pipe.describe()
    assert told["task"] == case.task
    assert told["family"] == case.pipe.model.family
    assert told["head"] in type(case.pipe).heads
    assert told["vocabulary"] == case.pipe.tokenizer.vocabulary.digest
    assert told["options"] == case.pipe.options
    assert repr(case.pipe).startswith(f"{TASKS[case.task].pipeline}({case.pipe.model.family}, Tokenizer(")


def test_a_pipeline_of_loaded_parts(case: Case) -> None:
    """The same from a model and a tokenizer as from a folder."""
    options = {field.name: getattr(case.pipe.options, field.name) for field in fields(case.pipe.options)}
    # tasks that generate gather those of the generation, which are given by themselves
    options.update(options.pop("generation", {}))
    again = pipeline(case.task, model=case.pipe.model, tokenizer=case.pipe.tokenizer, **options)
    assert again.options == case.pipe.options
    assert_like(again(case.inputs), case.expected)


def test_an_id_that_the_model_lacks_is_told_with_the_row_of_the_caller(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rows that are sorted by length, some of which are cut into several."""
    read: list[set[int]] = []
    missing: list[int] = []
    real = encoder.take_ids

    def take_ids(values: Any, *more: Any, **others: Any) -> Any:
        ids = real(values, *more, **others)
        read[-1].update(ids.unique().tolist())
        for token in missing:
            for row, position in (ids == token).nonzero().tolist():
                raise UnknownIdError("input_ids", token, token, row, position)
        return ids

    for module in (decoder, encoder, encoder_decoder, xlnet, prompts):
        monkeypatch.setattr(module, "take_ids", take_ids)
    for row in case.inputs:
        read.append(set())
        case.pipe(row)
    of_rows = read[: len(case.inputs)]
    counts = Counter(itertools.chain.from_iterable(of_rows))
    # which short rows of a batch hold too
    for padding in (0, case.pipe.tokenizer.input_settings.pad_id):
        counts.pop(padding, None)
    missing.append(min(token for token, count in counts.items() if count == min(counts.values())))
    wrong = [place for place, ids in enumerate(of_rows) if missing[0] in ids]
    assert 0 < len(wrong) < len(case.inputs)
    found = case.pipe(case.inputs, batch_size=3, errors="return")
    assert [place for place, result in enumerate(found) if isinstance(result, FailedRow)] == wrong
    for place in wrong:
        error = found[place].error
        assert isinstance(error, RowError)
        assert error.row == place
        assert str(error).startswith(f"row {place}: `input_ids` must be from 0 to {missing[0] - 1}, the model has no ")
    with pytest.raises(RowError) as raised:
        case.pipe(case.inputs, batch_size=3)
    assert raised.value.row in wrong
