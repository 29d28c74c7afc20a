"""Words in place of a mask: ``python -m examples.fill_mask [FOLDER]``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.tiny_training import new_checkpoint, texts_of, train
from numba_nlp.models import save_model

HOMES = {
    "Hamlet": "Denmark", "Othello": "Venice", "Macbeth": "Scotland", "Romeo": "Verona", "Caesar": "Rome",
    "Theseus": "Athens", "Lear": "Britain", "Orsino": "Illyria",
}  # fmt: skip
FRAMES = ("{} lives in {}.", "In the play {} goes home to {}.", "{1} is the home of {0}.")


def fact(random: np.random.Generator) -> tuple[str, str]:
    """A sentence with a mask, and what it stands for."""
    person = str(random.choice(list(HOMES)))
    hidden = int(random.integers(2))
    words = [person, HOMES[person]]
    answer, words[hidden] = words[hidden], "[MASK]"
    return str(random.choice(FRAMES)).format(*words), answer


def batch(random: np.random.Generator) -> tuple[tuple[list[str]], list[str]]:
    """Sentences and what is hidden in them."""
    texts, answers = zip(*(fact(random) for _ in range(48)), strict=True)
    return (list(texts),), list(answers)


def main(folder: Path) -> None:
    """Train, then ask for each person's home."""
    tokenizer, model = new_checkpoint(folder, [text.replace("[MASK]", "") for text in texts_of(batch)], "masked_lm")
    mask = tokenizer.token_to_id("[MASK]")

    def loss(out, inputs, answers) -> torch.Tensor:
        targets = torch.tensor([tokenizer.token_to_id(answer.lower()) for answer in answers])
        return torch.nn.functional.cross_entropy(out.logits[inputs["input_ids"] == mask], targets)

    train(model, tokenizer, batch, loss, 120, special="match")
    save_model(model, folder)
    fill = nlp.pipeline("fill_mask", model=folder)

    found = fill([f"{person} lives in [MASK]." for person in HOMES], top_k=2)
    for result in found[:3]:
        print(", ".join(f"{word['token_str']} {word['score']:.3f}" for word in result), "|", result[0]["sequence"])
    right = sum(result[0]["token_str"] == home.lower() for home, result in zip(HOMES.values(), found, strict=True))
    check("homes", right, len(HOMES))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
