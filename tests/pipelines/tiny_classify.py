"""A small classifier for the tests that all tasks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import pipeline
from tests.pipelines.label_folders import write_folder

INPUTS: list[Any] = [
    "the quick brown fox",
    "",
    "read a thing, the fox don't read. " * 4,
    {"text": "a fox", "text_pair": "the quick brown fox reads the quick fox"},
    "b",
    "the quick fox? the brown fox!",
    {"text": "read"},
]
BAD_ROWS: list[Any] = [None, 3, "the fox " * 40, ["a", "b"], {"txt": "a"}, {"text": "a", "text_pair": None}, "\ud800"]


def make(folder: Path) -> Any:
    """Four labels, all of which are given."""
    write_folder(folder, "bert", "BertForSequenceClassification", num_labels=4, id2label=dict(enumerate("abcd")))
    return pipeline("classify", model=folder, top_k=None)
