"""Compiled vocabularies for the benchmarks, made once per state of the compiler's sources."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tools.files import made_folder
from tools.references import GPT2_BEGINNINGS, WORDPIECE, source_path, tokenizer_json_path

__all__ = ["compiled_path"]


def _compiler_digest() -> str:
    """Digest of the sources that decide what a compiled file holds, so that no stale file is ever measured."""
    import numba_nlp
    import vocab_tools

    state = hashlib.sha256()
    for package, pattern in ((vocab_tools, "**/*.py"), (numba_nlp, "*vocabulary*.py")):
        folder = Path(package.__path__[0])
        for path in sorted(folder.glob(pattern)):
            state.update(path.relative_to(folder).as_posix().encode())
            state.update(path.read_bytes())
    return state.hexdigest()[:12]


@cache
def compiled_path(vocabulary: str) -> Path:
    """The ``.safetensors`` file of a vocabulary, compiled if it is not there yet.

    GPT-2 is compiled from ``tokenizer.json`` (reference: Hugging Face tokenizers), the others from their original
    files.
    """
    import vocab_tools

    path = made_folder() / f"{vocabulary}.{_compiler_digest()}.safetensors"
    if not path.exists():
        as_json = vocabulary in ("gpt2", "roberta", *GPT2_BEGINNINGS)
        source = tokenizer_json_path(vocabulary) if as_json else source_path(vocabulary)
        options = {"do_lower_case": WORDPIECE[vocabulary][2]} if vocabulary in WORDPIECE else {}
        vocab_tools.compile(source, **options).save(path)
    return path
