"""What a call gives, by name and by place."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.models import ModelOutput  # noqa: E402


def test_fields_by_name_and_place() -> None:
    start, end = torch.zeros(1), torch.ones(1)
    out = ModelOutput(start_logits=start, end_logits=end)
    assert out["start_logits"] is out[0] is start
    assert out[1] is out[-1] is end
    first, second = out[:2]
    assert (first, second) == (start, end)
    assert "end_logits" in out
    assert "logits" not in out
    assert list(out) == list(out.keys()) == ["start_logits", "end_logits"]
    assert {**out} == out.to_dict()
    with pytest.raises(KeyError, match="'logits' is not there; start_logits, end_logits are"):
        out["logits"]
    with pytest.raises(IndexError):
        out[2]
