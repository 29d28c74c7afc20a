"""Sentiment of made-up reviews: ``python -m examples.classify [FOLDER]``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.tiny_training import train_folder

LABELS = ("NEGATIVE", "POSITIVE")
ADJECTIVES = (
    ("dreadful", "foul", "weary", "stale", "barren", "loathsome"),
    ("lovely", "noble", "sweet", "gentle", "bright", "rare"),
)
THINGS = ("play", "king", "ghost", "duel", "queen", "song")


def review(random: np.random.Generator) -> tuple[str, int]:
    """A sentence and its label."""
    label = int(random.integers(2))
    first, second = random.choice(ADJECTIVES[label], 2)
    begin = random.choice(["The {} was", "I found the {}", "They say the {} is"]).format(random.choice(THINGS))
    return f"{begin} {first}{f' and {second}' if random.integers(2) else ''}.", label


def batch(random: np.random.Generator) -> tuple[tuple[list[str]], torch.Tensor]:
    """Reviews and their labels."""
    texts, labels = zip(*(review(random) for _ in range(48)), strict=True)
    return (list(texts),), torch.tensor(labels)


def loss(out, inputs, labels) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(out.logits, labels)


def main(folder: Path) -> None:
    """Train, then ask about reviews that were drawn anew."""
    train_folder(folder, batch, loss, 80, head="sequence_classification", labels=LABELS)
    classify = nlp.pipeline("classify", model=folder)

    random = np.random.default_rng(99)
    reviews = [review(random) for _ in range(200)]
    found = classify([text for text, _ in reviews])
    for (text, _), result in zip(reviews[:3], found, strict=False):
        print(f"{result['label']:8} {result['score']:.3f}  {text}")
    right = sum(result["label"] == LABELS[label] for (_, label), result in zip(reviews, found, strict=True))
    check("reviews", right, len(reviews))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
