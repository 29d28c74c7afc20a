"""What the commands do with a model that is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch")

from tools.files import ROOT
from tools.model_training.cards import figures_of
from tools.model_training.command import Options, finish, read_options
from tools.model_training.loop import Recipe

RECIPE = Recipe(steps=100, rows=4, rate=0.1, warm_up=10, decay=0.3)


def test_options_change_the_recipe() -> None:
    options = read_options("", "hamlet", RECIPE, [])
    assert options.recipe == RECIPE
    assert options.out == ROOT / "numba_nlp" / "models" / "data" / "hamlet"
    assert options.work == ROOT / "out" / "training" / "hamlet" / "train"
    assert options.texts is None
    given = ["--steps=20", "--rate=0.2", "--seed=7", "--compare", "--work=w", "--out=o"]
    options = read_options("", "hamlet", RECIPE, given)
    assert options.recipe == Recipe(steps=20, rows=4, rate=0.2, warm_up=5, decay=0.3, seed=7)
    assert (options.out, options.kept, options.work) == (Path("o"), Path("w"), Path("w/compare"))
    assert options.compare
    assert read_options("", "hamlet", RECIPE, ["--texts=t"], reads_texts=True).texts == Path("t")
    with pytest.raises(SystemExit):
        read_options("", "hamlet", RECIPE, ["--texts=t"])


def options_in(folder: Path, *, compare: bool) -> Options:
    work = folder / "work"
    (work / "model").mkdir(parents=True, exist_ok=True)
    (work / "model" / "model.safetensors").write_bytes(b"weights of today")
    (work / "state.pt").touch()
    return Options(RECIPE, folder / "out", folder, work, compare, None)


def test_a_model_is_put_in_its_place_or_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert finish(options_in(tmp_path, compare=False), {"right": 0.98}, 3.0, "# Card\n") == 0
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == ["MODEL_CARD.md", "model.safetensors", "training.json"]
    assert not (tmp_path / "work" / "state.pt").exists()
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert finish(options_in(tmp_path, compare=True), {"right": 0.97}, 3.0, "# Other\n") == 0
    assert finish(options_in(tmp_path, compare=True), {"right": 0.95}, 3.0, "# Other\n") == 1
    assert "right: 0.98 before, 0.95 now" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert figures_of(out) == {"right": 0.98}
