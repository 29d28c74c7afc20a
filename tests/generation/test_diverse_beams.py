"""Diverse beam search: what transformers 4 gave (``tools/record_diverse_beams.py``), and the twin of its kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from tools.record_diverse_beams import make_model  # noqa: E402

#: Options are drawn that do nothing beside others, and lengths that cannot be.
pytestmark = pytest.mark.filterwarnings("ignore:`.* (has no effect|is more than rows may have):UserWarning")

CASES = json.loads((Path(__file__).parent / "diverse_beams.json").read_text())["cases"]


#: The device takes some of them.
RUNS = [(case, "auto") for case in CASES] + [(case, "device") for case in CASES[::4]]


@pytest.mark.parametrize(
    ("case", "engine"), RUNS, ids=[f"{case['model']}-{number}-{engine}" for number, (case, engine) in enumerate(RUNS)]
)
def test_as_transformers_4(case: dict[str, Any], engine: str) -> None:
    out = make_model(case["model"], case["seed"]).generate(case["input_ids"], engine=engine, **case["options"])
    assert out.sequences.tolist() == case["sequences"]
    torch.testing.assert_close(out.scores, torch.tensor(case["scores"]), rtol=1e-4, atol=1e-4)


def test_the_cases_say_something() -> None:
    """Rows end before their greatest length in many, and groups differ from beams without groups."""
    ended = [any(case["options"]["eos_token_id"] in row for row in case["sequences"]) for case in CASES]
    assert sum(ended) > len(CASES) / 3
    differing = 0
    for case in CASES[::6]:
        options = {**case["options"], "num_beam_groups": 1, "diversity_penalty": 0.0}
        plain = make_model(case["model"], case["seed"]).generate(case["input_ids"], **options)
        differing += plain.sequences.tolist() != case["sequences"]
    assert differing > len(CASES[::6]) / 4


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("name", ["gpt2", "marian"])
def test_rows_of_a_batch_are_as_each_alone(name: str) -> None:
    model = make_model(name, 1)
    options = {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0, "num_return_sequences": 4}
    rows = [[5, 6, 7], [8, 9], [10]]
    end = int(model.generate(rows, max_new_tokens=6, eos_token_id=None).sequences[0, -2])
    options |= {"eos_token_id": end, "pad_token_id": 1, "max_new_tokens": 12}
    together = model.generate(rows, **options)
    for number, row in enumerate(rows):
        alone = model.generate([row], **options)
        torch.testing.assert_close(together.scores[4 * number : 4 * number + 4], alone.scores, rtol=1e-5, atol=1e-5)
