"""One step's work on rows of given logits, without a model: ours, and what ``generate`` of transformers does with them.

Six rows of 65001 logits, a history of 40 tokens, one thread. Microseconds a row and the ratio, rounds of both by turns,
are printed by

    python -m asv_benchmarks.benchmarks.bench_generation_rows

first of the processors and the choice alone, then of the whole loops of both, ``generate`` with a model that has its
logits already; the time that these take is taken away.
"""

from __future__ import annotations

import statistics
import time
import warnings
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
    from numba_nlp.kernels.generation import row_rules, row_selection, row_values, sampling
    from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules

    # compiled code knows functions by their own names only
    apply_rules, log_sum_exp_by_blocks = row_rules.apply_rules, row_values.log_sum_exp_by_blocks
    largest, select_changed, sample_row = row_values.largest, row_selection.select_changed, sampling.sample_row

    @njit(nogil=True)
    def greedy(logits, histories, source, rules, scratch, tokens, values, indices):
        for row in range(logits.shape[0]):
            apply_rules(logits[row], 0.0, histories[row], 0, FILLED, source, rules, scratch.saved)
            tokens[row] = largest(logits[row])

    @njit(nogil=True)
    def beams(logits, histories, source, rules, scratch, tokens, values, indices):
        for row in range(logits.shape[0]):
            shift = log_sum_exp_by_blocks(logits[row], scratch.maxima)
            apply_rules(logits[row], shift, histories[row], 0, FILLED, source, rules, scratch.saved)
            select_changed(logits[row], values.shape[1], scratch.maxima, values[row], indices[row])

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


#: Name -> options of whole loops, in which no row ends.
LOOPS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beams": {"num_beams": ROWS},
    "beams, rules": {"num_beams": ROWS, "no_repeat_ngram_size": 3, "bad_words_ids": [[PAD]], "min_new_tokens": 56},
    "beams, sampling": {"num_beams": ROWS, "do_sample": True, "top_k": 50, "temperature": 0.8},
    "sampling, top 50 nucleus": {"do_sample": True, "top_k": 50, "top_p": 0.9, "temperature": 0.8},
}
STEPS = 24


class _GivenLogits:
    """In place of the model's steps: other logits in each step, and the seconds that it takes to write them."""

    def __init__(self, logits: np.ndarray) -> None:
        self._given, self._logits, self._step, self.seconds = logits, logits.copy(), 0, 0.0

    def start(self) -> np.ndarray:
        return self.advance(None)

    def advance(self, tokens: Any, parents: Any = None) -> np.ndarray:
        start = time.perf_counter()
        # by one factor in each step, so that the same tokens in another order have another sum
        np.multiply(self._given, np.float32(1 + self._step / 128), out=self._logits)
        self._step += 1
        self.seconds += time.perf_counter() - start
        return self._logits

    def keep(self, prompts: np.ndarray) -> None:
        raise AssertionError("no row ends")


def our_loop(options: dict[str, Any]) -> Callable[[], tuple[np.ndarray, float]]:
    """A whole generation: tokens, or the scores of beams; and seconds a row and step."""
    from numba_nlp.generation.beam_search import search_beams
    from numba_nlp.generation.choice import choose_tokens
    from numba_nlp.generation.config import GenerationConfig
    from numba_nlp.generation.edits import RowEdits
    from numba_nlp.generation.plan import Plan
    from numba_nlp.generation.prompts import Rows

    logits, histories = draw_inputs()
    config = GenerationConfig.from_dict({"max_new_tokens": STEPS, "eos_token_id": EOS, "pad_token_id": PAD, **options})
    # rows of one prompt, or of as many prompts as there are rows
    prompts = histories[: 1 if config.num_beams > 1 else ROWS, :FILLED].astype(np.int64)
    least = FILLED + config.min_new_tokens if config.min_new_tokens is not None else config.min_length
    plan = Plan(config, Rows(prompts, None), None, SIZE, FILLED + STEPS, least, config.num_beams, PAD)

    def call() -> tuple[np.ndarray, float]:
        steps: Any = _GivenLogits(logits)
        edits = RowEdits(plan, (), None)
        start = time.perf_counter()
        if config.num_beams > 1:
            found = search_beams(steps, plan, edits, None, np.uint64(1))[1]
        else:
            found = choose_tokens(steps, plan, edits, None, None, np.uint64(1))[0]
        return found, (time.perf_counter() - start - steps.seconds) / STEPS / ROWS

    return call


def their_loop(options: dict[str, Any]) -> Callable[..., tuple[np.ndarray, float]]:
    """The same with ``generate`` of transformers."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.modeling_outputs import CausalLMOutput

    torch.set_num_threads(1)
    logits, histories = draw_inputs()
    steps: Any = _GivenLogits(logits)

    class Given(GPT2LMHeadModel):
        def forward(self, input_ids: Any = None, **kwargs: Any) -> Any:
            return CausalLMOutput(logits=torch.from_numpy(steps.advance(None))[: len(input_ids), None])

    # the embedding is not used: a small one
    config = GPT2Config(vocab_size=2, n_embd=2, n_head=1, n_layer=1, bos_token_id=0, eos_token_id=None)
    model: Any = Given(config).eval()
    model.config.vocab_size = SIZE
    beams = options.get("num_beams", 1)
    settings = {"top_k": None, "eos_token_id": EOS, "pad_token_id": PAD, "max_new_tokens": STEPS} | options
    settings |= {"return_dict_in_generate": True, "use_cache": False}
    prompts = torch.from_numpy(histories[: 1 if beams > 1 else ROWS, :FILLED]).long()
    mask = torch.ones_like(prompts)

    def call(scores: bool = False) -> tuple[np.ndarray, float]:
        steps.__init__(logits)
        torch.manual_seed(1)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            out = model.generate(prompts, attention_mask=mask, output_scores=scores, **settings)
            elapsed = time.perf_counter() - start
        found = out.sequences_scores if scores else out.sequences
        return found.numpy(), (elapsed - steps.seconds) / STEPS / ROWS

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


def report(case: str, seconds: list[list[float]]) -> None:
    """Print how many times as long the first takes as the second, by medians and by the quickest rounds."""
    theirs, mine = (statistics.median(taken) for taken in seconds)
    print(
        f"{case:26} ours {mine * 1e6:6.1f} microseconds a row, transformers {theirs * 1e6:7.1f}   "
        f"transformers / ours: medians {theirs / mine:.1f}, quickest {min(seconds[0]) / min(seconds[1]):.1f}",
        flush=True,
    )


def ratios(rounds: int = 40) -> None:
    """Processors and choice; tokens of greedy search are compared, and the best candidates of all beams."""
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
                taken.append((time.perf_counter() - start) / ROWS)
        report(case, seconds)


def loop_ratios(rounds: int = 15) -> None:
    """Whole loops; tokens are compared where none is drawn, of beams their scores: many rows are as good as others."""
    for case, options in LOOPS.items():
        calls = [their_loop(options), our_loop(options)]
        found = [calls[0](scores="num_beams" in options)[0], calls[1]()[0]]
        if "do_sample" not in options:
            np.testing.assert_allclose(*found, rtol=1e-5)
        seconds: list[list[float]] = [[], []]
        for _ in range(rounds):
            for call, taken in zip(calls, seconds, strict=True):
                taken.append(call()[1])
        report(f"loop: {case}", seconds)


if __name__ == "__main__":
    ratios()
    loop_ratios()
