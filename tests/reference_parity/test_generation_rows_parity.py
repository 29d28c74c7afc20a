"""Rows of logits through our rules and through transformers' processors, alone and in the order of ``generate``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from numba_nlp.kernels.generation import row_rules, row_selection, row_values, warpers
from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules

torch = pytest.importorskip("torch")
processors = pytest.importorskip("transformers", minversion="5.0").generation.logits_process

ROWS, SIZE, COLUMNS = 12, 200, 30
EOS = [3, 8]
#: Columns that are there.
FILLED = [1, 2, 5, 19, COLUMNS]


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, histories of few different tokens (some of which have no logit), and sources."""
    random = np.random.default_rng(seed)
    logits = (random.standard_normal((ROWS, SIZE)) * 3).astype(np.float32)
    logits[0, : SIZE // 2] = -np.inf
    histories = random.integers(0, 6, (ROWS, COLUMNS)).astype(np.int32)
    histories[1, 0] = SIZE + 2
    return logits, histories, random.integers(0, 6, (ROWS, 9)).astype(np.int32)


#: Our options -> the processors that transformers' ``generate`` makes of them, given source and padding.
RULES: list[tuple[dict[str, Any], Any]] = [
    (
        {"repetition_penalty": 1.3},
        lambda source, padding: processors.RepetitionPenaltyLogitsProcessor(1.3, prompt_ignore_length=padding),
    ),
    (
        {"repetition_penalty": 0.7},
        lambda source, padding: processors.RepetitionPenaltyLogitsProcessor(0.7, prompt_ignore_length=padding),
    ),
    *[
        ({"no_repeat_ngram_size": n}, lambda source, padding, n=n: processors.NoRepeatNGramLogitsProcessor(n))
        for n in (1, 2, 3)
    ],
    *[
        (
            {"encoder_no_repeat_ngram_size": n},
            lambda source, padding, n=n: processors.EncoderNoRepeatNGramLogitsProcessor(n, source),
        )
        for n in (1, 2, 3)
    ],
    (
        {"bad_words_ids": [[7], [3], [2, 5], [1, 2, 4], [0, 199]], "eos_ids": EOS},
        lambda source, padding: processors.NoBadWordsLogitsProcessor([[7], [3], [2, 5], [1, 2, 4], [0, 199]], EOS),
    ),
    ({"min_length": 6, "eos_ids": EOS}, lambda source, padding: processors.MinLengthLogitsProcessor(6, EOS)),
    (
        {"min_new_tokens": 4, "prompt_width": 2, "eos_ids": EOS},
        lambda source, padding: processors.MinNewTokensLengthLogitsProcessor(2, 4, EOS),
    ),
    ({"forced_bos_id": 9}, lambda source, padding: processors.ForcedBOSTokenLogitsProcessor(9)),
    (
        {"forced_eos_ids": EOS, "max_length": 20},
        lambda source, padding: processors.ForcedEOSTokenLogitsProcessor(20, EOS),
    ),
    ({"suppressed_ids": [1, 150]}, lambda source, padding: processors.SuppressTokensLogitsProcessor([1, 150])),
    (
        {"begin_suppressed_ids": [1, 150], "begin_index": 2},
        lambda source, padding: processors.SuppressTokensAtBeginLogitsProcessor([1, 150], 2),
    ),
    ({"renormalize": True}, lambda source, padding: processors.LogitNormalization()),
]


def processed(chosen, filled: int, as_beams: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of all rows after our rules and after transformers' processors."""
    logits, histories, sources = draw(seed)
    padding = np.minimum(np.arange(ROWS) % 4, filled - 1)
    rules = make_rules(**{name: value for options, _ in chosen for name, value in options.items()})
    saved, ours = np.zeros(COLUMNS, np.float32), logits.copy()
    shifts = np.zeros(ROWS)
    for row in range(ROWS):
        shift = row_values.log_sum_exp(ours[row]) if as_beams else 0.0
        shifts[row] = row_rules.apply_rules(
            ours[row], shift, histories[row], padding[row], filled, sources[row], rules, saved
        )
    scores, ids = torch.from_numpy(logits), torch.from_numpy(histories[:, :filled]).long()
    if as_beams:
        scores = scores.log_softmax(-1)
    for _, make in chosen:
        scores = make(torch.from_numpy(sources).long(), torch.from_numpy(padding))(ids, scores)
    return ours - shifts[:, None], scores.numpy()


@pytest.mark.parametrize("as_beams", [False, True], ids=["logits", "log-probabilities"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: ",".join(rule[0]))
def test_each_rule(rule, as_beams):
    for filled in FILLED:
        found, expected = processed([rule], filled, as_beams, filled)
        np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-6)


def test_combinations():
    """In the order in which ``generate`` applies them, which is that of the list."""
    random = np.random.default_rng(0)
    for seed in range(150):
        chosen = [rule for rule in RULES if random.random() < 0.3]
        names = [name for options, _ in chosen for name in options if name != "eos_ids"]
        if len(set(names)) < len(names):
            continue
        found, expected = processed(chosen, int(random.choice(FILLED)), bool(random.integers(2)), seed)
        # where nothing is left, transformers makes NaN of it
        left = ~np.isneginf(found).all(-1)
        np.testing.assert_array_equal(np.isneginf(found[left]), np.isneginf(expected[left]))
        np.testing.assert_allclose(found[left], expected[left], rtol=1e-5, atol=1e-5)


WARPERS: list[tuple[dict[str, Any], Any]] = [
    *[({"temperature": t}, lambda least, t=t: processors.TemperatureLogitsWarper(t)) for t in (0.3, 1.7)],
    *[({"top_k": k}, lambda least, k=k: processors.TopKLogitsWarper(k, min_tokens_to_keep=least)) for k in (1, 7, 500)],
    *[
        ({"top_p": p}, lambda least, p=p: processors.TopPLogitsWarper(p, min_tokens_to_keep=least))
        for p in (0.0, 0.2, 0.5, 0.9, 0.999)
    ],
    *[
        ({"min_p": p}, lambda least, p=p: processors.MinPLogitsWarper(p, min_tokens_to_keep=least))
        for p in (0.01, 0.2, 1.0)
    ],
    *[
        ({"typical_p": p}, lambda least, p=p: processors.TypicalLogitsWarper(p, min_tokens_to_keep=least))
        for p in (0.1, 0.5, 0.9, 0.99)
    ],
]


def warped(chosen, least: int, seed: int) -> None:
    """Both keep the same tokens with the same values, without ties."""
    logits = draw(seed)[0]
    scratch, ours = make_row_scratch(SIZE, COLUMNS), logits.copy()
    rules = make_rules(
        min_tokens_to_keep=least, **{name: value for options, _ in chosen for name, value in options.items()}
    )
    scores = torch.from_numpy(logits)
    for _, make in chosen:
        scores = make(least)(None, scores)
    for row in range(ROWS):
        n = warpers.warp_row(ours[row], rules, scratch)
        assert scratch.ids[:n].tolist() == np.flatnonzero(scores[row].numpy() > -math.inf).tolist()
    np.testing.assert_allclose(ours, scores.numpy(), rtol=1e-6)


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("warper", WARPERS, ids=lambda warper: str(warper[0]))
def test_each_warper(warper, least):
    for seed in range(8):
        warped([warper], least, seed)


def test_warpers_together():
    random = np.random.default_rng(1)
    for seed in range(150):
        chosen = [warper for warper in WARPERS if random.random() < 0.2]
        names = [name for options, _ in chosen for name in options]
        if len(set(names)) == len(names):
            warped(chosen, int(random.integers(1, 4)), seed)


@pytest.mark.parametrize("size", [1, 5, 64, 1000, 65001])
def test_selection_and_normalisation(size):
    logits = (np.random.default_rng(size).standard_normal(size) * 5).astype(np.float32)
    tensor = torch.from_numpy(logits)
    shift = row_values.log_sum_exp(logits)
    # torch adds up float32 and is off by 5e-6 at the largest size
    np.testing.assert_allclose(shift, float(tensor.double().logsumexp(-1)), rtol=1e-8, atol=1.5e-7)
    np.testing.assert_allclose(logits - shift, tensor.log_softmax(-1).numpy(), rtol=1e-6, atol=1e-5)
    assert row_values.largest(logits) == int(tensor.argmax())
    for k in {1, min(12, size), min(50, size)}:
        values, indices = np.zeros(k, np.float32), np.zeros(k, np.int32)
        assert row_selection.select_top(logits, k, make_row_scratch(size, 1).maxima, values, indices) == k
        expected = tensor.topk(k)
        np.testing.assert_array_equal(values, expected.values.numpy())
        np.testing.assert_array_equal(indices, expected.indices.numpy())
