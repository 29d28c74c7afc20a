"""Tasks that read look at a model once a call, and see what was changed between two calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation import inference  # noqa: E402
from numba_nlp.generation.looks import look, looked_at_once  # noqa: E402
from numba_nlp.kernels.words import VECTOR  # noqa: E402
from tests.pipelines import tiny_classify  # noqa: E402

TEXTS = ["the quick brown fox", "the fox", "a fox reads", "read a thing, the fox don't read."]


@pytest.fixture
def classify(tmp_path: Path) -> Any:
    return tiny_classify.make(tmp_path)


def scores(results: Any) -> list[dict[str, float]]:
    return [{found["label"]: found["score"] for found in row} for row in results]


def assert_as_torch_computes(classify: Any) -> None:
    ours, theirs = (scores(classify(TEXTS, batch_size=1, engine=engine)) for engine in ("auto", "torch"))
    for mine, right in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(right, abs=1e-5)


def test_one_look_a_call(classify: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    real = inference.choose_plan
    monkeypatch.setattr(inference, "choose_plan", lambda *given: looks.append(1) or real(*given))
    for calls in (1, 2):
        classify(TEXTS, batch_size=1)
        assert len(looks) == calls
    # of a stream the caller may do anything between two results: the model is looked at for each part of it
    classify.stream_rows = 2
    list(classify(iter(TEXTS), batch_size=1))
    assert len(looks) == 4


def test_what_is_changed_between_two_calls_is_seen(classify: Any) -> None:
    assert_as_torch_computes(classify)
    block = classify.model.encoder.blocks[0]
    with torch.no_grad():
        block.feed_forward.output.weight.mul_(-3)
    assert_as_torch_computes(classify)

    class Doubled(torch.nn.Linear):
        def forward(self, x: Any) -> Any:
            return 2 * super().forward(x)

    changed = Doubled(*reversed(block.feed_forward.output.weight.shape))
    changed.load_state_dict(block.feed_forward.output.state_dict())
    block.feed_forward.output = changed
    assert_as_torch_computes(classify)


@pytest.mark.skipif(not VECTOR, reason="without vectors torch computes")
def test_what_is_changed_within_a_stream_is_seen(classify: Any) -> None:
    classify.stream_rows = 1
    found = classify(iter(TEXTS[:1] * 2))
    first = next(found)
    with torch.no_grad():
        classify.model.encoder.blocks[0].feed_forward.output.weight.mul_(-3)
    second = next(found)
    assert scores([first]) != scores([second])
    assert scores([second])[0] == pytest.approx(scores(classify(TEXTS[:1], engine="torch"))[0], abs=1e-5)


def test_looks_end_with_their_block() -> None:
    found = iter(range(9))
    with looked_at_once():
        assert [look("a", lambda: next(found)), look("b", lambda: next(found))] == [0, 1]
        with looked_at_once():
            assert look("a", lambda: next(found)) == 2
        assert look("a", lambda: next(found)) == 0
    assert [look("a", lambda: next(found)), look("a", lambda: next(found))] == [3, 4]
    with pytest.raises(ZeroDivisionError), looked_at_once():
        look("a", lambda: 1 // 0)
    assert look("a", lambda: next(found)) == 5
