"""A small classifier of entailment for the tests that all tasks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import pipeline
from tests.pipelines.label_folders import write_folder

LABELS = {0: "contradiction", 1: "neutral", 2: "entailment"}
INPUTS = ["the quick brown fox", "", "read a thing, the fox don't read. " * 2, "b", "the quick fox? the brown fox!"]
BAD_ROWS: list[Any] = [None, 3, "the fox " * 40, {"text": "a"}, "\ud800"]


def make(folder: Path) -> Any:
    """Three labels to choose from."""
    write_folder(folder, "bert", "BertForSequenceClassification", num_labels=3, id2label=LABELS)
    return pipeline("classify_zero_shot", model=folder, candidate_labels=["fox", "the quick brown", "thing"])
