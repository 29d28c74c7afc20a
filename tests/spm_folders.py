"""Checkpoint folders around small SentencePiece models, trained here, one for every way in which the classes differ."""

from __future__ import annotations

import io
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import sentencepiece

_TEXT = Path(__file__).resolve().parent.parent / "examples" / "data" / "hamlet_gut.txt"
_KINDS: dict[str, dict[str, Any]] = {
    "unigram": {},
    "unigram_t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "unigram_sentinels": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "control_symbols": "<extra_id_0>"},
    "unigram_xlnet": {
        "control_symbols": "<cls>,<sep>,<pad>,<mask>,<eod>",
        "user_defined_symbols": "<eop>,.,(,),--",
    },
    "unigram_albert": {
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": 2,
        "eos_id": 3,
        "bos_piece": "[CLS]",
        "eos_piece": "[SEP]",
        "control_symbols": "[MASK]",
        "user_defined_symbols": "(,)",
        "normalization_rule_name": "nfkc_cf",
    },
    "unigram_plain": {"normalization_rule_name": "identity", "add_dummy_prefix": False},
    "unigram_spaces": {"remove_extra_whitespaces": False, "byte_fallback": True, "user_defined_symbols": "<br>,Ham"},
    "bpe": {"model_type": "bpe"},
    "bpe_llama": {
        "model_type": "bpe",
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
    "bpe_user": {"model_type": "bpe", "user_defined_symbols": "<br>,Ham,let", "control_symbols": "<|im|>"},
    "bpe_plain": {"model_type": "bpe", "add_dummy_prefix": False, "normalization_rule_name": "nfkc"},
}


def kinds() -> list[str]:
    """All kinds of models."""
    return list(_KINDS)


@lru_cache
def trained(kind: str) -> bytes:
    """The bytes of a model; ``kind`` as in the table above."""
    settings = {"model_type": "unigram", "vocab_size": 420, "hard_vocab_limit": False, **_KINDS[kind]}
    if settings.get("byte_fallback"):
        settings["vocab_size"] += 256
    lines = [line for line in _TEXT.read_text(encoding="utf-8").splitlines()[:1500] if line]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, num_threads=1, minloglevel=2, **settings
    )
    return model.getvalue()


def folder_of(path: Path, name: str, model: str | Path | bytes | None, file: str, **files: Any) -> Path:
    """Write a checkpoint folder.

    Parameters
    ----------
    path : Path
        Made if it is not there.
    name : str
        The class, for tokenizer_config.json; empty for none.
    model : str, Path, bytes or None
        A kind of :func:`trained`, a file, the bytes of a model; None for a folder without one.
    file : str
        Name of the model in the folder.
    **files
        JSON values of further files, by name without ``.json``; ``config`` is joined to tokenizer_config.json.
    """
    path.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Path):
        (path / file).symlink_to(model)
    elif model is not None:
        (path / file).write_bytes(trained(model) if isinstance(model, str) else model)
    settings = {**({"tokenizer_class": name} if name else {}), **files.pop("tokenizer_config", {})}
    (path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    for key, value in files.items():
        (path / f"{key}.json").write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path
