"""Compiled vocabularies for the benchmarks, made once per source and version of the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tools.files import made_folder
from tools.references import source_path, tokenizer_json_path

__all__ = ["compiled_path"]


@cache
def compiled_path(vocabulary: str) -> Path:
    """The ``.safetensors`` file of a vocabulary; compiled anew in every process that finds none of this version.

    GPT-2 is compiled from ``tokenizer.json`` (reference: Hugging Face tokenizers), the others from ``.tiktoken``.
    """
    import vocab_tools

    import numba_nlp

    path = made_folder() / f"{vocabulary}.{numba_nlp.__version__}.safetensors"
    if not path.exists():
        source = tokenizer_json_path(vocabulary) if vocabulary in ("gpt2", "roberta") else source_path(vocabulary)
        vocab_tools.compile(source).save(path)
    return path
