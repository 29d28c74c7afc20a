"""Random numbers by place: those of the twin, and without visible order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables import random_bits as kernels
from numba_nlp.reference.tables import random_bits as plain

words = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**31, 2**32, 2**63, 2**64 - 1]))


@given(seed=words, stream=words, counter=words)
def test_bits_are_those_of_the_twin(seed, stream, counter):
    key = np.uint64(seed), np.uint64(stream), np.uint64(counter)
    assert int(kernels.mix_bits(np.uint64(seed))) == plain.mix_bits(seed)
    assert int(kernels.random_bits(*key)) == plain.random_bits(seed, stream, counter)
    assert float(kernels.random_fraction(*key)) == plain.random_fraction(seed, stream, counter)


def test_fractions_are_even_in_each_direction():
    """Means and correlation of neighbours, each within four standard deviations."""
    n = 4000
    for place in range(3):
        numbers = []
        for i in range(n):
            key = [np.uint64(0)] * 3
            key[place] = np.uint64(i)
            numbers.append(float(kernels.random_fraction(*key)))
        centred = np.array(numbers) - 0.5
        assert 0 <= min(numbers) < max(numbers) < 1
        assert abs(centred.mean()) < 4 * (1 / 12 / n) ** 0.5
        assert abs((centred[1:] * centred[:-1]).mean()) < 4 / 12 / n**0.5
