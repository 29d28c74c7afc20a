"""A small encoder for the tests that all tasks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import pipeline
from tests.pipelines.label_folders import write_folder

INPUTS = ["the quick brown fox", "", "read a thing, the fox don't read. " * 4, "b", "the quick fox? the brown fox!"]
BAD_ROWS: list[Any] = [None, 3, "the fox " * 40, {"text": "a"}, "\ud800"]


def make(folder: Path) -> Any:
    """Means of BERT's vectors."""
    write_folder(folder, "bert", "BertModel")
    return pipeline("embed", model=folder)
