"""A tiny pipeline that answers, and inputs for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import Pipeline, pipeline
from tools.record_pipelines.span_models import passage, write_checkpoint

__all__ = ["BAD_ROWS", "INPUTS", "make"]

INPUTS: list[dict[str, Any]] = [
    {"question": f"{passage(1000 * place, 1 + place % 5)}?", "context": passage(1500 * place, length)}
    for place, length in enumerate((3, 150, 1, 40, 12, 90, 5, 30))
] + [{"question": "who?", "context": "  \n"}]
BAD_ROWS: list[Any] = [
    None,
    "who is the king",
    {"question": "who?"},
    {"question": "who?", "context": None},
    {"question": "", "context": "the king"},
    {"question": "who?", "context": ""},
    {"question": "who?", "context": "the \ud800 king"},
    {"question": 3, "context": "the king"},
    {"question": "who " * 60, "context": passage(0, 60)},
]


def make(folder: Path) -> Pipeline:
    """The pipeline; the folder is written."""
    write_checkpoint("bert", "question_answering", folder)
    return pipeline("answer", model=folder, max_seq_len=40, doc_stride=8)
