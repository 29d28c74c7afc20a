"""Our encoder inside a compiled function of yours: ``python -m examples.with_numba``.

Counts how often one token follows another, row by row, without ever keeping the ids of a corpus.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

import numba_nlp as nlp
import vocab_tools
from examples.checking import check
from numba_nlp.kernels.segment.bpe import encode_rows_gpt2
from numba_nlp.kernels.tables.word_cache import SPARE_IDS

DATA = Path(__file__).resolve().parent / "data"


@njit(nogil=True)
def count_pairs(tables, cache, data, starts, ends, no_special, scratch, ids, offsets, counts):
    """Add to ``counts[left % n, right % n]`` for all neighbours; returns the number of ids, or what is wrong."""
    total = 0
    for row in range(starts.size):
        n = encode_rows_gpt2(
            tables, cache, data, starts[row : row + 1], ends[row : row + 1], no_special, 0, 1, scratch, ids, offsets, 0
        )
        if n < 0:  # a word of -n bytes, for which the scratch memory is too small
            return n
        for i in range(n - 1):
            counts[ids[i] % counts.shape[0], ids[i + 1] % counts.shape[1]] += 1
        total += n
    return total


def main() -> None:
    """Count the pairs of the play, and compare with the ids of the tokenizer."""
    tok = nlp.Tokenizer(vocab_tools.compile([DATA / "gpt2/vocab.json", DATA / "gpt2/merges.txt"]))
    rows = nlp.TextRows.from_file(DATA / "hamlet_gut.txt")
    tables, cache, scratch = tok.kernel_memory()
    longest = int((rows.ends - rows.starts).max())
    ids, offsets = np.empty(longest + SPARE_IDS, np.int32), np.zeros(2, np.int64)
    counts = np.zeros((1 << 10, 1 << 10), np.int64)
    total = count_pairs(
        tables, cache, rows.data, rows.starts, rows.ends, np.empty(0, np.int32), scratch, ids, offsets, counts
    )
    print(f"{total:,} tokens, {counts.sum():,} pairs")

    batch = tok.encode_batch(rows)
    expected = np.zeros_like(counts)
    inner = np.ones(batch.n_values - 1, bool)  # no pair reaches from one row into the next
    inner[batch.offsets[1:-1][(batch.offsets[1:-1] > 0) & (batch.offsets[1:-1] < batch.n_values)] - 1] = False
    left, right = batch.values[:-1][inner] % 1024, batch.values[1:][inner] % 1024
    np.add.at(expected, (left, right), 1)
    check("tokens", int(total == batch.n_values), 1)
    check("counts", int((counts == expected).sum()), counts.size, least=1)


if __name__ == "__main__":
    main()
