"""Plain form of ``numba_nlp.kernels.tasks.answers``: all spans are listed, then sorted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["choose_answers", "keep_answer", "merge_answers", "sliding_maximum"]

#: Start, end, score.
Answer = tuple[int, int, Any]


def sliding_maximum(values: list[float], width: int) -> list[float]:
    """Greatest of each value and the ``width - 1`` values behind it."""
    return [max(values[i : i + width]) for i in range(len(values))]


def keep_answer(answer: Answer, kept: list[Answer], most: int) -> list[Answer]:
    """The best answers with one more: each span once, with its best score, the older one first of equal scores."""
    best: dict[tuple[int, int], Any] = {}
    for start, end, score in [*kept, answer]:
        if (start, end) not in best or score > best[start, end]:
            best.pop((start, end), None)
            best[start, end] = score
    ordered = sorted(best.items(), key=lambda item: -item[1])
    return [(start, end, score) for (start, end), score in ordered[:most]]


def _shares(logits: list[Any]) -> tuple[list[Any], float]:
    """Softmax, and the log of the sum."""
    if not logits:
        return [], -math.inf
    greatest = max(logits)
    powers = [np.float32(math.exp(float(np.float32(logit) - np.float32(greatest)))) for logit in logits]
    total = sum(float(power) for power in powers)
    return [np.float32(float(power) / total) for power in powers], float(greatest) + math.log(total)


def choose_answers(
    begins: list[int],
    stops: list[int],
    start_logits: list[Any],
    end_logits: list[Any],
    null: tuple[Any, Any] | None,
    max_tokens: int,
    most: int,
) -> tuple[list[Answer], Any, float]:
    """Best answers of one window, the score of no answer, and the log of the sum over all pairs.

    ``null`` holds the two logits of the token that stands for no answer; logits are float32.
    """
    n = len(start_logits)
    starts, log_start = _shares([*start_logits, *([] if null is None else [null[0]])])
    ends, log_end = _shares([*end_logits, *([] if null is None else [null[1]])])
    spans = [(begins[i], stops[j], starts[i] * ends[j]) for i in range(n) for j in range(i, n) if j - i < max_tokens]
    answers: list[Answer] = []
    seen = set()
    for start, end, score in sorted(spans, key=lambda span: -span[2]):
        if score > 0 and (start, end) not in seen:
            seen.add((start, end))
            answers.append((start, end, score))
    return answers[:most], np.float32(0) if null is None else starts[n] * ends[n], log_start + log_end


def merge_answers(windows: list[tuple[list[Answer], float, Any]], has_null: bool, most: int) -> list[Answer]:
    """Best answers of one row, from the answers, the weight and the score of no answer of each of its windows."""
    kept: list[Answer] = []
    for answers, weight, _ in windows:
        for start, end, score in answers:
            kept = keep_answer((start, end, np.float32(float(score) * weight)), kept, most)
    if has_null and windows:
        least = min(np.float32(float(null) * weight) for _, weight, null in windows)
        kept = keep_answer((0, 0, least), kept, most)
    return kept or [(0, 0, np.float32(0))]
