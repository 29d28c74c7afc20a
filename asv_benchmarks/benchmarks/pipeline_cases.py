"""What `bench_pipelines` measures: one entry a task, with what transformers does in its place.

Models have the sizes of small checkpoints and random weights; texts are of Hamlet. A task is added by an entry of
``CASES``: what writes the checkpoint, the inputs, the options, and a peer, which makes a call of transformers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.files import ROOT

__all__ = ["CASES", "Peer", "PipelineCase", "text_lines"]

#: Rows of a batch -> their results, as our pipeline gives them.
Peer = Callable[[list[Any]], list[Any]]
_GPT2 = ROOT / "examples" / "data" / "gpt2"
_HAMLET = ROOT / "examples" / "data" / "hamlet_gut.txt"
_SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_NEW_TOKENS = 24


@dataclass(frozen=True)
class PipelineCase:
    """One task.

    Attributes
    ----------
    task : str
        Our name of it.
    write : callable
        ``folder, settings``: writes a checkpoint, tokenizer and weights.
    inputs : callable
        ``n``: so many rows.
    peer : callable
        ``folder, options, batch``: what transformers does in the place of the pipeline.
    options : dict
        Of the pipeline's calls.
    their_options : dict
        Of transformers.
    says : str
        Of the model and the inputs, for the page.
    plain : callable
        One of our results in the form of the peer's.
    settings : dict
        Changes of the model's config, for tests.
    """

    task: str
    write: Callable[[Path, dict[str, Any]], None]
    inputs: Callable[[int], list[Any]]
    peer: Callable[[Path, dict[str, Any], int], Peer]
    options: dict[str, Any]
    their_options: dict[str, Any]
    says: str
    plain: Callable[[Any], Any] = lambda result: result
    settings: dict[str, Any] = field(default_factory=dict)


def text_lines(n: int, lines: int) -> list[str]:
    """So many texts of so many lines of Hamlet each, more and fewer by turns."""
    found = [line for line in _HAMLET.read_text(encoding="utf-8").splitlines() if len(line) > 30]
    texts, first = [], 100
    for number in range(n):
        taken = max(1, lines + (number % 3 - 1) * (lines // 2))
        texts.append(" ".join(found[first : first + taken]))
        first += taken
    return texts


def _save(architecture: str, folder: Path, settings: dict[str, Any]) -> None:
    import torch
    import transformers

    kind = getattr(transformers, architecture)
    torch.manual_seed(0)
    # wider than usual, so that no two tokens are nearly as likely
    kind(kind.config_class(**settings)).save_pretrained(folder)


def _bart(folder: Path, settings: dict[str, Any]) -> None:
    """An encoder-decoder of the size of opus-mt over the vocabulary of GPT-2."""
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
    _save("BartForConditionalGeneration", folder, {**own, "forced_eos_token_id": None, **settings})


def _gpt2(folder: Path, settings: dict[str, Any]) -> None:
    """A decoder of half the layers of the smallest GPT-2."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("vocab.json", "merges.txt"):
        (folder / name).write_bytes((_GPT2 / name).read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    _save("GPT2LMHeadModel", folder, {"n_layer": 6, "initializer_range": 0.1, **settings})


def _parts(architecture: str, folder: Path) -> tuple[Any, Any]:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer, getattr(transformers, architecture).from_pretrained(folder).eval()


def _text_to_text_peer(folder: Path, options: dict[str, Any], batch: int) -> Peer:
    """What the pipelines of version 4 do: a batch as it comes through tokenizer, ``generate`` and decoder."""
    import torch

    tokenizer, model = _parts("BartForConditionalGeneration", folder)

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

    tokenizer, model = _parts("GPT2LMHeadModel", folder)
    pipe = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer)

    def call(rows: list[Any]) -> list[Any]:
        found = pipe(rows, batch_size=batch, **options)
        return [row[0]["generated_text"] for row in found]

    return call


def _conversation_peer(folder: Path, options: dict[str, Any], batch: int) -> Peer:
    """DialoGPT's convention by tokenizer and ``generate``."""
    import torch

    tokenizer, model = _parts("GPT2LMHeadModel", folder)
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
