"""Beam search with a beam for everything finds what trying everything finds."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation import score  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tests.generation.test_edges import GPT2, sharpened  # noqa: E402

pytestmark = pytest.mark.usefixtures("each_engine")

VOCABULARY, LONGEST, END = 4, 3, 2


def all_rows() -> list[tuple[int, ...]]:
    """Rows that end in END, or are as long as they may be."""
    others = [token for token in range(VOCABULARY) if token != END]
    rows = []
    for n in range(LONGEST):
        rows += [(*row, END) for row in itertools.product(others, repeat=n)]
    return rows + list(itertools.product(others, repeat=LONGEST))


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0, -1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_all_rows_in_order(length_penalty: float, seed: int) -> None:
    model: Any = sharpened(create_model({**GPT2, "vocab_size": VOCABULARY}, head="language_model", seed=seed))
    rows = all_rows()
    scores = score(model, [[3, 1]], rows).scores / torch.tensor([float(len(row)) for row in rows]) ** length_penalty
    best = sorted(zip(scores.tolist(), rows, strict=True), reverse=True)
    out = model.generate(
        [[3, 1]],
        num_beams=len(rows),
        num_return_sequences=len(rows),
        max_new_tokens=LONGEST,
        length_penalty=length_penalty,
        early_stopping="never",
        pad_token_id=VOCABULARY,
        eos_token_id=END,
    )
    for found, value, (expected_value, expected) in zip(out.sequences, out.scores, best, strict=True):
        assert tuple(token for token in found[2:].tolist() if token != VOCABULARY) == expected
        assert value == pytest.approx(expected_value, abs=1e-4)
