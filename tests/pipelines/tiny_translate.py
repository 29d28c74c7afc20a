"""Translation by a tiny model, for tests that all pipelines pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import pipeline
from tests.pipelines.text_folders import write_checkpoint

INPUTS = ["the king", "", "To be, or not to be: that is the question.", "a", "Who's there?", "the quick brown fox " * 3]
BAD_ROWS = [None, 7, "lone \ud800 surrogate", "the quick brown fox " * 60]


def make(folder: Path) -> Any:
    return pipeline("translation_en_to_fr", model=write_checkpoint("marian", folder), num_beams=2, max_new_tokens=6)
