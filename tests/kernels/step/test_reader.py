"""Reading of many tokens at once against its twin: encoders, and prompts whose rows go on."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from numba_nlp.generation.step_memory import new_read_scratch, new_row_memory, new_step_scratch, no_sources
from numba_nlp.kernels.step.decoder import decoder_step
from numba_nlp.kernels.step.places import list_places
from numba_nlp.kernels.step.reader import QUERIES, read_rows, row_parts
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.kernels.step.team import new_team_state
from numba_nlp.reference.step import decoder as twin_step
from numba_nlp.reference.step import reader as twin
from tests.kernels.step.random_weights import FLAGS, LAYERS, VOCABULARY, WIDTH, draw_weights, plain_weights

#: Norms first or not, with or without mean, gates, norms at the edges, and bias: each beside each of the others.
CASES = [(0, 0, 0, 0, 0), (0, 1, 1, 0, 1), (1, 0, 1, 1, 0), (1, 1, 0, 1, 1)]


def draw(number, random, kind):
    a, b, c, d, e = map(bool, CASES[number])
    flags = dict(zip(FLAGS, (a, b, c, False, d, e, a ^ b), strict=True))
    return draw_weights(random, kind, "silu" if number % 2 else "gelu", **flags)


def read(weights, kind, hidden, lengths, columns, memory, *, causal, n_threads=1):
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scratch = new_read_scratch(weights, len(hidden), max(lengths), n_threads, kind)
    team = new_team_state()
    given = team, starts, columns, np.arange(len(lengths), dtype=np.int32), causal, weights, memory, scratch, hidden
    with ThreadPoolExecutor(n_threads) as executor:
        jobs = [executor.submit(read_rows, thread, n_threads, *given) for thread in range(n_threads)]
        assert [job.result() for job in jobs] == [0] * n_threads
    return starts


@pytest.mark.parametrize("number", range(len(CASES)))
def test_encoders(number):
    """Rows shorter and longer than a block, and gaps between columns."""
    random = np.random.default_rng(number)
    weights = draw(number, random, "float32")
    if weights.distances.shape[1]:
        weights = weights._replace(distances=random.standard_normal((weights.heads, 9)).astype(np.float32))
    lengths = [1, 5, QUERIES + 20]
    columns = np.concatenate([np.sort(random.permutation(n + 3)[:n]) for n in lengths]).astype(np.int32)
    hidden = random.standard_normal((sum(lengths), WIDTH)).astype(np.float32)
    given = hidden.copy()
    nothing = new_row_memory(weights, np.ones((0, 0), bool), 1, 0)
    starts = read(weights, "float32", hidden, lengths, columns, nothing, causal=False)
    plain = plain_weights(weights, "float32")
    for first, last in itertools.pairwise(starts):
        expected = twin.read_row(
            given[first:last], columns[first:last], False, plain, "silu" if number % 2 else "gelu", "float32", COLUMNS
        )[0]
        np.testing.assert_allclose(hidden[first:last], expected, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize(
    ("number", "kind"), [(3, "float32"), (1, "float32"), (3, "float16"), (3, "int8"), (3, "int16")]
)
def test_prompts_and_what_follows(number, kind):
    """Keys and values that are kept are those that a step needs."""
    random = np.random.default_rng(number)
    weights = draw(number, random, kind)._replace(position_padding=-1)
    activation = "silu"
    mask = np.array([[True, True, False, True, True], [False, False, True, True, True]])
    memory = new_row_memory(weights, mask, 1, 1)
    rows, columns = np.nonzero(mask)
    hidden = random.standard_normal((len(rows), WIDTH)).astype(np.float32)
    given, lengths = hidden.copy(), mask.sum(1).tolist()
    starts = read(weights, kind, hidden, lengths, columns.astype(np.int32), memory, causal=True)
    close = {"int8": 0.15, "int16": 2e-3}.get(kind, 2e-4)
    plain = plain_weights(weights, kind)
    followed = []
    for row, (first, last) in enumerate(itertools.pairwise(starts)):
        seen = columns[first:last]
        expected, keys, values = twin.read_row(given[first:last], seen, True, plain, activation, kind, COLUMNS)
        np.testing.assert_allclose(hidden[first:last], expected, atol=close, rtol=close)
        held = twin_step.Row(LAYERS)
        held.keys, held.values = [list(each) for each in keys], [list(each) for each in values]
        held.columns, held.counted = seen.tolist(), len(seen)
        followed.append(twin_step.decoder_step(3 + row, 5, held, plain, activation, kind, COLUMNS))
    memory.counted[0] = lengths
    tokens, groups = np.array([3, 4]), np.arange(2, dtype=np.int32)
    logits = np.zeros((2, VOCABULARY), np.float32)
    list_places(tokens, groups, 1, 5, 0, weights, memory)
    scratch = new_step_scratch(weights, 2, 1, 6, 0, 1, kind)
    assert decoder_step(0, 1, new_team_state(), tokens, groups, 1, weights, memory, no_sources(), scratch, logits) == 0
    np.testing.assert_allclose(logits, followed, atol=close, rtol=close)


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [2, 3, 5])
def test_threads_change_nothing(n_threads):
    """With few tokens they share panels, with many rows of tokens, with an odd number of them both."""
    random = np.random.default_rng(0)
    weights = draw(3, random, "float32")
    nothing = new_row_memory(weights, np.ones((0, 0), bool), 1, 0)
    for lengths in ([3, 4], [60, 50]):
        columns = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
        given = random.standard_normal((sum(lengths), WIDTH)).astype(np.float32)
        found = [given.copy(), given.copy()]
        for hidden, threads in zip(found, (1, n_threads), strict=True):
            read(weights, "float32", hidden, lengths, columns, nothing, causal=False, n_threads=threads)
        assert (found[0] == found[1]).all()


def test_parts_of_rows():
    assert [int(row_parts(n, 4)) for n in (1, QUERIES, 2 * QUERIES, 100 * QUERIES)] == [1, 1, 2, 4]
