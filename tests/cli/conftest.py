"""A small vocabulary in a file, and the command line over it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

import numba_nlp as nlp
from numba_nlp.commands.app import app
from numba_nlp.vocabulary import Vocabulary
from tests.toy_vocabulary import toy_arrays, toy_metadata


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory) -> Path:
    """The toy vocabulary, with ``<|end|>`` around texts that are to have special tokens."""
    arrays = toy_arrays()
    end = int(arrays["special_ids"][0])
    arrays["template_single"] = np.array([end, -1, end], np.int32)
    path = tmp_path_factory.mktemp("vocabulary") / "toy.safetensors"
    Vocabulary(arrays, toy_metadata()).save(path)
    return path


@pytest.fixture(scope="session")
def tok(vocabulary):
    return nlp.load_tokenizer(vocabulary)


@pytest.fixture
def run(vocabulary, tmp_path, monkeypatch):
    """Runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run_command(command, *arguments, code=0, stdin=None):
        needs = ["--vocabulary", str(vocabulary)] if command in ("encode", "decode", "count") else []
        result = CliRunner().invoke(app, [command, *needs, *map(str, arguments)], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return run_command
