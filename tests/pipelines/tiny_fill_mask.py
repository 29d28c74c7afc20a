"""A small masked language model for the tests that all tasks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import pipeline
from tests.checkpoint_folders import BERT_LINES
from tests.pipelines.label_folders import write_folder

INPUTS = [
    "the quick [MASK] fox",
    "[MASK]",
    "read a thing, the [MASK] don't read. " + "the fox, " * 12,
    "[MASK] [MASK]",
    "the quick fox? the brown fox! [MASK] reads [MASK], a b?",
]
BAD_ROWS: list[Any] = [None, 3, "the fox", "[MASK] fox " * 40, {"text": "[MASK]"}, "", "\ud800"]


def make(folder: Path) -> Any:
    """Three words for each mask."""
    write_folder(folder, "bert", "BertForMaskedLM", vocab_size=len(BERT_LINES))
    return pipeline("fill_mask", model=folder, top_k=3)
