"""Philox: the vectors published with it, the twin's numbers, and no visible order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.generation import counter_random as kernels
from numba_nlp.reference.generation import counter_random as plain

words = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**31, 2**32, 2**63, 2**64 - 1]))
places = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**31, 2**32 - 1]))


def join(*parts: int) -> int:
    """A number of two words, the first one below."""
    return parts[0] | parts[1] << 32


# Words of counter, key and result, as in file kat_vectors of the authors' library Random123.
@pytest.mark.parametrize(
    ("counter", "key", "result"),
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_published_vectors(counter, key, result):
    expected = join(*result[:2]), join(*result[2:])
    arguments = join(*counter[:2]), join(*counter[2:]), join(*key)
    assert plain.philox(*arguments) == expected
    found = kernels.philox(*map(np.uint64, arguments))
    assert tuple(map(int, found)) == expected


@given(seed=words, row=words, step=places, lane=places)
def test_numbers_are_those_of_the_twin(seed, row, step, lane):
    found = float(kernels.uniform(np.uint64(seed), np.uint64(row), step, lane))
    assert found == plain.uniform(seed, row, step, lane)
    assert 0 < found < 1


def test_numbers_are_even_in_each_direction():
    """Means and correlation of neighbours, each within four standard deviations."""
    n = 3000
    for direction in range(4):
        numbers = []
        for i in range(n):
            place = [0, 0, 0, 0]
            place[direction] = i
            numbers.append(float(kernels.uniform(np.uint64(place[0]), np.uint64(place[1]), *place[2:])))
        centred = np.array(numbers) - 0.5
        assert abs(centred.mean()) < 4 * (1 / 12 / n) ** 0.5
        assert abs((centred[1:] * centred[:-1]).mean()) < 4 / 12 / n**0.5


def keys_of(ids, mask, copies, module=kernels):
    keys = np.zeros(len(ids) * copies, np.uint64)
    module.row_keys(np.array(ids, np.int32), np.array(mask, np.uint8), copies, keys)
    return keys.tolist()


@given(data=st.data(), rows=st.integers(1, 5), width=st.integers(0, 4), copies=st.integers(1, 3))
def test_keys_are_those_of_the_twin(data, rows, width, copies):
    cells = st.lists(st.lists(st.integers(0, 2), min_size=width, max_size=width), min_size=rows, max_size=rows)
    ids = np.array(data.draw(cells), np.int32).reshape(rows, width)
    mask = np.array(data.draw(cells), np.uint8).reshape(rows, width)
    found = keys_of(ids, mask, copies)
    assert found == keys_of(ids, mask, copies, plain)
    assert len(set(found)) == rows * copies


def test_keys_go_with_the_prompt():
    ids = [[0, 5, 6], [7, 8, 9], [5, 6, 0]]
    mask = [[0, 1, 1], [1, 1, 1], [1, 1, 0]]
    keys = keys_of(ids, mask, 2)
    # another order, more padding, another batch
    assert keys_of(ids[1::-1], mask[1::-1], 2) == keys[2:4] + keys[:2]
    assert keys_of([[0, 0, 0, 5, 6]], [[0, 0, 0, 1, 1]], 2) == keys[:2]
    assert keys_of([[7, 8, 9]], [[1, 1, 1]], 1) == keys[2:3]
    # the third prompt is the first one again
    assert keys[4:] != keys[:2]
    assert keys_of([[5, 6], [5, 6]], [[1, 1], [1, 1]], 1) == [keys[0], keys[4]]
