"""Which head a folder has, what it is called when it is saved, and the names of labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import SourceFormatError
from numba_nlp.models import create_model, save_model
from tests.models.tiny import assert_same, draw_ids, make_reference, save, torch, transformers
from tests.models.tiny_pairs import settings_of

_BERT = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
_GPT = {"vocab_size": 50, "n_embd": 16, "n_layer": 1, "n_head": 2}
_XLNET = {"vocab_size": 50, "d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 24}
_T5 = settings_of("T5Model")


@pytest.mark.parametrize(
    ("loaded", "head", "saved", "settings"),
    [
        ("BertForPreTraining", None, "BertForMaskedLM", _BERT),
        ("BertForPreTraining", "none", "BertModel", _BERT),
        ("BertForTokenClassification", None, "BertForTokenClassification", _BERT),
        ("ElectraForPreTraining", None, "ElectraForPreTraining", {**_BERT, "embedding_size": 8}),
        ("GPT2DoubleHeadsModel", None, "GPT2LMHeadModel", {**_GPT, "num_labels": 1}),
        ("GPT2LMHeadModel", "none", "GPT2Model", _GPT),
        ("XLNetForQuestionAnswering", None, "XLNetForQuestionAnswering", _XLNET),
        ("XLNetForQuestionAnsweringSimple", None, "XLNetForQuestionAnsweringSimple", _XLNET),
        ("T5EncoderModel", None, "T5EncoderModel", _T5),
        ("T5ForConditionalGeneration", "none", "T5Model", _T5),
    ],
)
def test_a_saved_model_has_the_class_of_what_it_holds(
    loaded: str, head: str | None, saved: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    model = nlp.load_model(save(make_reference(loaded, **settings), tmp_path / "theirs"), head=head)
    save_model(model, tmp_path / "ours")
    assert json.loads((tmp_path / "ours" / "config.json").read_bytes())["architectures"] == [saved]
    again, info = getattr(transformers, saved).from_pretrained(tmp_path / "ours", output_loading_info=True)
    # the pooler that a masked language model lacks is drawn by transformers
    assert {key.split(".")[0] for key in info["missing_keys"]} <= {"pooler"}
    assert not any(value for key, value in info.items() if key != "missing_keys")
    ids = draw_ids(2, 7, 50)
    ours = nlp.load_model(tmp_path / "ours")
    more = {"decoder_input_ids": ids} if saved == "T5Model" else {}
    with torch.no_grad():
        expected = again.eval()(ids, **more)
    for name in ("mems", "past_key_values"):
        if name in expected:
            expected[name] = None
    if info["missing_keys"]:
        expected["pooler_output"] = None
    assert_same(ours(ids, **more), expected)


def test_a_class_by_its_old_name(tmp_path: Path) -> None:
    folder = save(make_reference("T5ForConditionalGeneration", **_T5), tmp_path)
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["T5WithLMHeadModel"]}))
    save_model(nlp.load_model(folder), tmp_path / "new")
    assert nlp.load_model(tmp_path / "new").config["architectures"] == ["T5ForConditionalGeneration"]


@pytest.mark.parametrize(
    ("architecture", "named", "asked", "settings"),
    [
        ("BertForSequenceClassification", "sequence_classification", "token_classification", _BERT),
        ("BertForTokenClassification", "token_classification", "sequence_classification", _BERT),
        (
            "DistilBertForSequenceClassification",
            "sequence_classification",
            "token_classification",
            {"vocab_size": 50, "dim": 16, "hidden_dim": 24, "n_layers": 1, "n_heads": 2},
        ),
    ],
)
def test_a_head_that_another_would_fill(
    architecture: str, named: str, asked: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    folder = save(make_reference(architecture, **settings), tmp_path)
    message = rf"{asked} head \(architectures: {architecture}\): 'classifier.bias', .* are of its head '{named}'"
    with pytest.raises(SourceFormatError, match=message):
        nlp.load_model(folder, head=asked)
    config = json.loads((folder / "config.json").read_bytes())
    del config["architectures"]
    (folder / "config.json").write_text(json.dumps(config))
    for head in {named, asked if "Token" not in architecture else named}:
        assert nlp.load_model(folder, head=head).head == head


@pytest.mark.parametrize("head", ["masked_lm", "question_answering"])
def test_a_head_that_is_not_there(head: str, tmp_path: Path) -> None:
    folder = save(make_reference("BertModel", **_BERT), tmp_path)
    with pytest.raises(
        SourceFormatError,
        match=rf": the checkpoint has no {head} head \(architectures: BertModel\); tensors that are missing: '",
    ):
        nlp.load_model(folder, head=head)


def test_names_of_labels(tmp_path: Path) -> None:
    folder = save(make_reference("BertForTokenClassification", num_labels=3, **_BERT), tmp_path / "three")
    config = json.loads((folder / "config.json").read_bytes())
    for changes, labels in (
        ({"id2label": {"0": "O", "1": "B", "2": "I"}}, ("O", "B", "I")),
        ({"id2label": None, "num_labels": 3}, ("LABEL_0", "LABEL_1", "LABEL_2")),
    ):
        (folder / "config.json").write_text(json.dumps({**config, **changes}))
        assert nlp.load_model(folder).labels == labels
    bart = {"model_type": "bart", "vocab_size": 50, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    # BART has three labels where nothing says how many
    assert create_model(bart, head="sequence_classification").labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert create_model({"model_type": "bert", **_BERT}, head="sequence_classification").labels == (
        "LABEL_0",
        "LABEL_1",
    )
    assert create_model({"model_type": "bert", **_BERT}, head="masked_lm").labels is None


@pytest.mark.parametrize(
    ("kind", "settings", "head"),
    [
        ("BertConfig", _BERT, "token_classification"),
        ("DistilBertConfig", {"vocab_size": 50, "dim": 16, "hidden_dim": 24, "n_layers": 1, "n_heads": 2}, "none"),
        ("ElectraConfig", {**_BERT, "embedding_size": 8}, "discriminator"),
        ("RobertaConfig", _BERT, "masked_lm"),
        ("GPT2Config", _GPT, "language_model"),
        ("OpenAIGPTConfig", _GPT, "language_model"),
        ("XLNetConfig", _XLNET, "language_model"),
        ("BartConfig", settings_of("BartModel"), "conditional_generation"),
        ("MarianConfig", settings_of("MarianModel"), "conditional_generation"),
        ("T5Config", _T5, "conditional_generation"),
    ],
)
def test_a_configuration_of_transformers(kind: str, settings: dict[str, Any], head: str, tmp_path: Path) -> None:
    config = getattr(transformers, kind)(**settings)
    model = create_model(config, head=head)
    save_model(model, tmp_path)
    again = nlp.load_model(tmp_path)
    assert again.head == head
    assert all(map(torch.equal, model.parameters(), again.parameters()))
