"""What the machine allows: how fast it multiplies and reads, and how long generations take at least.

::

    python -m asv_benchmarks.generation_limits --record docs/results/generation_limits.json

measures both, on one thread if ``OPENBLAS_NUM_THREADS=1`` keeps NumPy to it; :func:`least_seconds` has the arithmetic.
A step with float32 weights cannot be quicker
than these can be read from memory once (no cache holds them), nor than its multiplications take at the rate of the
quickest product of a library.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .benchmarks.generation_models import CASES, GenerationCase

__all__ = ["Work", "least_seconds", "main", "measure", "work_of", "works"]

#: Bytes that are read to measure reading: many times any cache.
_READ = 1 << 30
#: Rows, columns and depth of the products that measure multiplying.
_SIZES = (256, 512, 1024, 2048)


@dataclass(frozen=True)
class Work:
    """What a generation must do, attention left out, which is little.

    Attributes
    ----------
    source : float
        Multiplications and additions of all that is done once: encoder, keys and values of sources, prompts.
    weights : int
        Numbers in the matrices that a step reads, each for one multiplication and one addition a row.
    steps : int
        Of all rows; the first token comes from a step of one row a sentence.
    rows : int
        Of these steps.
    sentences : int
    """

    source: float
    weights: int
    steps: int
    rows: int
    sentences: int


def work_of(case: GenerationCase, config: Any) -> Work:
    """Count the work of a case.

    Parameters
    ----------
    case : GenerationCase
    config : PretrainedConfig
        Of transformers.
    """
    tokens, rows = sum(case.lengths), len(case.lengths) * case.beams
    if case.decoder_only:
        width = config.n_embd
        layers = config.n_layer * 12 * width * width
        weights = layers + config.vocab_size * width
        # a prompt is read once for all its beams, and its last token is the first step
        return Work(2.0 * layers * (tokens - len(case.lengths)), weights, case.new_tokens - 1, rows, len(case.lengths))
    width = config.d_model
    if hasattr(config, "d_ff"):  # T5
        inner = config.num_heads * config.d_kv
        attention, ffn = 4 * width * inner, 2 * width * config.d_ff
        encoder = config.num_layers * (attention + ffn)
        decoder_layers = config.num_decoder_layers
        crossed = 2 * width * inner
        layer = attention + crossed + ffn
    else:
        attention = 4 * width * width
        encoder = config.encoder_layers * (attention + 2 * width * config.encoder_ffn_dim)
        decoder_layers = config.decoder_layers
        crossed = 2 * width * width
        layer = attention + crossed + 2 * width * config.decoder_ffn_dim
    weights = decoder_layers * layer + config.vocab_size * width
    source = 2.0 * tokens * (encoder + decoder_layers * crossed)
    return Work(source, weights, case.new_tokens - 1, rows, len(case.lengths))


def least_seconds(work: Work, limits: dict[str, float], bytes_a_weight: int) -> float:
    """Seconds on one thread below which no generation is, whose products are of float32.

    Parameters
    ----------
    work : Work
    limits : dict
        ``flops`` and ``bytes``, a second.
    bytes_a_weight : int
        As they lie in memory.
    """
    reading = work.weights * bytes_a_weight / limits["bytes"]
    first, step = (max(2 * work.weights * n / limits["flops"], reading) for n in (work.sentences, work.rows))
    return work.source / limits["flops"] + first + work.steps * step


def _quickest(call: Callable[[], Any], rounds: int = 7) -> float:
    call()
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def measure() -> dict[str, float]:
    """Operations and bytes a second: the best of torch's and NumPy's products, and of sums of a large array."""
    import torch
    from numba import njit

    @njit(fastmath=True, nogil=True)
    def total(values: np.ndarray) -> float:
        found = np.float32(0.0)
        for value in values:
            found += value
        return found

    torch.set_num_threads(1)
    rates = []
    for size in _SIZES:
        left, right, out = (np.ones((size, size), np.float32) for _ in range(3))
        for multiply, arrays in (
            (torch.mm, [torch.from_numpy(a) for a in (left, right, out)]),
            (np.dot, [left, right, out]),
        ):
            rates.append(2 * size**3 / _quickest(partial(multiply, *arrays[:2], out=arrays[2])))
    values = np.ones(_READ // 4, np.float32)
    return {"flops": max(rates), "bytes": _READ / min(_quickest(lambda: total(values)), _quickest(values.max))}


def works() -> dict[str, dict[str, float]]:
    """The work of each case, as a dict."""
    import transformers

    found = {}
    for name, case in CASES.items():
        config = getattr(transformers, case.architecture).config_class(**case.configuration)
        found[name] = asdict(work_of(case, config))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write a file if asked to."""
    from .machine import machine

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args(arguments)
    limits = measure()
    print(f"{limits['flops'] / 1e9:.1f} Gflop/s, {limits['bytes'] / 1e9:.1f} GB/s, one thread")
    if options.record:
        found = {"machine": machine(), "limits": limits, "works": works()}
        options.record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
