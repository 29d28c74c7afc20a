"""A whole Tokenizer gives the same with the JIT disabled, without intrinsics, and as it is compiled by default."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vocab_tools
from tests.robustness.exercise import TEXTS
from tests.toy_vocabulary import toy_vocabulary

ROOT = Path(__file__).parents[2]
GPT2 = ROOT / "examples" / "data" / "gpt2"
#: Toy vocabularies for each way through the encoder: another pattern, the space before texts, whole pieces, a regex.
TOYS: dict[str, dict[str, Any]] = {
    "toy": {},
    "toy_cl100k": {"pattern": "cl100k", "special_policy": "plain"},
    "toy_prefix": {"add_prefix_space": True, "trim_offsets": True},
    "toy_whole": {"whole_pieces": True},
    "toy_regex": {"pattern": "regex", "pattern_regex": r"\p{L}{1,3}|\S+|\s"},
}
FLAGS = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_NLP_PLAIN")


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabularies")
    for name, metadata in TOYS.items():
        toy_vocabulary(**metadata).save(folder / f"{name}.safetensors")
    vocab_tools.compile([GPT2 / "vocab.json", GPT2 / "merges.txt"], family="gpt2").save(folder / "gpt2.safetensors")
    return folder


def exercised(folder: Path, **flags: str) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name not in FLAGS}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment["PYTHONHASHSEED"] = "0"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.robustness.exercise", str(folder)],
        env=environment | flags,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def compiled(vocabularies: Path) -> dict[str, Any]:
    return exercised(vocabularies)


def check_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys() == {*TOYS, "gpt2"}
    for name, results in found.items():
        assert results.keys() == expected[name].keys()
        different = [key for key, value in results.items() if value != expected[name][key]]
        assert not different, name


def test_the_exercise_is_one(compiled: dict[str, Any]) -> None:
    for name, results in compiled["results"].items():
        for number, text in enumerate(TEXTS):
            prefixed = name == "toy_prefix" and text and not text.startswith(" ")
            assert results[f"text {number}"] == (" " if prefixed else "") + text
        assert len({len(ids) for key, ids in results.items() if key.startswith("single")}) > 10


@pytest.mark.parametrize(("flag", "calls"), [("NUMBA_DISABLE_JIT", "dispatcher"), ("NUMBA_NLP_PLAIN", "dispatcher")])
def test_results_do_not_depend_on_how_kernels_run(vocabularies, compiled, flag, calls) -> None:
    found = exercised(vocabularies, **{flag: "1"})
    assert all(calls in way for way in found["calls"].values())
    check_same(found["results"], compiled["results"])


def test_every_input_reaches_the_same_compiled_kernel(compiled: dict[str, Any]) -> None:
    """Read-only or not, sliced or not: a second signature would be compiled in the middle of a user's run."""
    called = {name: n for name, n in compiled["signatures"].items() if n > 0}
    assert len(called) > 5
    assert {name: n for name, n in called.items() if n > 1} == {}
