"""Commands over pipelines: what they are given, what becomes of their results and of rows that fail.

The pipelines here are stand-ins that say what they were called with; those of models are in ``test_task_models.py``.
"""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from numba_nlp.errors import RowError
from numba_nlp.pipelines import FailedRow
from tests.cli.files import LINES, write_csv, write_json_lines, write_lines, write_parquet
from tests.cli.messages import one_error

RESULTS = {
    "translate": lambda row: f"<{row}>",
    "summarize": lambda row: f"<{row}>",
    "generate": lambda row: f"<{row}>",
    "classify": lambda row: {"label": "long" if len(row) > 5 else "short", "score": 0.5},
    "tag_tokens": lambda row: [{"entity_group": "A", "score": 0.5, "word": row[:2], "start": 0, "end": len(row[:2])}],
    "answer": lambda row: {"score": 0.5, "start": 0, "end": 1, "answer": row["context"][:1]},
}


@pytest.fixture
def calls(monkeypatch):
    """What pipelines were made and called with; rows that hold ``FAIL`` fail."""
    seen = []

    def pipeline(task, model=None, **options):
        if "wrong" in options:
            raise TypeError(f"task {task!r} has no option 'wrong'; it has num_beams")
        if model is None and task != "generate":
            raise ValueError(f"`model` is missing: task {task!r} needs the folder or hub name of a model")
        seen.append((task, model, options))

        class Pipe:
            def describe(self):
                return {"task": task, "vocabulary": "0" * 64}

            def __call__(self, rows, **given):
                seen.append((rows, given))
                assert given["errors"] == "return"
                return [
                    FailedRow(number, RowError(f"row {number}: too long", number))
                    if "FAIL" in str(row)
                    else RESULTS[task](row)
                    for number, row in enumerate(rows)
                ]

        return Pipe()

    monkeypatch.setattr("numba_nlp.pipelines.pipeline", pipeline)
    return seen


def rows_in(text):
    return [json.loads(line) for line in text.splitlines()]


def test_texts_of_the_command_line(calls, run):
    result = run("translate", "the", "and", "--model", "folder")
    assert rows_in(result.stdout) == [{"text": "the", "result": "<the>"}, {"text": "and", "result": "<and>"}]
    assert result.stderr == ""
    assert calls[0] == ("translate", "folder", {"tokenizer": None, "device": None, "dtype": None})
    assert run("translate", "the", "--model", "folder", "--to", "text").stdout == "<the>\n"


def test_options_reach_the_pipeline(calls, run):
    options = ["--source-language", "en", "--target-language", "German", "--max-new-tokens", 5]
    more = ["--option", "num_beams=4", "--option", "early_stopping=true", "--option", "engine=torch"]
    run(
        *("translate", "the", "-m", "folder", *options, *more, "--tokenizer", "t", "--device", "cpu"),
        *("--dtype", "float32", "--batch-size", 3, "--batch-tokens", 100),
    )
    task, model, given = calls[0]
    assert (task, model) == ("translate", "folder")
    assert given == {
        "tokenizer": "t",
        "device": "cpu",
        "dtype": "float32",
        "source_language": "en",
        "target_language": "German",
        "max_new_tokens": 5,
        "num_beams": 4,
        "early_stopping": True,
        "engine": "torch",
    }
    assert calls[1] == (["the"], {"errors": "return", "batch_size": 3, "batch_tokens": 100})


@pytest.mark.parametrize("command", ["translate", "summarize", "generate", "classify", "tag"])
def test_rows_of_files_with_failures_and_missing_ones(command, calls, run, tmp_path):
    task = "tag_tokens" if command == "tag" else command
    texts = ["the", None, "a FAIL of a row", "", "some longer text"]
    write_json_lines(tmp_path / "a.jsonl", texts)
    expected = [
        {"text": text, "error": "RowError: too long"}
        if text and "FAIL" in text
        else {"text": text, "result": None if text is None else RESULTS[task](text)}
        for text in texts
    ]
    result = run(command, "--file", "a.jsonl", "-m", "folder", "-o", "out.jsonl", "--batch-rows", 2)
    assert rows_in((tmp_path / "out.jsonl").read_text(encoding="utf-8")) == expected
    assert result.stdout.startswith("out.jsonl: 5 rows (")
    assert "note: 1 row was not done: the errors stand in the output\n" in result.stderr
    assert "1 row was missing: kept missing" in result.stderr
    run(command, "--file", "a.jsonl", "-m", "folder", "-o", "out.parquet", "--batch-rows", 2)
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["error"] for row in table] == [row.get("error") for row in expected]
    for row, wanted in zip(table, expected, strict=True):
        found = row["result"]
        if isinstance(found, list):
            # fields that this kind of aggregation does not have
            found = [{name: value for name, value in entity.items() if value is not None} for entity in found]
        assert (row["text"], found) == (wanted["text"], wanted.get("result"))


