"""One step's work on rows of given logits, without a model: ours, and what ``generate`` of transformers does with them.

Six rows of 65001 logits, a history of 40 tokens, one thread. Milliseconds a row and the ratio, rounds of both by turns,
are printed by

    python -m asv_benchmarks.benchmarks.bench_generation_rows
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import njit

ROWS, SIZE, COLUMNS, FILLED = 6, 65001, 64, 40
PAD, EOS = 65000, 0
#: Name -> kind of search, and its options as transformers names them.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "greedy": ("greedy", {}),
    "greedy, penalty": ("greedy", {"repetition_penalty": 1.2}),
    "beams": ("beams", {}),
    "beams, rules": ("beams", {"no_repeat_ngram_size": 3, "bad_words_ids": [[PAD]], "min_length": 56}),
    "sample": ("sample", {}),
    "sample, top 50": ("sample", {"top_k": 50, "temperature": 0.8}),
    "sample, nucleus": ("sample", {"top_p": 0.9}),
    "sample, top 50 nucleus": ("sample", {"top_k": 50, "top_p": 0.9, "temperature": 0.8}),
    "sample, min-p": ("sample", {"min_p": 0.05}),
    "sample, typical": ("sample", {"typical_p": 0.9}),
}


def draw_inputs() -> tuple[np.ndarray, np.ndarray]:
    """Logits about as peaked as those of a language model, and histories."""
    random = np.random.default_rng(0)
    logits = (random.standard_normal((ROWS, SIZE)) * 2).astype(np.float32)
    logits[:, random.integers(0, SIZE, 30)] += 6
    return logits, random.integers(1, 500, (ROWS, COLUMNS)).astype(np.int32)


def ours(kind: str, options: dict[str, Any]) -> Callable[[np.ndarray], Any]:
    """What changes the logits and gives tokens, or the candidates of beams."""
    from numba_nlp.kernels.generation import row_rules, row_values, sampling
    from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules

    # compiled code knows functions by their own names only
    apply_rules, log_sum_exp = row_rules.apply_rules, row_values.log_sum_exp
    largest, select_top, sample_row = row_values.largest, row_values.select_top, sampling.sample_row

    @njit(nogil=True)
    def greedy(logits, histories, source, rules, scratch, tokens, values, indices):
        for row in range(logits.shape[0]):
            apply_rules(logits[row], 0.0, histories[row], 0, FILLED, source, rules, scratch.saved)
            tokens[row] = largest(logits[row])

    @njit(nogil=True)
    def beams(logits, histories, source, rules, scratch, tokens, values, indices):
        for row in range(logits.shape[0]):
            shift = log_sum_exp(logits[row])
            apply_rules(logits[row], shift, histories[row], 0, FILLED, source, rules, scratch.saved)
            select_top(logits[row], values.shape[1], scratch.maxima, values[row], indices[row])

    @njit(nogil=True)
    def sample(logits, histories, source, rules, scratch, tokens, values, indices):
        for row in range(logits.shape[0]):
            apply_rules(logits[row], 0.0, histories[row], 0, FILLED, source, rules, scratch.saved)
            tokens[row] = sample_row(logits[row], rules, np.uint64(1), np.uint64(row), FILLED, scratch)[0]

    function = {"greedy": greedy, "beams": beams, "sample": sample}[kind]
    histories, rules = draw_inputs()[1], make_rules(eos_ids=[EOS], **options)
    scratch, source = make_row_scratch(SIZE, COLUMNS), np.empty(0, np.int32)
    tokens = np.zeros(ROWS, np.int64)
    values, indices = np.zeros((ROWS, 2 * ROWS), np.float32), np.zeros((ROWS, 2 * ROWS), np.int32)

    def call(logits: np.ndarray) -> Any:
        function(logits, histories, source, rules, scratch, tokens, values, indices)
        return indices if kind == "beams" else tokens

    return call


def theirs(kind: str, options: dict[str, Any]) -> Callable[[np.ndarray], Any]:
    """The same with the processors that ``generate`` of transformers takes, in its order."""
    import torch
    from transformers.generation import logits_process

    torch.set_num_threads(1)
    ids = torch.from_numpy(draw_inputs()[1][:, :FILLED]).long()
    makers = {
        "repetition_penalty": logits_process.RepetitionPenaltyLogitsProcessor,
        "no_repeat_ngram_size": logits_process.NoRepeatNGramLogitsProcessor,
        "bad_words_ids": lambda words: logits_process.NoBadWordsLogitsProcessor(words, EOS),
        "min_length": lambda length: logits_process.MinLengthLogitsProcessor(length, EOS),
        "temperature": logits_process.TemperatureLogitsWarper,
        "top_k": logits_process.TopKLogitsWarper,
        "top_p": logits_process.TopPLogitsWarper,
        "min_p": logits_process.MinPLogitsWarper,
        "typical_p": logits_process.TypicalLogitsWarper,
    }
    processors = [make(options[name]) for name, make in makers.items() if name in options]

    running = torch.zeros(1, ROWS)

    def call(logits: np.ndarray) -> Any:
        scores = torch.from_numpy(logits).to(copy=True, dtype=torch.float32)
        if kind == "beams":
            scores = scores.log_softmax(-1)
        for processor in processors:
            scores = processor(ids, scores)
        if kind == "greedy":
            return scores.argmax(-1).numpy()
        if kind == "sample":
            return torch.multinomial(scores.softmax(-1), 1).numpy()
        # one selection over all beams of a sentence, of what each has so far and what comes
        scores = scores.view(1, ROWS, SIZE) + running[:, :, None]
        return scores.view(1, -1).topk(2 * ROWS).indices.numpy()

    return call


class GenerationRows:
    """Rules and selection of one step; the logits are written anew before each, as a model does."""

    params = (["numba_nlp", "transformers"], list(CASES))
    param_names = ("backend", "case")
    timeout = 300

    def setup(self, backend: str, case: str) -> None:
        for package in ("torch", "transformers"):
            if backend == "transformers" and find_spec(package) is None:
                raise NotImplementedError(f"{package} is not installed")
        self._logits = draw_inputs()[0]
        self._row = self._logits.copy()
        self._call = (ours if backend == "numba_nlp" else theirs)(*CASES[case])
        self._call(self._row)

    def time_step(self, backend: str, case: str) -> None:
        self._row[:] = self._logits
        self._call(self._row)


def ratios(rounds: int = 40) -> None:
    """Print how many times as long transformers takes: of the medians, and of the quickest rounds.

    Tokens of greedy search are compared, and the best candidates of all beams.
    """
    logits = draw_inputs()[0]
    for case, (kind, options) in CASES.items():
        calls = [theirs(kind, options), ours(kind, options)]
        results = [call(logits.copy()) for call in calls]
        if kind == "greedy":
            np.testing.assert_array_equal(*results)
        if kind == "beams":
            # the best one of all stands first in its row
            best, row = divmod(int(results[0][0, 0]), SIZE)[::-1]
            assert results[1][row, 0] == best
        seconds: list[list[float]] = [[], []]
        for _ in range(rounds):
            for call, taken in zip(calls, seconds, strict=True):
                fresh = logits.copy()
                start = time.perf_counter()
                call(fresh)
                taken.append((time.perf_counter() - start) / ROWS * 1e3)
        print(
            f"{case:24} ours {statistics.median(seconds[1]):.3f} ms a row, transformers "
            f"{statistics.median(seconds[0]):.3f}   transformers / ours: medians "
            f"{statistics.median(seconds[0]) / statistics.median(seconds[1]):.1f}, "
            f"quickest {min(seconds[0]) / min(seconds[1]):.1f}",
            flush=True,
        )


if __name__ == "__main__":
    ratios()
