"""``embed`` of every kind of model: transformers' hidden states, pooled by what the words mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from tests.models.test_gpt import SETTINGS as GPT
from tests.models.test_gpt import positions_of
from tests.models.tiny import CLOSE, draw_ids, make_reference, pad, save, torch
from tests.models.tiny_pairs import settings_of

VOCABULARY = 60
LENGTHS = [7, 3, 1]
_XLNET = {"vocab_size": VOCABULARY, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 32}
_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
}
#: Class, its settings, what of it gives the hidden states.
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("BertModel", _BERT, ""),
    ("GPT2LMHeadModel", GPT, "transformer"),
    ("OpenAIGPTForSequenceClassification", GPT, "transformer"),
    ("XLNetLMHeadModel", _XLNET, "transformer"),
    ("XLNetModel", _XLNET, ""),
    ("BartForConditionalGeneration", settings_of("BartForConditionalGeneration"), "model.encoder"),
    ("T5ForConditionalGeneration", settings_of("T5ForConditionalGeneration"), "encoder"),
]


def pooled(hidden: Any, mask: Any, how: str) -> Any:
    """Row by row, in NumPy."""
    rows = []
    for row, kept in zip(hidden.double().numpy(), mask.bool().numpy(), strict=True):
        tokens = row[kept]
        rows.append(
            {
                "mean": lambda tokens=tokens: tokens.sum(0) / len(tokens),
                "first": lambda tokens=tokens: tokens[0],
                "last": lambda tokens=tokens: tokens[-1],
                "max": lambda tokens=tokens: tokens.max(0),
                "mean_sqrt": lambda tokens=tokens: tokens.sum(0) / len(tokens) ** 0.5,
            }[how]()
        )
    return torch.from_numpy(np.stack(rows)).float()


@pytest.mark.parametrize(("architecture", "settings", "base"), CASES, ids=[case[0] for case in CASES])
def test_hidden_states_are_pooled(architecture: str, settings: dict[str, Any], base: str, tmp_path: Path) -> None:
    theirs = make_reference(architecture, **settings)
    ours = nlp.load_model(save(theirs, tmp_path))
    # at the left, transformers' BERT and BART count the positions of padding and cannot be told others
    for side in ["right"] if architecture.startswith("B") else ["right", "left"]:
        ids, mask = pad(draw_ids(3, 7, VOCABULARY), LENGTHS, side=side, padding=1)
        # transformers counts the positions of padding unless it is told
        more = {"position_ids": positions_of(mask)} if base == "transformer" and "XLNet" not in architecture else {}
        with torch.no_grad():
            hidden = theirs.get_submodule(base)(ids, attention_mask=mask, **more).last_hidden_state
        for how in ("mean", "first", "last", "max", "mean_sqrt"):
            torch.testing.assert_close(
                ours.embed(ids, mask, pooling=how), pooled(hidden, mask, how), **CLOSE, msg=f"{how}, {side}"
            )


@pytest.mark.parametrize(("architecture", "settings", "base"), CASES, ids=[case[0] for case in CASES])
def test_ways_that_there_are_not(architecture: str, settings: dict[str, Any], base: str, tmp_path: Path) -> None:
    ours = nlp.load_model(save(make_reference(architecture, **settings), tmp_path))
    ways = "must be one of 'mean', 'first', 'last', 'max', 'mean_sqrt'"
    ways += ", 'pooler', got" if architecture == "BertModel" else ", got"
    # before anything is computed, so that the ids do not matter
    with pytest.raises(ValueError, match=rf"{ways} 'cls'; \[CLS\] is the \"first\" token"):
        ours.embed(None, pooling="cls")
    with pytest.raises(ValueError, match=f"{ways} 'middle'$"):
        ours.embed(None, pooling="middle")


def test_rows_without_any_token(tmp_path: Path) -> None:
    ours = nlp.load_model(save(make_reference("GPT2Model", **GPT), tmp_path))
    for how in ("mean", "max", "mean_sqrt"):
        assert not ours.embed([[1, 2]], [[0, 0]], pooling=how).any()
    assert ours.embed([[1, 2]], [[0, 0]], pooling="last").isfinite().all()
