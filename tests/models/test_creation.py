"""Models with new weights: drawn as said, trained by gradients, written as transformers reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
import numba_nlp.models
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.models.tiny import assert_same, draw_ids, torch, transformers

#: Under the names that all families share; tests/models/test_gpt.py has their own.
_GPT = {"num_attention_heads": 8}
CONFIGS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": {"model_type": "bert", "num_attention_heads": 4, "intermediate_size": 48},
    "BertModel": {"model_type": "bert", "num_attention_heads": 4, "intermediate_size": 48},
    "RobertaForMaskedLM": {"model_type": "roberta", "num_attention_heads": 4, "intermediate_size": 48},
    "ElectraForMaskedLM": {"model_type": "electra", "embedding_size": 16, "intermediate_size": 48},
    "DistilBertForTokenClassification": {
        "model_type": "distilbert",
        "dim": 32,
        "hidden_dim": 48,
        "n_layers": 2,
        "n_heads": 4,
        "id2label": {"0": "a", "1": "b", "2": "c"},
    },
    "GPT2LMHeadModel": {"model_type": "gpt2", **_GPT},
    "OpenAIGPTForSequenceClassification": {"model_type": "openai-gpt", **_GPT, "pad_token_id": 0},
    "XLNetForTokenClassification": {"model_type": "xlnet", "d_model": 32, "n_head": 8, "n_layer": 2, "d_inner": 48},
}


def config_of(name: str) -> dict[str, Any]:
    sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "max_position_embeddings": 20}
    if name.startswith("XLNet"):
        sizes = {"vocab_size": 50}  # transformers refuses its own other names
    return {"architectures": [name], **sizes, **CONFIGS[name]}


@pytest.mark.parametrize("name", list(CONFIGS))
def test_transformers_reads_what_is_saved(name: str, tmp_path: Path) -> None:
    model = nlp.models.create_model(config_of(name), seed=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    nlp.models.save_model(model, tmp_path / "new")
    theirs, info = getattr(transformers, name).from_pretrained(tmp_path / "new", output_loading_info=True)
    assert not any(info.values())
    ids = draw_ids(3, 11, 50)
    with torch.no_grad():
        expected = theirs.eval()(ids)
        if "mems" in expected:
            expected["mems"] = None  # ours is given when asked for
        assert_same(nlp.load_model(tmp_path / "new")(ids), expected)
        assert_same(model(ids), expected)
    nlp.models.save_model(nlp.load_model(tmp_path / "new", dtype="bfloat16"), tmp_path / "again")
    again = nlp.load_model(tmp_path / "again")
    assert again.dtype == torch.bfloat16
    assert again.labels == model.labels


def test_a_model_is_saved_into_its_own_folder(tmp_path: Path) -> None:
    nlp.models.save_model(nlp.models.create_model(config_of("BertModel")), tmp_path)
    (tmp_path / "generation_config.json").write_text('{"num_beams": 2}')
    model = nlp.load_model(tmp_path)
    expected = model([[1, 2, 3]]).last_hidden_state
    nlp.models.save_model(model, tmp_path)
    assert torch.equal(model([[1, 2, 3]]).last_hidden_state, expected)
    again = nlp.load_model(tmp_path)
    assert torch.equal(again([[1, 2, 3]]).last_hidden_state, expected)
    assert again.generation_config == {"num_beams": 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
    ]


def test_weights_are_drawn_as_said() -> None:
    config = {**config_of("BertForMaskedLM"), "vocab_size": 5000, "initializer_range": 0.1}
    model = nlp.models.create_model(config, seed=1)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            assert torch.equal(parameter, torch.full_like(parameter, float(name.endswith("weight")))), name
        else:
            assert abs(parameter.std() - 0.1) < 0.01, name
            assert abs(parameter.mean()) < 0.01, name
    same, other = nlp.models.create_model(config, seed=1), nlp.models.create_model(config, seed=2)
    assert all(map(torch.equal, model.parameters(), same.parameters()))
    assert not torch.equal(model.encoder.embeddings.tokens.weight, other.encoder.embeddings.tokens.weight)


def test_training_makes_the_loss_smaller() -> None:
    model = nlp.models.create_model({**config_of("DistilBertForTokenClassification")}, seed=0)
    assert model.training
    ids = draw_ids(16, 8, 50)
    labels = ids % 3
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(40):
        loss = torch.nn.functional.cross_entropy(model(ids).logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceFormatError, match="the given config: `vocab_size` must be a whole number"):
        nlp.models.create_model({**config_of("BertModel"), "vocab_size": "many"})
    with pytest.raises(UnsupportedFeatureError, match="the given config: `is_decoder` True is not supported"):
        nlp.models.create_model({**config_of("BertModel"), "is_decoder": True})
    with pytest.raises(TypeError, match=r"`config` must be a mapping, as config.json holds it, .* got str"):
        nlp.models.create_model("bert-base-uncased")
