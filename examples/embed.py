"""Vectors of sentences, near each other where these are about the same: ``python -m examples.embed [FOLDER]``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.classify_zero_shot import TOPICS, text_about
from examples.tiny_training import train_folder


def batch(random: np.random.Generator) -> tuple[tuple[list[str]], torch.Tensor]:
    """Two texts about each topic, and the number of the topic of each."""
    numbers = np.repeat(np.arange(len(TOPICS)), 8)
    return ([text_about(random, list(TOPICS)[number]) for number in numbers],), torch.from_numpy(numbers)


def loss(out, inputs, topics) -> torch.Tensor:
    """Texts of one topic are to be near each other: a softmax over the cosines with all others."""
    mask = inputs["attention_mask"][..., None]
    vectors = torch.nn.functional.normalize((out.last_hidden_state * mask).sum(1) / mask.sum(1), dim=1)
    cosines = 10 * vectors @ vectors.T
    itself = torch.eye(len(vectors), dtype=torch.bool)
    logarithms = cosines.masked_fill(itself, -torch.inf).log_softmax(1).masked_fill(itself, 0.0)
    same = (topics[:, None] == topics) & ~itself
    return -(logarithms * same).sum(1).div(same.sum(1)).mean()


def main(folder: Path) -> None:
    """Train, then look for the nearest text of each."""
    train_folder(folder, batch, loss, 120, head="none")
    embed = nlp.pipeline("embed", model=folder)

    random = np.random.default_rng(99)
    topics = np.array([str(random.choice(list(TOPICS))) for _ in range(80)])
    texts = [text_about(random, topic) for topic in topics]
    vectors = np.stack(embed(texts))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = cosines.argmax(1)
    for number in range(3):
        print(f"{texts[number]} is near: {texts[nearest[number]]}")
    check("nearest texts of the same topic", int((topics[nearest] == topics).sum()), len(topics))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
