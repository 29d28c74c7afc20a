"""Tiny encoder-decoders of transformers, one list for the tests of whole rows and of steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models.tiny import pair

__all__ = ["END", "PADDING", "START", "VOCABULARY", "settings_of", "tiny_pair"]

VOCABULARY = 60
#: Special tokens of all tiny models; `draw_ids` draws none of them.
PADDING, END, START = 1, 2, 0

_COMMON = {
    "vocab_size": VOCABULARY,
    "d_model": 24,
    "pad_token_id": PADDING,
    "eos_token_id": END,
    "decoder_start_token_id": START,
}
_BART = {
    "encoder_layers": 2,
    "decoder_layers": 3,  # unlike numbers show a mix-up
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 24,
    "bos_token_id": None,
    "forced_eos_token_id": None,
}
_T5 = {
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 3,
    "d_kv": 10,
    "d_ff": 40,
    "relative_attention_num_buckets": 12,
    "relative_attention_max_distance": 16,
}


def settings_of(architecture: str, **changes: Any) -> dict[str, Any]:
    """Settings of a tiny model of a class of transformers."""
    own: dict[str, Any] = _T5 if architecture.startswith("T5") else _BART
    labels = 2 if "Question" in architecture else 5
    return {**_COMMON, **own, "num_labels": labels, **changes}


def tiny_pair(architecture: str, folder: Path, *, head: str | None = None, **changes: Any) -> tuple[Any, Any]:
    """A model of transformers, and ours, loaded from what it saved."""
    return pair(architecture, folder, head=head, **settings_of(architecture, **changes))
