"""Character BPE and the libraries that define it: transformers for GPT, CTRL and CLIP, subword-nmt for its codes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tools.files import find_file, made_folder

__all__ = ["CHARACTER", "character_source", "subword_nmt_bpe", "transformers_tokenizer"]

#: Short name -> the library that is compared with.
CHARACTER = {"gpt": "transformers", "ctrl": "transformers", "clip": "transformers", "subword_nmt": "subword-nmt"}


def character_source(vocabulary: str) -> Path | list[Path]:
    """The file or files of a vocabulary.

    For CTRL, two files of its form are made of the codes of subword-nmt's tests.
    """
    if vocabulary == "gpt":
        return [find_file(shared=f"vocab/openai_gpt/{name}") for name in ("encoder_bpe_40000.json", "vocab_40000.bpe")]
    if vocabulary == "clip":
        return find_file(shared="vocab/clip/bpe_simple_vocab_16e6.txt.gz")
    codes = find_file(shared="vocab/subword_nmt/bpe.ref")
    if vocabulary == "subword_nmt":
        return codes
    from vocab_tools.formats.subword_codes import read

    paths = [made_folder() / f"ctrl.{name}" for name in ("vocab.json", "merges.txt")]
    tokens = json.dumps({token: number for number, token in enumerate(read(codes).vocabulary)})
    merges = "\n".join(["#version: 0.2", *codes.read_text(encoding="utf-8").split("\n")[1:]])
    for path, content in zip(paths, (tokens, merges), strict=True):
        unfinished = path.with_suffix(".part")
        unfinished.write_text(content, encoding="utf-8")
        unfinished.replace(path)
    return paths


@cache
def transformers_tokenizer(vocabulary: str) -> Any:
    """transformers' tokenizer of ``"gpt"``, ``"ctrl"`` or ``"clip"``."""
    from tokenizers.models import BPE
    from transformers import CLIPTokenizer, CTRLTokenizer, OpenAIGPTTokenizer

    source = character_source(vocabulary)
    if isinstance(source, Path):
        from vocab_tools.formats.character_vocab import read_clip

        described = read_clip(source)
        return CLIPTokenizer(vocab=dict(described.vocabulary), merges=list(described.merges))
    if vocabulary == "ctrl":
        return CTRLTokenizer(*map(str, source))
    vocab, merges = BPE.read_file(*map(str, source))
    return OpenAIGPTTokenizer(vocab=vocab, merges=merges)


@cache
def subword_nmt_bpe() -> Any:
    """subword-nmt's ``BPE`` of its codes."""
    from subword_nmt.apply_bpe import BPE

    with Path(str(character_source("subword_nmt"))).open(encoding="utf-8") as codes:
        return BPE(codes)
