"""GPT and GPT-2 against transformers: every head, masks, types, states, attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
import numba_nlp.models
from tests.models.tiny import assert_rows_alone, assert_same, draw_ids, make_reference, pad, pair, save, torch

save_file = pytest.importorskip("safetensors.torch").save_file

VOCABULARY = 60
SETTINGS = {
    "vocab_size": VOCABULARY,
    "n_embd": 24,
    "n_layer": 2,
    "n_head": 3,
    "n_positions": 20,
    "num_labels": 5,
    "pad_token_id": 0,
}
CLASSES = (
    "GPT2Model",
    "GPT2LMHeadModel",
    "GPT2ForSequenceClassification",
    "GPT2ForTokenClassification",
    "GPT2ForQuestionAnswering",
    "OpenAIGPTModel",
    "OpenAIGPTLMHeadModel",
    "OpenAIGPTForSequenceClassification",
)


def positions_of(mask: Any) -> Any:
    """What users of transformers pass as position_ids with padding on the left."""
    return (mask.cumsum(1) - 1).clamp(min=0)


@pytest.fixture(scope="module", params=CLASSES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    settings = {**SETTINGS, "num_labels": 2 if "Question" in request.param else 5}
    return pair(request.param, tmp_path_factory.mktemp("gpt"), **settings)


@pytest.mark.parametrize("width", [1, 7, 20])
def test_logits_states_and_attention(both: tuple[Any, Any], width: int) -> None:
    theirs, ours = both
    ids = draw_ids(3, width, VOCABULARY)
    types = ids % 4
    with torch.no_grad():
        expected = theirs(ids, token_type_ids=types, output_hidden_states=True, output_attentions=True)
        assert_same(ours(ids, None, types, output_hidden_states=True, output_attentions=True), expected)
        assert_same(ours(ids.tolist()), theirs(ids))


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(both: tuple[Any, Any], side: str) -> None:
    theirs, ours = both
    ids, mask = pad(draw_ids(3, 9, VOCABULARY), [9, 4, 1], side=side)
    with torch.no_grad():
        expected = theirs(
            ids,
            attention_mask=mask,
            position_ids=positions_of(mask),
            output_hidden_states=True,
            output_attentions=True,
        )
    got = ours(ids, mask, output_hidden_states=True, output_attentions=True)
    assert_same(got, expected, only=mask.bool())


@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_alone(both: tuple[Any, Any], side: str) -> None:
    # padded with a token that counts elsewhere: the mask alone says that it does not
    assert_rows_alone(both[1], draw_ids(4, 12, VOCABULARY), [12, 5, 1, 8], side=side, padding=9)


def test_a_row_without_tokens_is_finite(both: tuple[Any, Any]) -> None:
    ids = draw_ids(2, 6, VOCABULARY)
    mask = torch.ones_like(ids)
    mask[1] = 0
    got = both[1](ids, mask, output_attentions=True)
    for name, values in got.to_dict().items():
        assert all(torch.isfinite(each).all() for each in ([values] if torch.is_tensor(values) else values)), name


@pytest.mark.parametrize(
    "changes",
    [
        {"scale_attn_weights": False},
        {"scale_attn_by_inverse_layer_idx": True},
        {"reorder_and_upcast_attn": True, "n_inner": 30},
        {"activation_function": "relu", "layer_norm_epsilon": 0.1},
        {"tie_word_embeddings": False},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_switches_of_gpt2(changes: dict[str, Any], tmp_path: Path) -> None:
    theirs, ours = pair("GPT2LMHeadModel", tmp_path, **SETTINGS, **changes)
    ids = draw_ids(2, 8, VOCABULARY)
    with torch.no_grad():
        assert_same(ours(ids), theirs(ids))


@pytest.mark.parametrize("afn", ["relu", "swish"])
def test_switches_of_gpt(afn: str, tmp_path: Path) -> None:
    theirs, ours = pair("OpenAIGPTLMHeadModel", tmp_path, **SETTINGS, afn=afn)
    ids = draw_ids(2, 8, VOCABULARY)
    with torch.no_grad():
        assert_same(ours(ids), theirs(ids))


@pytest.mark.parametrize("architecture", ["GPT2DoubleHeadsModel", "OpenAIGPTDoubleHeadsModel"])
def test_language_model_of_two_heads(architecture: str, tmp_path: Path) -> None:
    theirs, ours = pair(architecture, tmp_path, **SETTINGS)
    ids = draw_ids(2, 8, VOCABULARY)
    with torch.no_grad():
        torch.testing.assert_close(ours(ids).logits, theirs(ids).logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding_id", [None, -1, 7])
@pytest.mark.parametrize("family", ["GPT2", "OpenAIGPT"])
def test_the_classified_token_is_the_last_that_is_no_padding(
    family: str, padding_id: int | None, tmp_path: Path
) -> None:
    settings = {**SETTINGS, "pad_token_id": padding_id}
    theirs, ours = pair(f"{family}ForSequenceClassification", tmp_path, **settings)
    ids = draw_ids(4, 6, VOCABULARY)
    ids[0, 4:] = ids[1, 5:] = ids[2, :3] = ids[3] = 7
    with torch.no_grad():
        expected = [theirs(row[None]).logits for row in ids]  # without a padding id transformers takes one row only
    torch.testing.assert_close(ours(ids).logits, torch.cat(expected), rtol=1e-5, atol=1e-5)


def test_too_long_rows_are_refused(both: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="rows of 21 tokens, the model has 20 positions"):
        both[1](draw_ids(1, 21, VOCABULARY))


def test_cross_attention_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="add_cross_attention"):
        pair("GPT2LMHeadModel", tmp_path, **SETTINGS, add_cross_attention=True)


def test_names_of_old_checkpoints(tmp_path: Path) -> None:
    """Those of the hub's gpt2: no prefix, no output layer, masks among the tensors."""
    theirs = make_reference("GPT2LMHeadModel", **SETTINGS)
    save(theirs, tmp_path)
    tensors = {f"h.{i}.attn.bias": torch.ones(1, 1, 20, 20) for i in range(2)}
    tensors |= {f"h.{i}.attn.masked_bias": torch.tensor(-1e4) for i in range(2)}
    for name, tensor in theirs.transformer.state_dict().items():
        tensors[name] = tensor.contiguous()
    save_file(tensors, tmp_path / "model.safetensors")
    ours = nlp.load_model(tmp_path)
    ids = draw_ids(2, 8, VOCABULARY)
    with torch.no_grad():
        assert_same(ours(ids), theirs(ids))


@pytest.mark.parametrize("architecture", ["GPT2LMHeadModel", "OpenAIGPTLMHeadModel"])
def test_gradients(architecture: str, tmp_path: Path) -> None:
    settings = {**SETTINGS, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    theirs = make_reference(architecture, **settings)
    ours = nlp.load_model(save(theirs, tmp_path), trainable=True)
    ids, mask = pad(draw_ids(2, 8, VOCABULARY), [8, 3], side="left")
    theirs(ids, attention_mask=mask, position_ids=positions_of(mask)).logits[mask.bool()].sin().sum().backward()
    ours(ids, mask).logits[mask.bool()].sin().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in ours.parameters())
    expected = theirs.get_input_embeddings().weight.grad
    torch.testing.assert_close(ours.decoder.tokens.weight.grad, expected, rtol=1e-4, atol=1e-4)


def test_two_names_of_one_value_must_agree() -> None:
    with pytest.raises(ValueError, match="`hidden_size` 32 and `n_embd` 24 are two names of one value"):
        nlp.models.create_model({"model_type": "gpt2", **SETTINGS, "hidden_size": 32}, head="none")
