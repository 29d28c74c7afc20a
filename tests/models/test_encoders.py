"""BERT and its kin against transformers: every family and head, masks, types, states, attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numba_nlp as nlp
from tests.models.tiny import CLOSE, assert_rows_alone, assert_same, draw_ids, make_reference, pad, pair, save, torch

VOCABULARY = 60
LONGEST = 20
_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": LONGEST,
    "num_labels": 5,
}
_ROBERTA = {**_BERT, "max_position_embeddings": LONGEST + 2, "pad_token_id": 1, "hidden_act": "gelu_new"}
SETTINGS: dict[str, dict[str, Any]] = {
    "Bert": {**_BERT, "hidden_act": "gelu_new"},
    "Roberta": _ROBERTA,
    "XLMRoberta": {**_ROBERTA, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "Camembert": {**_ROBERTA, "pad_token_id": 0, "max_position_embeddings": LONGEST + 1},
    "Electra": {**_BERT, "embedding_size": 16, "hidden_act": "relu"},
    "DistilBert": {
        "vocab_size": VOCABULARY,
        "dim": 24,
        "hidden_dim": 40,
        "n_layers": 2,
        "n_heads": 3,
        "max_position_embeddings": LONGEST,
        "num_labels": 5,
        "activation": "relu",
    },
}
HEADS = ("Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
#: XLM-R and CamemBERT are RoBERTa by other names: one head of each says so.
CLASSES = [
    *((family, head) for family in ("Bert", "Roberta", "Electra", "DistilBert") for head in HEADS),
    ("Electra", "ForPreTraining"),
    ("XLMRoberta", "ForMaskedLM"),
    ("Camembert", "ForSequenceClassification"),
]


def settings_of(family: str, head: str) -> dict[str, Any]:
    return {**SETTINGS[family], "num_labels": 2 if head == "ForQuestionAnswering" else 5}


@pytest.fixture(scope="module", params=CLASSES, ids="".join)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    family, head = request.param
    return pair(family + head, tmp_path_factory.mktemp(family), **settings_of(family, head))


def padding_id(model: Any) -> int:
    return model.settings.padding_id or 0


def types_of(model: Any, ids: Any) -> dict[str, Any]:
    return {"token_type_ids": ids % model.settings.types} if model.settings.types else {}


@pytest.mark.parametrize("width", [1, 7, LONGEST])
def test_logits_states_and_attention(both: tuple[Any, Any], width: int) -> None:
    theirs, ours = both
    ids = draw_ids(3, width, VOCABULARY)
    types = types_of(ours, ids)
    with torch.no_grad():
        expected = theirs(ids, **types, output_hidden_states=True, output_attentions=True)
        assert_same(ours(ids, **types, output_hidden_states=True, output_attentions=True), expected)
        # as lists and arrays, without types, by the other way to compute attention
        assert_same(ours(ids.tolist()), theirs(ids))
        assert_same(ours(ids.int().numpy(), torch.ones_like(ids).tolist()), theirs(ids))


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(both: tuple[Any, Any], side: str) -> None:
    theirs, ours = both
    ids, mask = pad(draw_ids(3, 9, VOCABULARY), [9, 4, 1], side=side, padding=padding_id(ours))
    with torch.no_grad():
        expected = theirs(ids, attention_mask=mask, output_hidden_states=True, output_attentions=True)
        assert_same(ours(ids, mask, output_hidden_states=True, output_attentions=True), expected, only=mask.bool())
        assert_same(ours(ids, mask.bool()), theirs(ids, attention_mask=mask), only=mask.bool())


@settings(max_examples=6)
@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=5), seed=st.integers(0, 1000))
def test_rows_alone(both: tuple[Any, Any], lengths: list[int], seed: int) -> None:
    """A padded batch gives each row what the row alone gives."""
    ours = both[1]
    ids = draw_ids(len(lengths), 12, VOCABULARY, seed=seed)
    assert_rows_alone(ours, ids, lengths, side="right", padding=padding_id(ours))
    # as in transformers, positions of the others count padding at the left, and the pooler reads the first token
    if ours.settings.padding_id is not None and ours.pooler is None:
        assert_rows_alone(ours, ids, lengths, side="left", padding=padding_id(ours))


def test_a_row_without_tokens_is_finite(both: tuple[Any, Any]) -> None:
    ours = both[1]
    ids = torch.full((2, 6), padding_id(ours))
    mask = torch.ones_like(ids)
    mask[1] = 0
    for want in (False, True):
        for name, values in ours(ids, mask, output_attentions=want).to_dict().items():
            for each in values if isinstance(values, tuple) else (values,):
                assert torch.isfinite(each).all(), name


def test_labels_and_settings(both: tuple[Any, Any]) -> None:
    theirs, ours = both
    assert ours.config["architectures"] == [type(theirs).__name__]
    assert ours.settings.labels == theirs.config.num_labels
    if ours.labels is not None:
        assert ours.labels == tuple(theirs.config.id2label.values())
    assert ours.settings.longest == LONGEST
    assert (ours.family, ours.generation_config, ours.training) == (theirs.config.model_type, None, False)
    assert (ours.device.type, ours.dtype) == ("cpu", torch.float32)


def test_every_parameter_collects_gradients(both: tuple[Any, Any], tmp_path: Path) -> None:
    theirs, loaded = both
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    ours = nlp.load_model(save(theirs, tmp_path), trainable=True)
    ids = draw_ids(2, 6, VOCABULARY)
    output = ours(ids, **types_of(ours, ids)).to_dict()
    sum(values.square().sum() for values in output.values()).backward()
    for name, parameter in ours.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("pooling", ["mean", "first", "max", "mean_sqrt"])
def test_embeddings_by_rows(pooling: str, tmp_path: Path) -> None:
    theirs, ours = pair("RobertaModel", tmp_path, **SETTINGS["Roberta"])
    ids, mask = pad(draw_ids(3, 9, VOCABULARY), [9, 4, 2], side="right", padding=1)
    with torch.no_grad():
        hidden = theirs(ids, attention_mask=mask).last_hidden_state
    for row, length in enumerate((9, 4, 2)):
        tokens = hidden[row, :length]
        expected = {
            "mean": tokens.mean(0),
            "first": tokens[0],
            "max": tokens.amax(0),
            "mean_sqrt": tokens.sum(0) / length**0.5,
        }[pooling]
        torch.testing.assert_close(ours.embed(ids, mask, pooling=pooling)[row], expected, **CLOSE)
    mask[1] = 0
    empty = ours.embed(ids, mask, pooling=pooling)[1]
    assert torch.isfinite(empty).all()
    assert pooling == "first" or not empty.any()


def test_embeddings_by_the_pooler(tmp_path: Path) -> None:
    theirs, ours = pair("BertModel", tmp_path, **SETTINGS["Bert"])
    ids, mask = pad(draw_ids(2, 7, VOCABULARY), [7, 3], side="right")
    with torch.no_grad():
        expected = theirs(ids, attention_mask=mask).pooler_output
    torch.testing.assert_close(ours.embed(ids, mask, pooling="pooler"), expected, **CLOSE)
    with pytest.raises(ValueError, match=r"'mean_sqrt', 'pooler', got 'cls'; \[CLS\] is the \"first\" token"):
        ours.embed(ids, pooling="cls")


def test_other_heads_of_a_checkpoint(tmp_path: Path) -> None:
    """A checkpoint gives the model below its head, and what it lacks is refused or None."""
    theirs = make_reference("BertForPreTraining", **SETTINGS["Bert"])
    folder = save(theirs, tmp_path / "both")
    ids = draw_ids(2, 8, VOCABULARY)
    with torch.no_grad():
        expected = theirs(ids)
        assert nlp.load_model(folder).head == "masked_lm"
        torch.testing.assert_close(nlp.load_model(folder)(ids).logits, expected.prediction_logits, **CLOSE)
        assert_same(nlp.load_model(folder, head="none")(ids), theirs.bert(ids))

    theirs = make_reference("BertForMaskedLM", **SETTINGS["Bert"])
    folder = save(theirs, tmp_path / "one")
    bare = nlp.load_model(folder, head="none")
    with torch.no_grad():
        torch.testing.assert_close(bare(ids).last_hidden_state, theirs.bert(ids).last_hidden_state, **CLOSE)
    assert bare(ids).pooler_output is None
    with pytest.raises(ValueError, match=r'got .pooler.; "pooler" takes a model with head="none"'):
        bare.embed(ids, pooling="pooler")
    with pytest.raises(nlp.errors.SourceFormatError, match=r"missing: 'bert.pooler.dense.weight'.*'classifier.bias'"):
        nlp.load_model(folder, head="sequence_classification")
