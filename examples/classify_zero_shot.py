"""Labels that are chosen when the question is asked: ``python -m examples.classify_zero_shot [FOLDER]``.

The model learns whether a text entails a sentence, here of one form: "This example is TOPIC."
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.tiny_training import train_folder

LABELS = ("contradiction", "entailment")
TOPICS = {
    "food": ("bread", "soup", "cheese", "apples"),
    "music": ("a lute", "songs", "drums", "a flute"),
    "war": ("swords", "armies", "siege", "shields"),
    "weather": ("rain", "storms", "frost", "thunder"),
}
FRAMES = ("They brought {}.", "All night there was talk of {}.", "Of {} I know nothing.")


def text_about(random: np.random.Generator, topic: str) -> str:
    return str(random.choice(FRAMES)).format(random.choice(TOPICS[topic]))


def batch(random: np.random.Generator) -> tuple[tuple[list[str], list[str]], torch.Tensor]:
    """Texts about a topic, sentences that name one, and whether it is the same."""
    texts, sentences, entailed = [], [], []
    for _ in range(64):
        topic, other = (str(name) for name in random.permutation(list(TOPICS))[:2])
        is_entailed = int(random.integers(2))
        texts.append(text_about(random, topic))
        sentences.append(f"This example is {topic if is_entailed else other}.")
        entailed.append(is_entailed)
    return (texts, sentences), torch.tensor(entailed)


def loss(out, inputs, entailed) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(out.logits, entailed)


def main(folder: Path) -> None:
    """Train, then choose among topics, and ask for each by itself."""
    train_folder(folder, batch, loss, 200, head="sequence_classification", labels=LABELS)
    classify = nlp.pipeline("classify_zero_shot", model=folder)

    random = np.random.default_rng(99)
    topics = [str(random.choice(list(TOPICS))) for _ in range(60)]
    texts = [text_about(random, topic) for topic in topics]
    found = classify(texts, candidate_labels=list(TOPICS))
    for result in found[:3]:
        print(f"{result['labels'][0]:8} {result['scores'][0]:.3f}  {result['sequence']}")
    check("topics of texts", sum(a == b["labels"][0] for a, b in zip(topics, found, strict=True)), len(topics))

    # each label against its contradiction, so that several, or none, can be true
    right = 0
    for topic, result in zip(topics, classify(texts, candidate_labels=list(TOPICS), multi_label=True), strict=True):
        named = {label for label, score in zip(result["labels"], result["scores"], strict=True) if score > 0.5}
        right += named == {topic}
    check("texts with one true topic", right, len(topics))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
