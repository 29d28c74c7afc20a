"""What the pipelines stand on: batches, names of tasks, rows, parts, failures, the stopwatch."""

from __future__ import annotations

import importlib
import pickle
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.errors import MissingRowError, RowError
from numba_nlp.models import create_model, save_model
from numba_nlp.pipelines import FailedRow, pipeline, supported_tasks
from numba_nlp.pipelines.base import Pipeline
from numba_nlp.pipelines.batches import Batching, plan_batches
from numba_nlp.pipelines.generation_call import GeneratingPipeline
from numba_nlp.pipelines.parts import load_parts
from numba_nlp.pipelines.rows import check_text, take_inputs, take_texts
from numba_nlp.pipelines.stopwatch import STAGES, Stopwatch
from numba_nlp.pipelines.task_config import task_config
from numba_nlp.pipelines.task_names import TASKS, find_task
from tests.checkpoint_folders import BERT_LINES, bert_files, write_folder


@given(
    lengths=st.lists(st.integers(0, 50), max_size=60),
    rows=st.one_of(st.none(), st.integers(1, 9)),
    tokens=st.one_of(st.none(), st.integers(1, 200)),
)
def test_batches(lengths: list[int], rows: int | None, tokens: int | None) -> None:
    widths = np.array(lengths, np.int64)
    batches = plan_batches(widths, Batching(rows, tokens))
    assert sorted(number for batch in batches for number in batch.tolist()) == list(range(widths.size))
    flat = [int(widths[number]) for batch in batches for number in batch]
    assert flat == sorted(flat, reverse=True)
    for batch in batches:
        assert batch.size
        assert rows is None or batch.size <= rows
        assert tokens is None or batch.size == 1 or batch.size * widths[batch].max() <= tokens
    # none of two neighbours could have been one
    for one, other in pairwise(batches):
        both = one.size + 1
        too_wide = tokens is not None and both * max(int(widths[one[0]]), 1) > tokens
        assert too_wide or (rows is not None and both > rows), (one, other)


