"""Text generation by a tiny model, for tests that all pipelines pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import pipeline
from tests.pipelines.decoder_folders import write_decoder

INPUTS = ["the king", "", "To be, or not to be", "a", "Who's there?", "the quick brown"]
BAD_ROWS = [None, 7, ["a"], "lone \ud800 surrogate", "the quick brown fox " * 9]


def make(folder: Path) -> Any:
    return pipeline("generate", model=write_decoder(folder), max_new_tokens=6)
