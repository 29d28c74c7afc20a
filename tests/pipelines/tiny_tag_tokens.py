"""A tiny pipeline that labels tokens, and inputs for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import Pipeline, pipeline
from tools.record_pipelines.span_models import passage, write_checkpoint

__all__ = ["BAD_ROWS", "INPUTS", "make"]

INPUTS: list[str] = [passage(1500 * place, length) for place, length in enumerate((3, 150, 1, 40, 12, 90, 5))]
INPUTS += ["", "  \n"]
BAD_ROWS: list[Any] = [None, float("nan"), 3, b"the king", "the \ud800 king", ["the", "king"]]


def make(folder: Path) -> Pipeline:
    """The pipeline; the folder is written."""
    write_checkpoint("bert", "token_classification", folder)
    return pipeline("tag_tokens", model=folder, aggregation_strategy="simple", max_length=32, stride=8)
