"""BERT against transformers: every head, masks, types, states, attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.models.tiny import assert_rows_alone, assert_same, draw_ids, pad, pair, torch

VOCABULARY = 60
SETTINGS = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
    "num_labels": 5,
}
CLASSES = (
    "BertModel",
    "BertForMaskedLM",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
)


@pytest.fixture(scope="module", params=CLASSES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    settings = {**SETTINGS, "num_labels": 2 if "Question" in request.param else 5}
    return pair(request.param, tmp_path_factory.mktemp("bert"), **settings)


@pytest.mark.parametrize("width", [1, 7, 20])
def test_logits_states_and_attention(both: tuple[Any, Any], width: int) -> None:
    theirs, ours = both
    ids = draw_ids(3, width, VOCABULARY)
    types = ids % 2
    with torch.no_grad():
        expected = theirs(ids, token_type_ids=types, output_hidden_states=True, output_attentions=True)
    got = ours(ids, token_type_ids=types, output_hidden_states=True, output_attentions=True)
    assert_same(got, expected)
    assert_same(ours(ids.tolist(), token_type_ids=types.numpy()), theirs(ids, token_type_ids=types))


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(both: tuple[Any, Any], side: str) -> None:
    theirs, ours = both
    ids, mask = pad(draw_ids(3, 9, VOCABULARY), [9, 4, 1], side=side)
    with torch.no_grad():
        expected = theirs(ids, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    got = ours(ids, mask, output_hidden_states=True, output_attentions=True)
    assert_same(got, expected, only=mask.bool())
    assert_same(ours(ids, mask), theirs(ids, attention_mask=mask), only=mask.bool())


def test_rows_alone(both: tuple[Any, Any]) -> None:
    # positions of BERT count padding at the left too, so only padding at the right leaves a row as it is
    assert_rows_alone(both[1], draw_ids(4, 12, VOCABULARY), [12, 5, 1, 8], side="right")


def test_a_row_without_tokens_is_finite(both: tuple[Any, Any]) -> None:
    ids = draw_ids(2, 6, VOCABULARY)
    mask = torch.ones_like(ids)
    mask[1] = 0
    for name, values in both[1](ids, mask).to_dict().items():
        assert torch.isfinite(values).all(), name


def test_heads_of_one_checkpoint(tmp_path: Path) -> None:
    theirs, ours = pair("BertForPreTraining", tmp_path, **SETTINGS)
    ids = draw_ids(2, 8, VOCABULARY)
    assert ours.head == "masked_lm"
    with torch.no_grad():
        expected = theirs(ids)
        torch.testing.assert_close(ours(ids).logits, expected.prediction_logits, rtol=1e-5, atol=1e-5)
