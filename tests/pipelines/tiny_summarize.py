"""Summaries by a tiny model, for tests that all pipelines pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import pipeline
from tests.pipelines.text_folders import write_checkpoint

INPUTS = ["the king", "the quick brown fox.", "", "don't read a thing", "a", "the quick fox reads a thing. " * 2]
BAD_ROWS = [None, 7.5, b"bytes", "the quick brown fox. " * 20]


def make(folder: Path) -> Any:
    params = {"summarization": {"num_beams": 2, "max_length": 8, "min_length": 3}}
    return pipeline("summarize", model=write_checkpoint("bart", folder, task_specific_params=params))
