"""Names of sizes in config.json: those of the family, and those that transformers takes for them (attribute_map)."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import SourceFormatError  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402

#: Sizes under the common names; all families but XLNet have positions.
COMMON = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3}
PAIRED = {"decoder_layers": 1, "decoder_attention_heads": 3, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
OTHERS: dict[str, dict[str, Any]] = {
    "distilbert": {"hidden_dim": 8},
    "gpt2": {"max_position_embeddings": 16},
    "openai-gpt": {"max_position_embeddings": 16},
    "xlnet": {"d_inner": 8, "d_head": 8},
    "bart": PAIRED,
    "m2m_100": PAIRED,
    "marian": {**PAIRED, "pad_token_id": 0, "decoder_start_token_id": 0},
    "mbart": PAIRED,
    "pegasus": PAIRED,
    "t5": {"head_dim": 8, "d_ff": 8, "num_decoder_layers": 1},
}


@pytest.mark.parametrize("family", OTHERS)
def test_common_names_are_taken(family: str) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    given = {**COMMON, **OTHERS[family], "vocab_size": 40}
    theirs = transformers.AutoConfig.for_model(family, **given).to_dict()
    common = create_model({"model_type": family, **given}, head="none").settings
    assert common == create_model({**theirs, "model_type": family}, head="none").settings


@pytest.mark.parametrize("family", OTHERS)
def test_two_names_with_two_values_are_refused(family: str) -> None:
    own = {"distilbert": "n_layers", "gpt2": "n_layer", "openai-gpt": "n_layer", "xlnet": "n_layer", "t5": "num_layers"}
    name = own.get(family, "encoder_layers")
    with pytest.raises(SourceFormatError, match=f"`num_hidden_layers` 1 and `{name}` 2 are two names of one value"):
        create_model({"model_type": family, **COMMON, **OTHERS[family], name: 2, "vocab_size": 40}, head="none")
