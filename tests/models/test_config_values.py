"""Values of config.json that transformers obeys: honoured here as there, or refused by name."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.models import create_model
from tests.models.tiny import CLOSE, assert_same, draw_ids, make_reference, save, torch
from tests.models.tiny_pairs import VOCABULARY, settings_of

ENCODER = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 20,
}
DISTILBERT = {"vocab_size": VOCABULARY, "dim": 24, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
GPT = {"vocab_size": VOCABULARY, "n_embd": 24, "n_layer": 2, "n_head": 2, "n_positions": 20}
XLNET = {"vocab_size": VOCABULARY, "d_model": 24, "n_layer": 2, "n_head": 2, "d_inner": 32}
ENCODERS = ("BertModel", "DistilBertModel", "ElectraModel", "RobertaModel")
DECODERS = ("GPT2Model", "OpenAIGPTModel", "XLNetModel")
BOTH = ("BartModel", "M2M100Model", "MBartModel", "MarianModel", "PegasusModel", "T5EncoderModel", "T5Model")


def sizes(architecture: str) -> dict[str, Any]:
    own = {"DistilBertModel": DISTILBERT, "GPT2Model": GPT, "OpenAIGPTModel": GPT, "XLNetModel": XLNET}
    return settings_of(architecture) if architecture in BOTH else own.get(architecture, ENCODER)


def written(architecture: str, folder: Path, **values: Any) -> tuple[Any, Path]:
    """A model of transformers, and its folder, whose config.json has more values than it was made with."""
    reference = make_reference(architecture, **sizes(architecture))
    save(reference, folder)
    config = {**json.loads((folder / "config.json").read_bytes()), **values}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return reference, folder


def hidden(model: Any) -> Any:
    ids = draw_ids(1, 6, VOCABULARY)
    names = model.config if isinstance(model.config, dict) else model.config.to_dict()
    more = {"decoder_input_ids": ids[:, :4]} if names.get("is_encoder_decoder") else {}
    with torch.no_grad():
        output = model(ids, **more)
    source = output.encoder_last_hidden_state if more else output.last_hidden_state
    return torch.cat([output.last_hidden_state, source], dim=1)


@pytest.mark.parametrize("value", [True, False, None], ids=str)
@pytest.mark.parametrize("architecture", [*ENCODERS, *DECODERS, *BOTH])
def test_direction(architecture: str, value: bool | None, tmp_path: Path) -> None:
    """`is_causal` is refused where it changes what transformers computes, and only there."""
    theirs, folder = written(architecture, tmp_path, is_causal=value)
    expected, changed = hidden(theirs), False
    kinds = ("eager",) if architecture in ("OpenAIGPTModel", "XLNetModel") else ("eager", "sdpa")
    for attention in kinds:
        obeying = type(theirs).from_pretrained(folder, attn_implementation=attention).eval()
        changed |= not torch.allclose(hidden(obeying), expected, **CLOSE)
    if changed:
        with pytest.raises(UnsupportedFeatureError, match=f"`is_causal` {value} is not supported"):
            nlp.load_model(folder)
    else:
        torch.testing.assert_close(hidden(nlp.load_model(folder)), expected, **CLOSE)


def test_an_encoder_that_is_a_decoder(tmp_path: Path) -> None:
    """Of T5's classes the encoder alone obeys it."""
    theirs, folder = written("T5EncoderModel", tmp_path, is_decoder=True)
    obeying = type(theirs).from_pretrained(folder, attn_implementation="eager").eval()
    assert not torch.allclose(hidden(obeying), hidden(theirs), **CLOSE)
    with pytest.raises(UnsupportedFeatureError, match="`is_decoder` True is not supported"):
        nlp.load_model(folder)


@pytest.mark.parametrize(
    "values",
    [
        {"dense_act_fn": "gelu_new"},
        {"dense_act_fn": "silu", "is_gated_act": False},
        {"feed_forward_proj": "gated-silu", "dense_act_fn": "silu", "is_gated_act": True},
        {"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu"},
        {"feed_forward_proj": "gated-gelu", "is_gated_act": False},
        {"is_gated_act": True, "dense_act_fn": "tanh"},
    ],
    ids=str,
)
def test_feed_forward_of_t5(values: dict[str, Any], tmp_path: Path) -> None:
    """What transformers derives of `feed_forward_proj` counts less than what config.json says itself."""
    theirs = make_reference("T5ForConditionalGeneration", **settings_of("T5ForConditionalGeneration", **values))
    assert {name: getattr(theirs.config, name) for name in values} == values
    ours = nlp.load_model(save(theirs, tmp_path))
    assert ours.settings.encoder.gated == theirs.config.is_gated_act
    ids, read = draw_ids(2, 7, VOCABULARY), draw_ids(2, 4, VOCABULARY, seed=3)
    with torch.no_grad():
        assert_same(ours(ids, None, read), theirs(ids, decoder_input_ids=read))


@pytest.mark.parametrize("value", [None, True, False], ids=str)
def test_scale_of_t5(value: bool | None) -> None:
    import transformers

    scaled = transformers.T5Config(tie_word_embeddings=value).scale_decoder_outputs
    config = {"model_type": "t5", **settings_of("T5Model"), "tie_word_embeddings": value}
    ours = create_model(config, head="conditional_generation")
    assert (ours.settings.output_scale != 1.0) == scaled


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_a_number_of_labels_beside_their_names(labels: int, tmp_path: Path) -> None:
    import transformers

    values = {"model_type": "bert", "id2label": {"0": "a", "1": "b", "2": "c"}, "num_labels": labels}
    (tmp_path / "config.json").write_text(json.dumps(values), encoding="utf-8")
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    ours = create_model({**ENCODER, **values}, head="sequence_classification")
    assert ours.settings.labels == theirs.num_labels == labels
    assert ours.labels == tuple(theirs.id2label[i] for i in range(labels))


