"""Equal prompts of a call are counted by their numbers, in whatever parts they are told, and told again."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.pipelines.prompt_counts import PromptCounts


@given(st.lists(st.integers(0, 3), max_size=30), st.randoms(use_true_random=False))
def test_counts_are_those_of_the_rows_before(kinds: list[int], draw: random.Random) -> None:
    prompts = [np.arange(kind + 1, dtype=np.int32) for kind in kinds]
    expected = [kinds[:number].count(kind) for number, kind in enumerate(kinds)]
    counts = PromptCounts()
    first = 0
    while first < len(kinds):
        last = draw.randint(first + 1, len(kinds))
        for _ in range(draw.randint(1, 3)):  # again, as a whole or its end alone, as after a failure
            begin = draw.randint(first, last - 1)
            for start in (first, begin):
                found = counts.count(prompts[start:last], range(start, last))
                assert found.tolist() == expected[start:last]
        first = last


def test_prompts_are_told_by_their_ids_alone() -> None:
    counts = PromptCounts()
    whole = np.array([5, 6, 5, 6], np.int32)
    assert counts.count([whole[:2], whole[2:], np.array([5, 6], np.int32), whole], range(4)).tolist() == [0, 1, 2, 0]
