"""The clock of a generation counts what the model takes, and no more."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation import StepClock
from numba_nlp.models import create_model

CONFIG = {"model_type": "gpt2", "vocab_size": 60, "n_embd": 16, "n_layer": 1, "n_head": 2}


@pytest.fixture(scope="module")
def model() -> Any:
    return create_model(CONFIG, head="language_model", seed=1)


@pytest.mark.parametrize("engine", ["numba", "torch", "device"])
@pytest.mark.parametrize("beams", [1, 2])
def test_tokens_are_the_same_and_time_is_counted(model: Any, engine: str, beams: int) -> None:
    options = {"num_beams": beams, "max_new_tokens": 5, "engine": engine}
    expected = model.generate([[5, 6, 7]], **options).sequences
    clock = StepClock()
    begin = time.perf_counter()
    found = model.generate([[5, 6, 7]], clock=clock, **options).sequences
    whole = time.perf_counter() - begin
    assert (found == expected).all()
    assert 0 < clock.seconds < whole
    before = clock.seconds
    model.generate([[5, 6, 7]], clock=clock, **options)
    assert clock.seconds > before


def test_what_is_not_of_the_model_is_not_counted(model: Any) -> None:
    def slow(values: np.ndarray, tokens: np.ndarray) -> None:
        time.sleep(0.01)

    model.generate([[5]], max_new_tokens=5, processors=[slow])
    clock = StepClock()
    begin = time.perf_counter()
    model.generate([[5]], max_new_tokens=5, processors=[slow], clock=clock)
    assert time.perf_counter() - begin - clock.seconds > 5 * 0.01


def test_equal_prompts_in_several_calls(model: Any) -> None:
    prompts = [[5, 6], [7], [5, 6], [5, 6], [7]]
    options = {"do_sample": True, "seed": 4, "max_new_tokens": 12, "num_return_sequences": 2, "eos_token_id": None}
    expected = model.generate(prompts, **options).sequences[:, 2:].reshape(5, 2, -1)
    before = [0, 0, 1, 2, 1]
    assert len(np.unique(expected.numpy().reshape(10, -1), axis=0)) == 10
    for part in ([0, 1], [2, 3, 4], [3, 2], [4]):
        given = [prompts[i] for i in part]
        out = model.generate(given, equal_before=[before[i] for i in part], **options)
        found = out.sequences[:, out.prompt_width :].reshape(len(part), 2, -1)
        assert (found == expected[part]).all()
    with pytest.raises(ValueError, match="`equal_before` must be 2 numbers from 0 on"):
        model.generate([[5], [6]], equal_before=[0, -1], **options)
    with pytest.raises(TypeError, match="`equal_before` must be whole numbers"):
        model.generate([[5], [6]], equal_before=[0.5, 1], **options)
