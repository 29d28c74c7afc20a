"""Talks with a tiny model that remembers a name: ``python -m examples.converse [FOLDER]``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.tiny_training import fit, next_token_loss
from numba_nlp.models import create_model, save_model
from vocab_tools.training import train_bpe

END = "<|endoftext|>"
NAMES = ("Rosalind", "Orlando", "Celia", "Oliver", "Touchstone", "Silvius")
SMALL_TALK = (
    ("How are you?", "Well, I thank you."),
    ("Is it late?", "It is near midnight."),
    ("Who wrote it?", "I did."),
)


def talk(random: np.random.Generator) -> list[str]:
    """Turns of both sides; the first tells a name, the last asks for it."""
    name = random.choice(NAMES)
    turns = [f"I am {name}.", f"Welcome, {name}."]
    for number in random.permutation(len(SMALL_TALK))[: random.integers(len(SMALL_TALK))]:
        turns += SMALL_TALK[number]
    return [*turns, "Who am I?", f"You are {name}."]


def train_folder(folder: Path) -> None:
    """A byte-level vocabulary, and a GPT-2 of two layers that is trained on talks, each turn with its end."""
    random = np.random.default_rng(1)
    texts = [turn for _ in range(300) for turn in talk(random)]
    train_bpe(texts, vocab_size=500, special_tokens=[END]).write_gpt2_files(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}), encoding="utf-8")
    tok = nlp.load_tokenizer(folder)
    end = tok.token_to_id(END)
    model = create_model(
        {
            "model_type": "gpt2", "vocab_size": tok.vocab_size, "n_embd": 64, "n_layer": 2, "n_head": 4,
            "n_positions": 128, "initializer_range": 0.15, "bos_token_id": end, "eos_token_id": end,
        },
        head="language_model",
    )  # fmt: skip

    def loss(random: np.random.Generator) -> torch.Tensor:
        talks = ["".join(turn + END for turn in talk(random)) for _ in range(32)]
        batch = tok(talks, padding=True, pad_token=END, return_tensors="pt")
        return next_token_loss(model(**batch).logits[:, :-1], batch.input_ids, batch.attention_mask.bool())

    fit(model, loss, 150, rate=2e-3)
    save_model(model, folder)


def main(folder: Path) -> None:
    """Train, then hold talks that were drawn anew."""
    train_folder(folder)
    converse = nlp.pipeline("converse", model=folder, max_new_tokens=16)

    talk_so_far = converse("I am Celia.")
    for question in ("How are you?", "Who am I?"):
        talk_so_far = converse(talk_so_far.add_user(question))
    for turn in talk_so_far:
        print(f"{turn.role:10} {turn.content}")

    random = np.random.default_rng(99)
    talks = [talk(random) for _ in range(100)]
    found = converse([turns[:-1] for turns in talks])
    check("names", sum(talk.reply == turns[-1] for talk, turns in zip(found, talks, strict=True)), len(talks))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
