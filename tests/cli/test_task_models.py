"""Commands over pipelines of tiny models give what the pipelines give."""

from __future__ import annotations

import importlib
import importlib.util
import json

import pyarrow.parquet as pq
import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="makes tiny models with transformers (Python 3.11 or later)")

from numba_nlp.pipelines import FailedRow, pipeline
from numba_nlp.pipelines.task_names import TASKS
from tests.cli.files import write_json_lines

#: Options, and whether a result is a list; of each command its pipeline.
COMMANDS = {
    "translate": ("translate", {"max_new_tokens": 5, "num_beams": 2}),
    "summarize": ("summarize", {"max_new_tokens": 5}),
    "generate": ("generate", {"max_new_tokens": 5}),
    "classify": ("classify", {"top_k": 2}),
    "tag": ("tag_tokens", {"aggregation_strategy": "simple", "max_length": 32, "stride": 8}),
    "answer": ("answer", {"max_seq_len": 40, "doc_stride": 8}),
}


def is_there(task):
    return importlib.util.find_spec(f"numba_nlp.pipelines.{TASKS[task].module}") is not None


def rounded(value):
    """Scores to five digits; sums of other batches differ in their last bits."""
    if isinstance(value, dict):
        # fields that this way of joining entities does not have
        return {name: rounded(part) for name, part in value.items() if part is not None}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    return pytest.approx(value, rel=1e-5, abs=1e-5) if isinstance(value, float) else value


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(name, marks=() if is_there(task) else pytest.mark.skip(f"there is no pipeline for {task} yet"))
        for name, (task, _) in COMMANDS.items()
    ],
)
def test_results_are_those_of_the_pipeline(command, run, tmp_path):
    task, options = COMMANDS[command]
    tiny = importlib.import_module(f"tests.pipelines.tiny_{task}")
    folder = tmp_path / "model"
    folder.mkdir()
    tiny.make(folder)
    pipe = pipeline(task, model=folder, **options)
    flags = [part for name, value in options.items() for part in ("--option", f"{name}={json.dumps(value)}")]
    if task == "answer":
        rows = [*tiny.INPUTS, {"question": "who?", "context": ""}]
        (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    else:
        rows = [row for row in tiny.INPUTS if isinstance(row, str)]
        # too long for a model with positions, unless its windows go over the text
        rows.append("the quick brown fox " * 60)
        write_json_lines(tmp_path / "a.jsonl", rows)
    expected = pipe(rows, errors="return")
    assert len({repr(result) for result in expected}) > 1
    run(command, "-f", "a.jsonl", "-m", folder, "-o", "out.jsonl", "--batch-rows", 3, *flags)
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(found) == len(rows)
    for row, got, wanted in zip(rows, found, expected, strict=True):
        assert {name: got[name] for name in got if name not in ("result", "error")} == (
            row if isinstance(row, dict) else {"text": row}
        )
        if isinstance(wanted, FailedRow):
            assert got["error"].startswith(f"{type(wanted.error).__name__}: ")
        else:
            assert got["result"] == rounded(wanted)
    run(command, "-f", "a.jsonl", "-m", folder, "-o", "out.parquet", "--batch-rows", 3, *flags)
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    for got, wanted in zip(table, found, strict=True):
        assert rounded(got["result"]) == rounded(wanted.get("result"))
        assert got["error"] == wanted.get("error")
