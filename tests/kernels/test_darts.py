"""Darts double arrays: look-ups agree with the twin and with the keys; unsound arrays are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables import darts
from numba_nlp.reference.tables import darts as plain
from vocab_tools.formats.darts import build

keys = st.dictionaries(
    st.lists(st.sampled_from([1, 2, 97, 128, 255]), min_size=1, max_size=5).map(bytes), st.integers(0, 99), max_size=12
)
texts = st.lists(st.sampled_from([0, 1, 2, 97, 98, 128, 255]), max_size=8).map(bytes)


@given(keys, texts, st.integers(0, 3), st.integers(1, 4))
def test_longest_match(keys, text, start, most):
    units = build(list(keys), list(keys.values()))
    data = np.frombuffer(text, np.uint8)
    start = min(start, len(text))
    found = [
        (n, keys[text[start : start + n]]) for n in range(1, len(text) - start + 1) if text[start : start + n] in keys
    ]
    expected = found[:most][-1] if found else (0, -1)
    assert tuple(darts.longest_match(units, data, start, len(text), most)) == expected
    assert plain.longest_match(units, data, start, len(text), most) == expected
    assert darts.first_bad_unit(units, 100) == -1


@given(st.integers(0, 2**32 - 1))
def test_offsets_agree_with_the_twin(unit):
    assert darts.unit_offset(unit) == plain.unit_offset(unit)


@given(keys, st.lists(st.tuples(st.integers(0, 255), st.integers(0, 2**32 - 1)), max_size=3), st.integers(0, 120))
def test_changed_units_are_judged_alike(keys, changes, n_values):
    units = build(list(keys), list(keys.values()))
    for index, unit in changes:
        units[index] = unit
    assert darts.first_bad_unit(units, n_values) == plain.first_bad_unit(units, n_values)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=256, max_size=256), texts)
def test_no_look_up_leaves_an_array_that_is_not_refused(units, text):
    """Every unit that can be reached is inside, so nothing here raises IndexError (twin) or reads elsewhere."""
    array = np.array(units, np.uint32) & np.uint32(0x8003FFFF)
    if plain.first_bad_unit(array, 2**31) < 0:
        data = np.frombuffer(text, np.uint8)
        expected = plain.longest_match(array, data, 0, len(text), 9)
        assert tuple(darts.longest_match(array, data, 0, len(text), 9)) == expected


@pytest.mark.parametrize("module", [darts, plain])
def test_unsound_arrays(module):
    sound = build([b"ab", b"b"], [3, 4])
    assert module.first_bad_unit(sound, 5) == -1
    assert module.first_bad_unit(sound[:200], 5) == 0
    assert module.first_bad_unit(sound, 4) > 0
    assert module.first_bad_unit(np.zeros(0, np.uint32), 1) == -1
    root = sound.copy()
    root[0] |= np.uint32(0x80000000)
    assert module.first_bad_unit(root, 5) == 0
    outside = sound.copy()
    outside[0] = np.uint32(256 << 10)
    assert module.first_bad_unit(outside, 5) == 0
    steps = sound.copy()
    steps[0] = np.uint32(1 << 10 | 1 << 9)
    assert module.first_bad_unit(steps, 5) == 0
