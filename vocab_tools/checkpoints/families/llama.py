"""Llama (and Mistral with a SentencePiece model): BPE with bytes for unknown characters."""

from __future__ import annotations

from typing import Any

from vocab_tools.checkpoints.families.parts import merging
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.stage_json import bpe, bytes_decoder, metaspace

__all__ = ["FAMILIES"]

_NAME = "LlamaTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    prefix = options["add_prefix_space"] is None or options["add_prefix_space"]
    vocab, merges = merging(native, _NAME)
    scheme = "never" if not prefix else "always" if options["legacy"] else "first"
    return {
        "model": bpe(vocab, merges, byte_fallback=True),
        "normalizer": None,
        "pre_tokenizer": metaspace(scheme, split=False),
        "decoder": bytes_decoder(strip=bool(prefix)),
    }


_LLAMA = Family(
    names=(_NAME,),
    files={"vocab_file": "tokenizer.model", "tokenizer_file": "tokenizer.json"},
    model="BPE",
    defaults={
        "clean_up_tokenization_spaces": False,
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "use_default_system_prompt": False,
        "legacy": False,
        "add_prefix_space": None,
        "padding_side": "left",
    },
    build=_build,
)
FAMILIES = (_LLAMA,)
