"""Small checkpoints of decoders, with tokenizers that need no training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numba_nlp as nlp
from tests import checkpoint_folders as plain
from tests.models.tiny import make_reference, save

_SIZES = {"n_embd": 16, "n_layer": 1, "n_head": 2}


def write_decoder(folder: Path, family: str = "gpt2", *, positions: int = 64, **settings: Any) -> Path:
    """A GPT-2, GPT or XLNet with random weights."""
    if family == "xlnet":
        from tests.spm_folders import folder_of  # trains a small model

        folder_of(folder, "XLNetTokenizer", "unigram_xlnet", "spiece.model")
        size = nlp.load_tokenizer(folder).vocab_size
        sizes = {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 24}
        save(make_reference("XLNetLMHeadModel", vocab_size=size, **sizes), folder)
        return folder
    if family == "gpt2":
        files = plain.merged_files(plain.byte_level("<|endoftext|>"))
        architecture, name = "GPT2LMHeadModel", "GPT2Tokenizer"
        own = {"bos_token_id": 0, "eos_token_id": 0}
    else:
        files = plain.merged_files(plain.end_of_word("<unk>"))
        architecture, name, own = "OpenAIGPTLMHeadModel", "OpenAIGPTTokenizer", {}
    plain.write_folder(folder, {**files, "tokenizer_config.json": {"tokenizer_class": name}})
    size = nlp.load_tokenizer(folder).vocab_size
    save(make_reference(architecture, vocab_size=size, n_positions=positions, **_SIZES, **own), folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **settings}), encoding="utf-8")
    return folder
