"""The compiled vocabulary that the tests of the examples share."""

from __future__ import annotations

from pathlib import Path

import pytest

import vocab_tools

GPT2 = Path(__file__).resolve().parents[2] / "examples" / "data" / "gpt2"


@pytest.fixture(scope="session")
def compiled_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """GPT-2, compiled from the files that the repository carries."""
    path = tmp_path_factory.mktemp("vocabulary") / "gpt2.safetensors"
    vocab_tools.compile([GPT2 / "vocab.json", GPT2 / "merges.txt"]).save(path)
    return path
