"""Tokens and scores equal to transformers', each option alone and several together, for each family."""

from __future__ import annotations

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")

from tools.generation_cases import ARCHITECTURES, OPTIONS, Pair, compare, draw_case, make_pair  # noqa: E402

#: Options are drawn that do nothing beside others, and lengths that cannot be.
pytestmark = pytest.mark.filterwarnings("ignore:`.* (has no effect|is more than rows may have):UserWarning")

#: The searches on the host over the steps of Numba, where a family has them, and of torch; and those on the device.
ENGINES = ("auto", "torch", "device")


@pytest.fixture(scope="module", params=ARCHITECTURES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(request.param, tmp_path_factory.mktemp("model"))


def check(pair: Pair, seed: str, **options: Any) -> None:
    case = draw_case(random.Random(seed), pair, **options)
    for case.engine in ENGINES:
        verdict, why = compare(pair, case)
        assert verdict != "different", f"{case.engine}: {case.options}\n{why}"


@pytest.mark.parametrize("number", range(5))
def test_several_options(pair: Pair, number: int) -> None:
    check(pair, f"several {pair.architecture} {number}")


@pytest.mark.parametrize("name", OPTIONS)
def test_one_option(name: str, tmp_path: Any) -> None:
    """The families take turns."""
    architectures = [ARCHITECTURES[(len(name) + i * 3) % len(ARCHITECTURES)] for i in range(2)]
    for architecture in architectures:
        pair = make_pair(architecture, tmp_path / architecture)
        for number in range(3):
            check(pair, f"{name} {number}", only=name)


def test_ends_are_reached(tmp_path: Any) -> None:
    """The random models do end their rows, else nothing above would say much."""
    pair = make_pair("MarianMTModel", tmp_path)
    ended, rows = 0, 0
    for number in range(30):
        case = draw_case(random.Random(f"ends {number}"), pair, only="min_length")
        case.options = {**case.options, "max_new_tokens": 16}
        out = pair.ours.generate(case.input_ids, case.attention_mask, **case.options)
        rows += out.sequences.shape[0]
        ends = case.options["eos_token_id"]
        ended += int(torch.isin(out.sequences, torch.tensor(ends)).any(1).sum())
    assert ended > rows / 3


def test_padding_that_was_written(tmp_path: Any) -> None:
    """M2M100 gives padding tokens no position of their own, in a step as in a pass over the whole row."""
    pair = make_pair("M2M100ForConditionalGeneration", tmp_path, seed=77_000_007)
    written = 0
    for number in range(6):
        case = draw_case(random.Random(f"padding {number}"), pair, only="no_repeat_ngram_size")
        case.options = {**case.options, "max_new_tokens": 12}
        verdict, why = compare(pair, case)
        assert verdict != "different", f"{case.options}\n{why}"
        written += int(
            (pair.ours.generate(case.input_ids, case.attention_mask, **case.options).sequences[:, 1:5] == 1).sum()
        )
    assert written > 5