def test_limits_of_batches() -> None:
    assert Batching.take(None, None, 77) == Batching(None, 77)
    assert Batching.take(3, None, 77) == Batching(3, None)
    assert Batching.take(None, 9, 77) == Batching(None, 9)
    assert Batching.take(np.int64(3), 9, 77) == Batching(3, 9)
    for wrong, error in ((0, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="`batch_size` must be a whole number from 1 on"):
            Batching.take(wrong, None, 1)
    assert Batching(3, None).within(5) == Batching(3, 5)
    assert Batching(None, 9).within(5) == Batching(None, 5)
    assert Batching(3, 4).within(5) == Batching(3, 4)


@pytest.mark.parametrize(("threads", "tokens"), [(1, 512), (2, 512), (3, 1024), (8, 2048)])
def test_tasks_that_read_take_small_batches_on_a_cpu(threads: int, tokens: int) -> None:
    for name, task in TASKS.items():
        kind = getattr(importlib.import_module(f"numba_nlp.pipelines.{task.module}"), task.pipeline)
        pipe = kind.__new__(kind)
        pipe.model = SimpleNamespace(cpu_threads=threads)
        reads = not issubclass(kind, GeneratingPipeline)
        assert pipe._batching(32, None) == Batching(32, tokens if reads else None), name
        assert pipe._batching(None, 100) == Batching(None, 100), name
        pipe.model = SimpleNamespace(cpu_threads=None)
        assert pipe._batching(32, None) == Batching(32, None), name


def test_names_of_tasks() -> None:
    assert set(supported_tasks()) == set(TASKS)
    names = [name for task, aliases in supported_tasks().items() for name in (task, *aliases)]
    assert len(names) == len(set(names))
    for task, aliases in supported_tasks().items():
        for name in (task, *aliases):
            assert find_task(name) == (task, {"prefix": ""} if name == "text2text-generation" else {})
    assert find_task("translation_en_to_de") == ("translate", {"source_language": "en", "target_language": "de"})
    for wrong, error in (("translation_en", ValueError), ("", ValueError), ("NER", ValueError), (None, TypeError)):
        with pytest.raises(error, match="`task` must be"):
            find_task(wrong)
    with pytest.raises(ValueError, match=r"translate, summarize, .* sentiment-analysis, "):
        find_task("sentiment")


def test_modules_have_the_classes_of_their_tasks() -> None:
    for name, task in TASKS.items():
        if importlib.util.find_spec(f"numba_nlp.pipelines.{task.module}") is not None:
            kind = getattr(importlib.import_module(f"numba_nlp.pipelines.{task.module}"), task.pipeline)
            assert kind.task == name
            assert kind.heads
            assert kind.option_type is not None


def test_failed_rows() -> None:
    failed = FailedRow(7, RowError("row 7: no", 7))
    assert not failed
    assert [result for result in ["a", failed, "b"] if result] == ["a", "b"]
    assert str(failed) == "row 7: RowError: row 7: no"
    again = pickle.loads(pickle.dumps(failed))
    assert (again.row, again.error.row, str(again.error)) == (7, 7, "row 7: no")


def test_one_input_many_and_streams() -> None:
    assert take_texts("a") == (["a"], True, False)
    assert take_texts(["a", None]).rows == ["a", None]
    assert take_texts(iter("ab")).is_stream
    assert take_texts(text for text in "ab").is_stream
    assert list(take_texts({"a": 1}.keys()).rows) == ["a"]
    assert take_inputs({"text": "a"}, (str, dict)).is_single

    class Lines:
        """May be gone through, and has no length."""

        def __iter__(self) -> Any:
            return iter(["a", "b"])

    assert take_texts(Lines()).is_stream
    assert list(take_texts(Lines()).rows) == ["a", "b"]


@pytest.mark.parametrize(
    "column",
    [
        np.array(["a", None, "ü"], object),
        pa.array(["a", None, "ü"]),
        pa.array(["a", None, "ü"]).dictionary_encode(),
        pa.chunked_array([["a"], [None, "ü"]]),
        pd.Series(["a", None, "ü"]),
        pd.Series(["a", None, "ü"], dtype=object),
        pd.Series(["a", None, "ü"], index=[5, 5, 1]),
        pl.Series(["a", None, "ü"]),
        nlp.TextRows.from_any(["a", None, "ü"], nulls="null"),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{type(column).__name__}",
)
def test_columns(column: Any) -> None:
    rows = take_texts(column).rows
    assert len(rows) == 3
    assert (rows[0], rows[2]) == ("a", "ü")
    with pytest.raises(MissingRowError, match=r"^row 1: the text is missing"):
        check_text(rows[1], 1)


def test_columns_of_objects_fail_by_row() -> None:
    """What is no text in one is of its row, not of all."""
    for column in (np.array(["a", 5, "\ud800"], object), pd.Series(["a", 5, "\ud800"], dtype=object)):
        rows = take_texts(column).rows
        assert rows[0] == "a"
        with pytest.raises(RowError, match=r"^row 1: the text must be a str, got int 5"):
            check_text(rows[1], 1)
        with pytest.raises(RowError, match=r"^row 2: the text holds a lone surrogate at character 0"):
            check_text(rows[2], 2)


def test_stopwatch() -> None:
    watch = Stopwatch()
    with watch("forward"):
        time.sleep(0.01)
    with pytest.raises(ZeroDivisionError), watch("choose"):
        raise ZeroDivisionError
    assert tuple(watch.seconds) == STAGES
    assert watch.seconds["forward"] >= 0.01
    assert watch.seconds["choose"] > 0
    assert watch.seconds["decode"] == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    config = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = create_model(
        {"model_type": "bert", "vocab_size": len(BERT_LINES), **config}, head="sequence_classification"
    )
    save_model(model, folder)
    return write_folder(folder, {**bert_files(), "tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}})


def test_parts(folder: Path) -> None:
    model, tokenizer = nlp.load_model(folder), nlp.load_tokenizer(folder)
    heads = ("sequence_classification",)

    def load(given: Any, its: Any = None, device: Any = None, dtype: Any = None, **hub: Any) -> Any:
        return load_parts("classify", heads, given, its, device, dtype, hub)

    for got, found in (load(folder), load(str(folder), tokenizer), load(model, folder), load(model, tokenizer)):
        assert got.head == "sequence_classification"
        assert found == tokenizer
    assert str(load(folder, dtype="float64")[0].dtype) == "torch.float64"
    with pytest.raises(ValueError, match="`tokenizer` is missing"):
        load(model)
    with pytest.raises(ValueError, match="`dtype` is an option of loading"):
        load(model, tokenizer, dtype="float32")
    with pytest.raises(ValueError, match="`revision` is an option of loading"):
        load(model, tokenizer, revision="main")
    with pytest.raises(TypeError, match=r"`model` must be a checkpoint's folder.*got int"):
        load(5)
    with pytest.raises(TypeError, match="`tokenizer` must be a tokenizer of load_tokenizer or its folder, got int"):
        load(model, 5)
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        load("./no/such/folder")


def test_options_of_other_libraries(folder: Path) -> None:
    with pytest.raises(TypeError, match="no option 'framework'"):
        pipeline("classify", model=folder, framework="pt")
    with pytest.raises(TypeError, match=r"no option 'torch_dtype'.* dtype="):
        pipeline("classify", model=folder, torch_dtype="float32")
    with pytest.raises(TypeError, match="'classify' has no option 'return_all_scores'; it has engine, weights, top_k"):
        pipeline("text-classification", model=folder, return_all_scores=True)


@pytest.mark.parametrize(
    ("task", "name", "hint"),
    [
        ("classify", "return_all_scores", r"for 'return_all_scores' there is `top_k=None`$"),
        ("classify", "topk", r"for 'topk' there is `top_k`$"),
        ("classify", "grouped_entities", r"max_length$"),
        ("classify", "function_to_aply", r"is `function_to_apply` meant\?$"),
        ("classify", "padding", "rows are padded to the longest one"),
        ("classify", "num_workers", "leave it out"),
        ("tag_tokens", "grouped_entities", "there is `aggregation_strategy='simple'`"),
        ("tag_tokens", "ignore_subwords", "there is `aggregation_strategy='first'`"),
        ("classify_zero_shot", "multi_class", "there is `multi_label`"),
        ("answer", "context", 'a row {"question": ..., "context": ...}'),
        ("embed", "return_tensors", r"there is `pipe.arrays\(...\)`"),
        ("fill_mask", "topk", "there is `top_k`"),
    ],
)
def test_what_stands_here_for_options_of_transformers(task: str, name: str, hint: str) -> None:
    kind = getattr(importlib.import_module(f"numba_nlp.pipelines.{TASKS[task].module}"), TASKS[task].pipeline)
    pipe = object.__new__(kind)
    with pytest.raises(TypeError, match=f"^task '{task}' has no option '{name}'; it has .*{hint}"):
        Pipeline.take_options(pipe, kind.option_type(), {name: True})


def test_config_of_a_task(folder: Path) -> None:
    model = nlp.load_model(folder)
    model.config = {"a": 1, "b": 2}
    assert task_config(model, "summarize") == {"a": 1, "b": 2}
    model.config["task_specific_params"] = {"summarization": {"a": 3}, "ner": {"b": 4}}
    assert {name: task_config(model, "summarize")[name] for name in "ab"} == {"a": 3, "b": 2}
    model.config["task_specific_params"] = {"summarization": 5}
    with pytest.raises(nlp.errors.SourceFormatError, match="`task_specific_params` must be an object of objects"):
        task_config(model, "summarize")
