"""The program that ``docs/profiling.md`` looks into: tokens drawn from rows of logits, for four seconds."""

from __future__ import annotations

import time

import numpy as np

from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules
from numba_nlp.kernels.generation.sampling import sample_row

SIZE = 50257

if __name__ == "__main__":
    row = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    rules, scratch = make_rules(top_k=50), make_row_scratch(SIZE, 50)
    work = row.copy()
    sample_row(work, rules, np.uint64(1), np.uint64(0), 0, scratch)
    end, step = time.perf_counter() + 4.0, 0
    while time.perf_counter() < end:
        work[:] = row
        sample_row(work, rules, np.uint64(1), np.uint64(0), step, scratch)
        step += 1
    print(f"{step} tokens")
