"""Sampling: the distribution of transformers' warpers, by chi-square; the same tokens in any order of prompts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")

from transformers.generation.logits_process import (  # noqa: E402
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from numba_nlp.models import create_model  # noqa: E402
from tests.generation.test_edges import BART, GPT2, sharpened  # noqa: E402
from tests.models.tiny import draw_ids  # noqa: E402

pytestmark = pytest.mark.usefixtures("each_engine")

DRAWS = 4000


@pytest.fixture(scope="module")
def gpt2() -> Any:
    return sharpened(create_model({**GPT2, "eos_token_id": None}, head="language_model"))


@pytest.fixture(scope="module")
def bart() -> Any:
    return sharpened(create_model(BART, head="conditional_generation"))


def warped(logits: Any, least: int = 1, **options: Any) -> Any:
    """Probabilities as transformers' warpers make them, in its order."""
    kinds = {
        "temperature": TemperatureLogitsWarper,
        "top_k": lambda value: TopKLogitsWarper(value, min_tokens_to_keep=least),
        "top_p": lambda value: TopPLogitsWarper(value, min_tokens_to_keep=least),
        "min_p": lambda value: MinPLogitsWarper(value, min_tokens_to_keep=least),
        "typical_p": lambda value: TypicalLogitsWarper(value, min_tokens_to_keep=least),
    }
    for name, make in kinds.items():
        if options.get(name):
            logits = make(options[name])(None, logits)
    return logits.softmax(-1)


def assert_drawn_from(counts: np.ndarray, probabilities: np.ndarray) -> None:
    """Chi-square over the values that are expected five times or more; no other than the possible ones occur."""
    assert not counts[probabilities == 0].any()
    n = counts.sum()
    often = probabilities * n >= 5
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(probabilities[often], probabilities[~often].sum()) * n
    observed, expected = observed[expected > 0], expected[expected > 0]
    chi = ((observed - expected) ** 2 / expected).sum()
    freedom = len(expected) - 1
    # Wilson and Hilferty's quantile that one in a million exceeds
    limit = freedom * (1 - 2 / (9 * freedom) + 4.75 * (2 / (9 * freedom)) ** 0.5) ** 3 if freedom else 1e-9
    assert chi <= limit


OPTIONS = [
    {"top_k": 0},
    {"top_k": 5},
    {"top_k": 0, "temperature": 0.5},
    {"top_k": 0, "top_p": 0.7},
    {"top_k": 0, "min_p": 0.2},
    {"top_k": 0, "typical_p": 0.6},
    {"top_k": 20, "temperature": 1.7, "top_p": 0.9, "min_p": 0.05, "typical_p": 0.9},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_first_tokens(gpt2: Any, options: dict[str, Any]) -> None:
    ids = [[5, 6, 7]]
    out = gpt2.generate(
        ids, do_sample=True, num_return_sequences=DRAWS, max_new_tokens=1, seed=1, repetition_penalty=1.3, **options
    )
    logits = gpt2(ids).logits[:, -1].detach()
    seen = logits[0, ids[0]]
    logits[0, ids[0]] = torch.where(seen < 0, seen * 1.3, seen / 1.3)
    probabilities = warped(logits, **options)[0].double().numpy()
    tokens = out.sequences[:, 3].numpy()
    assert_drawn_from(np.bincount(tokens, minlength=probabilities.size), probabilities / probabilities.sum())
    np.testing.assert_allclose(out.token_scores[:, 0], np.log(probabilities[tokens]), atol=1e-4)


def test_second_tokens(gpt2: Any) -> None:
    """Pairs of tokens: the second one is drawn by what follows the first."""
    out = gpt2.generate([[5]], do_sample=True, num_return_sequences=DRAWS, max_new_tokens=2, seed=2, top_k=4)
    first = warped(gpt2([[5]]).logits[:, -1].detach(), top_k=4)[0]
    pairs = torch.zeros(40, 40, dtype=torch.float64)
    for token in first.nonzero()[:, 0].tolist():
        pairs[token] = first[token] * warped(gpt2([[5, token]]).logits[:, -1].detach(), top_k=4)[0]
    drawn = out.sequences[:, 1] * 40 + out.sequences[:, 2]
    probabilities = pairs.flatten().numpy()
    assert_drawn_from(np.bincount(drawn.numpy(), minlength=1600), probabilities / probabilities.sum())


@pytest.mark.parametrize("kept", [{"top_k": 0}, {"top_k": 6}, {"top_k": 0, "top_p": 0.95}], ids=str)
def test_beams_of_one_step(gpt2: Any, kept: dict[str, Any]) -> None:
    """Two beams and one new token: the rows are the two most probable of four that are drawn without replacement."""
    options = {"temperature": 4.0, **kept}
    rows, n = [[5, 6]] * 2000, 2000
    out = gpt2.generate(rows, do_sample=True, num_beams=2, num_return_sequences=2, max_new_tokens=1, seed=3, **options)
    probabilities = warped(gpt2([[5, 6]]).logits[:, -1].detach(), least=2, **options)[0]
    drawn = torch.multinomial(probabilities.expand(200_000, -1), 4, generator=torch.Generator().manual_seed(1))
    best = drawn.gather(1, probabilities[drawn].topk(2).indices)
    expected = np.bincount(best[:, 0] * 40 + best[:, 1], minlength=1600) / len(best) * n
    tokens = out.sequences[:, 2].reshape(-1, 2)
    counts = np.bincount(tokens[:, 0] * 40 + tokens[:, 1], minlength=1600)
    assert not probabilities[tokens].eq(0).any()
    # both are drawn, one of them a hundred times as often: it stands for the exact numbers where they are not small
    often = expected >= 20
    assert often.sum() > 5
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected))[often].all()


def sample(model: Any, rows: Any, **options: Any) -> Any:
    return model.generate(rows, do_sample=True, max_new_tokens=8, seed=7, **options)


@pytest.mark.parametrize("options", [{"num_return_sequences": 3}, {"num_beams": 3}], ids=str)
def test_order_of_prompts_does_not_matter(gpt2: Any, bart: Any, options: dict[str, Any]) -> None:
    rows = [[5, 6], [7, 8], [9, 10], [5, 6]]
    for model in (gpt2, bart):
        per_prompt = options.get("num_return_sequences", 1)
        first = sample(model, rows, **options).sequences.reshape(4, per_prompt, -1)
        other = sample(model, [rows[i] for i in (2, 0, 1)], **options).sequences.reshape(3, per_prompt, -1)
        width = other.shape[2]
        for place, row in enumerate((2, 0, 1)):
            assert torch.equal(first[row][:, :width], other[place])
        assert not torch.equal(first[0], first[3])  # equal prompts are drawn apart


def test_seeds(gpt2: Any) -> None:
    ids = draw_ids(3, 3, 40)
    runs = [gpt2.generate(ids, do_sample=True, max_new_tokens=8, seed=seed).sequences for seed in (1, 1, 2, None, None)]
    assert torch.equal(runs[0], runs[1])
    for other in (runs[2], runs[3]):
        assert not torch.equal(runs[0], other)
    assert not torch.equal(runs[3], runs[4])


def test_warnings_of_rows_without_a_token(gpt2: Any) -> None:
    with pytest.raises(ValueError, match="leave no token for row 0"):
        gpt2.generate([[5]], do_sample=True, suppress_tokens=range(40))
