"""The tasks of `bench_pipelines` that write text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .pipeline_case import Peer, PipelineCase, save_model, text_lines, their_parts

__all__ = ["CASES"]

_GPT2 = ROOT / "examples" / "data" / "gpt2"
_SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_NEW_TOKENS = 24


def _bart(folder: Path, settings: dict[str, Any]) -> None:
    """An encoder-decoder of the size of opus-mt over the vocabulary of GPT-2.

    Weights here are wider than usual, so that no two tokens are nearly as likely.
    """
    tokens = json.loads((_GPT2 / "vocab.json").read_text(encoding="utf-8"))
    ordered = [*_SPECIALS, *sorted(tokens, key=tokens.__getitem__)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(ordered)}))
    (folder / "merges.txt").write_bytes((_GPT2 / "merges.txt").read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BartTokenizer"}))
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", 6), ("attention_heads", 8), ("ffn_dim", 2048))
    }
    own = {**sides, "d_model": 512, "vocab_size": len(ordered), "max_position_embeddings": 512, "init_std": 0.1}
    save_model("BartForConditionalGeneration", folder, {**own, "forced_eos_token_id": None, **settings})


def _gpt2(folder: Path, settings: dict[str, Any]) -> None:
    """A decoder of half the layers of the smallest GPT-2."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("vocab.json", "merges.txt"):
        (folder / name).write_bytes((_GPT2 / name).read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    save_model("GPT2LMHeadModel", folder, {"n_layer": 6, "initializer_range": 0.1, **settings})


def _text_to_text_peer(folder: Path, options: dict[str, Any], batch: int) -> Peer:
    """What the pipelines of version 4 do: a batch as it comes through tokenizer, ``generate`` and decoder."""
    import torch

    tokenizer, model = their_parts("BartForConditionalGeneration", folder)

    def call(rows: list[Any]) -> list[Any]:
        results: list[Any] = []
        for first in range(0, len(rows), batch):
            inputs = tokenizer(rows[first : first + batch], return_tensors="pt", padding=True)
            with torch.no_grad():
                ids = model.generate(inputs["input_ids"], attention_mask=inputs["attention_mask"], **options)
            results += tokenizer.batch_decode(ids, skip_special_tokens=True)
        return results

    return call


def _generation_peer(folder: Path, options: dict[str, Any], batch: int) -> Peer:
    """The pipeline of version 5."""
    import transformers

    tokenizer, model = their_parts("GPT2LMHeadModel", folder)
    pipe = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer)

    def call(rows: list[Any]) -> list[Any]:
        found = pipe(rows, batch_size=batch, **options)
        return [row[0]["generated_text"] for row in found]

    return call


def _conversation_peer(folder: Path, options: dict[str, Any], batch: int) -> Peer:
    """DialoGPT's convention by tokenizer and ``generate``."""
    import torch

    tokenizer, model = their_parts("GPT2LMHeadModel", folder)
    end = tokenizer.eos_token

    def call(rows: list[Any]) -> list[Any]:
        results: list[Any] = []
        for first in range(0, len(rows), batch):
            texts = ["".join(turn + end for turn in row) for row in rows[first : first + batch]]
            inputs = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left")
            with torch.no_grad():
                ids = model.generate(inputs["input_ids"], attention_mask=inputs["attention_mask"], **options)
            new = ids[:, inputs["input_ids"].shape[1] :]
            results += tokenizer.batch_decode(new, skip_special_tokens=True)
        return results

    return call


def _talks(n: int) -> list[Any]:
    lines = text_lines(5 * n, 1)
    return [lines[5 * row : 5 * row + (1, 3, 5)[row % 3]] for row in range(n)]


def _lengths(**more: Any) -> dict[str, Any]:
    return {"min_new_tokens": _NEW_TOKENS, "max_new_tokens": _NEW_TOKENS, **more}


_PAD = {"pad_token_id": 50256, "do_sample": False}
#: Tasks that write text.
CASES: dict[str, PipelineCase] = {
    "translate": PipelineCase(
        "translate",
        _bart,
        lambda n: text_lines(n, 2),
        _text_to_text_peer,
        _lengths(num_beams=4),
        _lengths(num_beams=4),
        "encoder-decoder of the size of opus-mt; sentences of 1 to 3 lines, 4 beams",
    ),
    "summarize": PipelineCase(
        "summarize",
        _bart,
        lambda n: text_lines(n, 12),
        _text_to_text_peer,
        _lengths(num_beams=4),
        _lengths(num_beams=4),
        "the same model; texts of 6 to 18 lines, 4 beams",
    ),
    "generate": PipelineCase(
        "generate",
        _gpt2,
        lambda n: text_lines(n, 1),
        _generation_peer,
        _lengths(),
        _lengths(**_PAD),
        "a GPT-2 of 6 layers; prompts of a line",
    ),
    "converse": PipelineCase(
        "converse",
        _gpt2,
        _talks,
        _conversation_peer,
        _lengths(),
        _lengths(**_PAD),
        "the same model; conversations of 1 to 5 turns",
        plain=lambda talk: talk.reply,
    ),
}
