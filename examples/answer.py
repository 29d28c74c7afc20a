"""Answers within made-up texts: ``python -m examples.answer [FOLDER]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.tiny_training import train_folder

NAMES = ("Rosalind", "Orlando", "Celia", "Oliver", "Touchstone", "Silvius")
PLACES = ("the forest", "the court", "Arden", "the old castle", "Athens")
DAYS = ("Monday", "Friday", "Sunday", "Twelfth Night")
QUESTIONS = ("Who came?", "Where to?", "On which day?")
FRAMES = ("On {2} {0} came to {1}.", "{0} came to {1} on {2}.", "It was {0} who, on {2}, came to {1}.")


def case(random: np.random.Generator) -> tuple[str, str, str, int]:
    """A question, a text, the answer and where it begins."""
    values = [str(random.choice(values)) for values in (NAMES, PLACES, DAYS)]
    context = str(random.choice(FRAMES)).format(*values)
    asked = int(random.integers(3))
    return QUESTIONS[asked], context, values[asked], context.index(values[asked])


def batch(random: np.random.Generator) -> tuple[tuple[list[str], list[str]], Any]:
    """Questions and texts, and the places of the answers."""
    questions, contexts, answers, starts = zip(*(case(random) for _ in range(48)), strict=True)
    ends = [start + len(answer) for start, answer in zip(starts, answers, strict=True)]
    return (list(questions), list(contexts)), (starts, ends)


def loss(out, inputs, places) -> torch.Tensor:
    """Of the first and of the last token of each answer."""
    inside = inputs["sequence_ids"] == 1
    begins, stops = (torch.as_tensor(values)[:, None] for values in places)
    first = ((inputs["starts"] == begins) & inside).int().argmax(1)
    last = ((inputs["ends"] == stops) & inside).int().argmax(1)
    entropy = torch.nn.functional.cross_entropy
    return entropy(out.start_logits, first) + entropy(out.end_logits, last)


def main(folder: Path) -> None:
    """Train, then ask questions that were drawn anew."""
    train_folder(
        folder, batch, loss, 120, head="question_answering", return_sequence_ids=True, return_offsets_mapping=True
    )
    answer = nlp.pipeline("answer", model=folder)

    random = np.random.default_rng(99)
    cases = [case(random) for _ in range(100)]
    found = answer([{"question": question, "context": context} for question, context, _, _ in cases])
    for (question, context, _, _), result in zip(cases[:3], found, strict=False):
        print(f"{context} {question} {result['answer']!r} ({result['score']:.3f})")
    right = sum(
        (result["answer"], result["start"]) == (expected, start)
        for (_, _, expected, start), result in zip(cases, found, strict=True)
    )
    check("answers with their places", right, len(cases))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