def test_files_and_texts_in_one_run(calls, run, tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    result = run("classify", "the", "--file", "*.txt", "-m", "folder")
    assert [row["text"] for row in rows_in(result.stdout)] == ["the", *LINES]


def test_one_question_for_all_contexts(calls, run, tmp_path):
    write_parquet(tmp_path / "a.parquet", ["one", None, "two"], column="context")
    result = run("answer", "--question", "Which?", "-f", "a.parquet", "-m", "folder")
    assert rows_in(result.stdout) == [
        {"question": "Which?", "context": "one", "result": {"score": 0.5, "start": 0, "end": 1, "answer": "o"}},
        {"question": "Which?", "context": None, "result": None},
        {"question": "Which?", "context": "two", "result": {"score": 0.5, "start": 0, "end": 1, "answer": "t"}},
    ]
    result = run("answer", "three", "-q", "Which?", "-m", "folder")
    assert rows_in(result.stdout)[0]["result"]["answer"] == "t"
    write_lines(tmp_path / "a.txt", ["four"])
    result = run("answer", "-f", "a.txt", "-q", "Which?", "-m", "folder")
    assert rows_in(result.stdout)[0]["result"]["answer"] == "f"


def test_a_question_in_each_row(calls, run, tmp_path):
    rows = [{"question": f"q{n}", "context": "y" * n, "asked": f"p{n}"} for n in range(1, 6)]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = run("answer", "-f", "a.jsonl", "-m", "folder", "--batch-rows", 2)
    assert [(row["question"], row["context"]) for row in rows_in(result.stdout)] == [
        (row["question"], row["context"]) for row in rows
    ]
    assert calls[1][0] == [{"question": row["question"], "context": row["context"]} for row in rows[:2]]
    result = run("answer", "-f", "a.jsonl", "-m", "folder", "--question-column", "asked", "-o", "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["question"].to_pylist() == [row["asked"] for row in rows]
    result = run("answer", "some context", "-m", "folder", code=2)
    assert "give the question" in result.stderr
    write_csv(tmp_path / "b.csv", ["c"], column="context")
    assert "has no column 'question'" in one_error(run("answer", "-f", "b.csv", "-m", "folder", code=1))


def test_a_folder_that_goes_on(calls, run, tmp_path):
    for name in "ab":
        write_lines(tmp_path / f"{name}.txt", LINES)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    run("classify", "-f", "*.txt", "-m", "model", "-o", "out/")
    (tmp_path / "out" / "b.jsonl").unlink()
    said = json.loads(run("classify", "-f", "*.txt", "-m", "model", "-o", "out/", "--json").stdout)
    assert (said["files"], said["skipped"], said["rows"]) == (1, 1, 12)
    # another model of the same name
    (tmp_path / "model" / "config.json").write_text("{ }")
    said = json.loads(run("classify", "-f", "*.txt", "-m", "model", "-o", "out/", "--json").stdout)
    assert (said["files"], said["skipped"]) == (2, 0)
    said = json.loads(
        run("classify", "-f", "*.txt", "-m", "model", "-o", "out/", "--option", "top_k=2", "--json").stdout
    )
    assert (said["files"], said["skipped"]) == (2, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "-m", "folder"], "give texts, or files with --file"),
        (["translate", "the"], "--model is missing"),
        (["translate", "the", "-m", "folder", "--option", "wrong=1"], "has no option 'wrong'"),
        (["translate", "the", "-m", "folder", "--option", "beams"], "'beams' is not NAME=VALUE"),
        (
            ["translate", "the", "-m", "folder", "--max-new-tokens", "5", "--option", "max_new_tokens=6"],
            "'max_new_tokens' is given by --max-new-tokens too",
        ),
        (["translate", "the", "-m", "folder", "-o", "out.npz"], "tells no format"),
        (["classify", "the", "-m", "folder", "--to", "text"], "labels with their scores are none; take jsonl"),
        (["answer", "the", "-m", "folder", "-q", "who?", "-o", "out.txt"], "answers with their places are none"),
        (["tag", "the", "-m", "folder", "--to", "text", "-o", "out/"], "entities are none; take jsonl"),
        (
            ["generate", "the", "--to", "text", "--option", "num_return_sequences=2"],
            "several texts for each row are none",
        ),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(arguments, message, calls, run):
    result = run(*arguments, code=2)
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""


def test_results_that_are_no_lines(calls, run, tmp_path):
    message = one_error(run("translate", "a FAIL", "-m", "folder", "-o", "out.txt", code=1))
    assert "arguments: row 0 gives no line of text" in message
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("text", ["a.txt", "-"])
def test_names_of_files_are_no_texts(run, tmp_path, text):
    write_lines(tmp_path / "a.txt", ["the"])
    assert f"{text} names a file; pass --file {text}" in run("classify", text, "-m", "model", code=2).output
