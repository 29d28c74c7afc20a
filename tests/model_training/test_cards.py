"""Records of trainings, and whether a training anew gives the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch")

from tools.model_training.cards import CARD, FIGURES, differences, figures_of, table, write_record
from tools.model_training.loop import Recipe


def test_a_record_is_read_again(tmp_path: Path) -> None:
    figures = {"bits per byte": 2.123456789, "right": 1.0}
    write_record(tmp_path, Recipe(steps=5, rows=2, rate=0.1, warm_up=1), figures, 12.345, "# Card\n")
    assert figures_of(tmp_path) == figures
    assert (tmp_path / CARD).read_text(encoding="utf-8") == "# Card\n"
    record = json.loads((tmp_path / FIGURES).read_text(encoding="utf-8"))
    assert record["recipe"]["steps"] == 5
    assert record["minutes"] == 12.3


def test_figures_are_the_same_within_two_per_cent() -> None:
    before = {"a": 2.0, "b": 1.0, "c": 0.0}
    assert differences(before, {"a": 2.039, "b": 0.981, "c": 0.0}) == []
    assert differences(before, {"a": 2.041, "b": 1.0, "c": 0.01}) == ["a: 2 before, 2.041 now", "c: 0 before, 0.01 now"]
    assert differences(before, {"a": 2.0, "b": 1.0, "d": 1.0}) == ["c: only in one", "d: only in one"]


def test_a_table() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
