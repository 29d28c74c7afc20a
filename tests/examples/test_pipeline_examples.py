"""The examples of the pipelines do what they say: each checks its own results and fails where they are wrong."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("torch")

TRAINED = ("answer", "classify", "classify_zero_shot", "converse", "embed", "fill_mask", "summarize", "tag_tokens")


@pytest.mark.parametrize("name", TRAINED)
def test_tiny_models_solve_their_tasks(name, tmp_path, capsys):
    importlib.import_module(f"examples.{name}").main(tmp_path)
    printed = capsys.readouterr().out
    assert " right" in printed
    assert (tmp_path / "model.safetensors").is_file()


@pytest.mark.parametrize("name", ["generate", "translate"])
def test_own_models(name, capsys):
    importlib.import_module(f"examples.{name}").main()
    assert " right" in capsys.readouterr().out


def test_a_model_that_is_wrong_is_noticed(capsys):
    from examples.checking import check

    check("answers", 95, 100)
    with pytest.raises(SystemExit, match="answers: expected at least 95%"):
        check("answers", 94, 100)
