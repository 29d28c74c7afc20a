"""Persons and places in made-up sentences: ``python -m examples.tag_tokens [FOLDER]``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.tiny_training import train_folder

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
FIRST, LAST = ("John", "Anne", "Hal", "Kate"), ("Gower", "Percy", "Page", "York")
PLACES = ("Venice", "Rome", "New Haven", "Old Street", "York")  # York is also a name: the sentence tells
FRAMES = ("{p} rode from {l} to {l} .", "In {l} , {p} met {p} .", "{p} and {p} never saw {l} .")


def sentence(random: np.random.Generator) -> tuple[list[str], list[int]]:
    """Words, and the number of the label of each."""
    words: list[str] = []
    labels: list[int] = []
    for part in str(random.choice(FRAMES)).split():
        if part == "{p}":
            name = [str(random.choice(FIRST)), *([str(random.choice(LAST))] if random.integers(2) else [])]
            kinds = [1, 2]
        elif part == "{l}":
            name, kinds = str(random.choice(PLACES)).split(), [3, 4]
        else:
            name, kinds = [part], [0]
        words += name
        labels += kinds[: len(name)]
    return words, labels


def entities(words: list[str], labels: list[int]) -> list[tuple[str, str]]:
    """Kind and text of each entity."""
    found: list[tuple[str, str]] = []
    for word, label in zip(words, labels, strict=True):
        if label in (1, 3):
            found.append((LABELS[label][2:], word))
        elif label:
            found[-1] = (found[-1][0], f"{found[-1][1]} {word}")
    return found


def batch(random: np.random.Generator) -> tuple[tuple[list[str]], list[list[int]]]:
    """Sentences, and the labels of their words."""
    words, labels = zip(*(sentence(random) for _ in range(48)), strict=True)
    return ([" ".join(row) for row in words],), list(labels)


def loss(out, inputs, labels) -> torch.Tensor:
    """Of the tokens of words: their label is that of the word."""
    numbers = inputs["word_ids"]
    targets = torch.full(numbers.shape, -100)
    for row, of_words in enumerate(labels):
        inside = numbers[row] >= 0
        targets[row, inside] = torch.tensor(of_words)[numbers[row, inside]]
    return torch.nn.functional.cross_entropy(out.logits.flatten(0, 1), targets.flatten())


def main(folder: Path) -> None:
    """Train, then ask for whole entities of sentences that were drawn anew."""
    train_folder(folder, batch, loss, 120, head="token_classification", labels=LABELS, return_word_ids=True)
    tag = nlp.pipeline("tag_tokens", model=folder, aggregation_strategy="simple")

    random = np.random.default_rng(99)
    sentences = [sentence(random) for _ in range(100)]
    texts = [" ".join(words) for words, _ in sentences]
    found = tag(texts)
    print(texts[0])
    for entity in found[0]:
        print(f"  {entity['entity_group']} {texts[0][entity['start'] : entity['end']]!r} {entity['score']:.3f}")
    right = sum(
        [(entity["entity_group"], text[entity["start"] : entity["end"]]) for entity in result]
        == entities(words, labels)
        for (words, labels), text, result in zip(sentences, texts, found, strict=True)
    )
    check("sentences, all entities with their spans", right, len(texts))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