def test_the_encoder_of_a_classifier_of_tokens(tmp_path: Path) -> None:
    """Its checkpoint has no decoder, and needs none without its head."""
    theirs = make_reference("T5ForTokenClassification", **settings_of("T5ForTokenClassification"))
    ours = nlp.load_model(save(theirs, tmp_path), head="none")
    ids = draw_ids(2, 7, VOCABULARY)
    with torch.no_grad():
        expected = theirs.transformer(ids).last_hidden_state
    torch.testing.assert_close(ours(ids).last_hidden_state, expected, **CLOSE)


BERT, GPT2, OPENAI = (
    {"model_type": "bert", **ENCODER},
    {"model_type": "gpt2", **GPT},
    {"model_type": "openai-gpt", **GPT},
)
T5 = {"model_type": "t5", **settings_of("T5Model")}
M2M100 = {"model_type": "m2m_100", **settings_of("M2M100Model")}
MARIAN = {"model_type": "marian", **settings_of("MarianModel")}
XLNET_CONFIG = {"model_type": "xlnet", **XLNET}


@pytest.mark.parametrize(
    ("config", "changes", "named"),
    [
        (GPT2, {"n_embd": 2, "n_head": 4}, "`n_embd` 2 is no multiple of `n_head` 4"),
        (GPT2, {"n_embd": 2, "n_head": None}, "`n_embd` 2 is no multiple of `n_head` 12"),
        (GPT2, {"n_embd": 100, "n_head": None}, "`n_embd` 100 is no multiple of `n_head` 12"),
        (OPENAI, {"n_embd": 2, "n_head": 4}, "`n_embd` 2 is no multiple of `n_head` 4"),
        (XLNET_CONFIG, {"d_model": 2, "n_head": 4}, "`d_model` 2 is no multiple of `n_head` 4"),
        (XLNET_CONFIG, {"d_model": 25, "n_head": 5}, "`d_model` must be even"),
        (XLNET_CONFIG, {"d_head": "12"}, "`d_head` must be a whole number"),
        (XLNET_CONFIG, {"reuse_len": 1.5}, "`reuse_len` must be a whole number"),
        (BERT, {"hidden_size": 25, "num_attention_heads": None}, "`hidden_size` 25 is no multiple of"),
        (BERT, {"layer_norm_eps": 10**400}, "`layer_norm_eps` must be a finite number"),
        (BERT, {"layer_norm_eps": math.inf}, "`layer_norm_eps` must be a finite number"),
        (BERT, {"tie_word_embeddings": [10**5000]}, "`tie_word_embeddings` must be .*, got what is too large"),
        (BERT, {"hidden_size": 10**5000}, "`hidden_size` must be a whole number .*, got what is too large"),
        (GPT2, {"n_inner": "32"}, "`n_inner` must be a whole number"),
        (GPT2, {"pad_token_id": [1]}, "`pad_token_id` must be a whole number"),
        (MARIAN, {"decoder_start_token_id": "x"}, "`decoder_start_token_id` must be a whole number"),
        (MARIAN, {"pad_token_id": True}, "`pad_token_id` must be a whole number"),
        (T5, {"num_heads": 1 << 25, "d_kv": 1 << 25}, "`num_heads` 33554432 of the width `d_kv` 33554432"),
        (T5, {"relative_attention_max_distance": 1 << 26}, "`relative_attention_max_distance` must be .* 1048576"),
        (MARIAN, {"max_position_embeddings": 1 << 26}, "`max_position_embeddings` 67108864 makes a table"),
        (M2M100, {"max_position_embeddings": 1 << 26}, "`max_position_embeddings` 67108864 makes a table"),
        (M2M100, {"vocab_size": 1 << 26, "pad_token_id": 1 << 25}, "`pad_token_id` 33554432 makes a table"),
        ({**BERT, "model_type": "roberta"}, {"pad_token_id": 19}, "`pad_token_id` 19 leaves none of the 20 positions"),
        ({**BERT, "model_type": "roberta"}, {"pad_token_id": 40}, "`pad_token_id` 40 leaves none of the 20 positions"),
    ],
)
def test_values_of_which_no_model_is_made(config: dict[str, Any], changes: dict[str, Any], named: str) -> None:
    values = {name: value for name, value in {**config, **changes}.items() if value is not None}
    with pytest.raises(SourceFormatError, match=named):
        create_model(values, head="none")


@pytest.mark.parametrize("value", [{"": "float16"}, 3, ["float16"]], ids=str)
def test_a_kind_of_numbers_that_is_no_name(value: Any, tmp_path: Path) -> None:
    _, folder = written("BertModel", tmp_path, dtype=value)
    with pytest.raises(SourceFormatError, match="`dtype` must be a string"):
        nlp.load_model(folder)


def test_arguments_that_make_no_sense(tmp_path: Path) -> None:
    _, folder = written("BertModel", tmp_path)
    with pytest.raises(TypeError, match=r"seed= must be a whole number, got 1\.5"):
        create_model(BERT, head="none", seed=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"seed= must be from 0 to 2\*\*64 - 1"):
        create_model(BERT, head="none", seed=2**64)
    with pytest.raises(TypeError, match="`config` must be a mapping"):
        create_model(None, head="none")
    with pytest.raises(ValueError, match=r"device= must be a name such as 'cpu' or 'cuda:0', got 'xyz'"):
        nlp.load_model(folder, device="xyz")
    with pytest.raises(TypeError, match=r"device= must be a name .*, got float"):
        nlp.load_model(folder, device=1.5)  # type: ignore[arg-type]
