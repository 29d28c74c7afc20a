"""Conversations by a tiny model, for tests that all pipelines pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.pipelines import Conversation, pipeline
from tests.pipelines.decoder_folders import write_decoder

INPUTS = [
    "the king",
    ["the fox", "a thing", "don't"],
    [{"role": "user", "content": "the"}],
    Conversation().add_user("the quick fox").add_reply("a").add_user("read the thing"),
    [f"the fox {number}" for number in range(9)],
]
BAD_ROWS = [
    None,
    7,
    [],
    "",
    [{"role": "system", "content": "be kind"}, {"role": "user", "content": "the"}],
    Conversation().add_user("the").add_reply("a"),
    "the quick brown fox " * 20,
]


def make(folder: Path) -> Any:
    return pipeline("converse", model=write_decoder(folder), max_new_tokens=6, min_length_for_response=6)
