from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables import counter_random
from numba_nlp.reference.tables import counter_random as twin

words = st.integers(0, 2**64 - 1)


@given(word=words)
def test_mix_bits(word):
    assert int(counter_random.mix_bits(np.uint64(word))) == twin.mix_bits(word)


@given(seed=words, stream=words)
def test_streams(seed, stream):
    state = np.zeros(2, np.uint64)
    counter_random.start_stream(np.uint64(seed), np.uint64(stream), state)
    expected = twin.start_stream(seed, stream)
    for _ in range(5):
        drawn = counter_random.draw_uniform(state)
        assert drawn == twin.draw_uniform(expected)
        assert 0 <= drawn < 1


def test_numbers_are_those_of_splitmix64():
    """With the key as its seed the stream is SplitMix64; the first numbers for seed 1234567, as published."""
    state = np.array([1234567, 0], np.uint64)
    published = (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431)
    assert [counter_random.draw_uniform(state) for _ in published] == [(word >> 11) / 2**53 for word in published]


def test_numbers_are_spread():
    state = np.zeros(2, np.uint64)
    drawn = []
    for stream in range(200):
        counter_random.start_stream(np.uint64(1), np.uint64(stream), state)
        drawn += [counter_random.draw_uniform(state) for _ in range(50)]
    counts, _ = np.histogram(drawn, bins=10, range=(0, 1))
    # chi-squared with nine degrees of freedom is above 33.7 once in 10,000
    assert ((counts - 1000.0) ** 2 / 1000).sum() < 33.7
    assert len(set(drawn)) == len(drawn)
