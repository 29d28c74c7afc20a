"""Small models of all families that the Numba steps compute, and ids for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.models import create_model  # noqa: E402

__all__ = ["IDS", "MASK", "MODELS", "make"]

_BART = {
    "vocab_size": 60,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 40,
}
_GPT = {"vocab_size": 60, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 40}
_T5 = {"vocab_size": 60, "d_model": 24, "d_kv": 10, "d_ff": 40, "num_layers": 2, "num_heads": 3}
MODELS: dict[str, tuple[dict[str, Any], str]] = {
    "gpt": ({"model_type": "openai-gpt", **_GPT}, "language_model"),
    "gpt2": ({"model_type": "gpt2", **_GPT}, "language_model"),
    "gpt2 by layer": (
        {"model_type": "gpt2", **_GPT, "scale_attn_by_inverse_layer_idx": True, "tie_word_embeddings": False},
        "language_model",
    ),
    "bart": ({"model_type": "bart", **_BART}, "conditional_generation"),
    "marian": (
        {"model_type": "marian", **_BART, "pad_token_id": 1, "decoder_start_token_id": 1, "scale_embedding": True},
        "conditional_generation",
    ),
    "m2m_100": ({"model_type": "m2m_100", **_BART}, "conditional_generation"),
    "t5": ({"model_type": "t5", **_T5, "decoder_start_token_id": 0}, "conditional_generation"),
    "t5 gated": (
        {
            "model_type": "t5",
            **_T5,
            "feed_forward_proj": "gated-gelu",
            "decoder_start_token_id": 0,
            "tie_word_embeddings": False,
            "relative_attention_num_buckets": 4,
            "relative_attention_max_distance": 6,
        },
        "conditional_generation",
    ),
}


IDS = np.array([[5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]])
MASK = np.array([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 0, 0, 1, 1]])


def make(name: str) -> Any:
    """A model whose weights are so large that no two tokens are nearly as probable."""
    config, head = MODELS[name]
    model = create_model(config, head=head)
    with torch.no_grad():
        generator = torch.Generator().manual_seed(3)
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4 + (parameter.ndim == 1))
    return model
