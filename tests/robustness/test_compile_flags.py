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
from tests.families import FAMILIES, family
from tests.robustness.exercise import TEXTS
from tests.toy_vocabulary import toy_vocabulary
from tests.wordpiece_cases import toy_wordpiece

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
OTHERS = [name for name in FAMILIES if name not in ("byte_bpe", "wordpiece")]
#: Some of the kernels that Python code calls.
ALWAYS_CALLED = {
    f"numba_nlp.kernels.{name}"
    for name in ("segment.special.split_rows", "segment.spans.fill_spans", "segment.decode.decode_rows",
                 "segment.decode_wordpiece.choose_forms", "segment.prefix.prefix_spaces", "tables.hashing.find_piece",
                 "tables.utf8.validate_rows")
}  # fmt: skip
FLAGS = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_NLP_PLAIN")


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabularies")
    for name, metadata in TOYS.items():
        toy_vocabulary(**metadata).save(folder / f"{name}.safetensors")
    toy_wordpiece().save(folder / "toy_wordpiece.safetensors")
    vocab_tools.compile([GPT2 / "vocab.json", GPT2 / "merges.txt"], family="gpt2").save(folder / "gpt2.safetensors")
    return folder


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The other families. Their kernels are not compiled once more without intrinsics: that would take minutes."""
    folder = tmp_path_factory.mktemp("others")
    for name in OTHERS:
        family(name).vocabulary.save(folder / f"{name}.safetensors")
    return folder


def environment(**flags: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in FLAGS}
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return kept | flags


def exercised(*folders: Path, **flags: str) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.robustness.exercise", *map(str, folders)],
        env=environment(**flags),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def compiled(vocabularies: Path, others: Path) -> dict[str, Any]:
    return exercised(vocabularies, others)


@pytest.fixture(scope="module")
def portable(vocabularies: Path) -> dict[str, Any]:
    return exercised(vocabularies, NUMBA_NLP_PLAIN="1")


@pytest.fixture(scope="module")
def interpreted(vocabularies: Path, others: Path) -> dict[str, Any]:
    return exercised(vocabularies, others, NUMBA_DISABLE_JIT="1")


def test_the_exercise_is_one(compiled: dict[str, Any]) -> None:
    assert compiled["results"].keys() == {*TOYS, "toy_wordpiece", "gpt2", *OTHERS}
    for name, results in compiled["results"].items():
        for number, text in enumerate(TEXTS if name in TOYS or name == "gpt2" else ()):
            prefixed = name == "toy_prefix" and text and not text.startswith(" ")
            assert results[f"text {number}"] == (" " if prefixed else "") + text
        assert len({len(ids) for key, ids in results.items() if key.startswith("single")}) >= 5


@pytest.mark.parametrize("way", ["portable", "interpreted"])
def test_results_do_not_depend_on_how_kernels_run(way, compiled, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(way)
    assert set(found["calls"].values()) == {"through Numba's dispatcher"}
    assert found["results"].keys() == compiled["results"].keys() - (set(OTHERS) if way == "portable" else set())
    for name, results in found["results"].items():
        expected = compiled["results"][name]
        assert results.keys() == expected.keys()
        assert [key for key, value in results.items() if value != expected[key]] == [], name


@pytest.mark.parametrize("way", ["compiled", "portable"])
def test_a_kernel_is_compiled_once_for_all_inputs(way, request: pytest.FixtureRequest) -> None:
    """Read-only or not, sliced or not: for other types a kernel would be compiled in the middle of a user's run."""
    types = request.getfixturevalue(way)["types"]
    assert types.keys() >= ALWAYS_CALLED
    assert {name: found for name, found in types.items() if len(found) > 1} == {}


def test_compiled_code_of_the_plain_forms_has_a_folder_of_its_own() -> None:
    code = "from numba_nlp import _jit; print(_jit.DIGEST)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], env=environment(**flags), cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for flags in ({}, {"NUMBA_NLP_PLAIN": "1"}, {"NUMBA_BOUNDSCHECK": "1"})
    }
    assert len(digests) == 3
