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


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 255), max_size=40).map(bytes))
def test_no_look_up_leaves_a_sound_array(seed, text):
    """Units at random, as far as the rules allow, labels such that many match: the twin would raise IndexError."""
    n_values = 50
    generator = np.random.default_rng(seed)
    units = generator.integers(0, 2**18, 256) & 0x3FCFF
    places = np.arange(256)
    units[::3] = (units[::3] & ~0xFF) | (places[::3] ^ text[0] if text else 0)
    units = np.where(generator.random(256) < 0.3, generator.integers(0, n_values, 256) | 0x80000000, units)
    units[0] &= 0x3FC00
    bases = places ^ (units >> 10)
    may_end = (units < 2**31) & (places > 0)
    may_end[may_end] = units[bases[may_end]] >= 2**31
    array = np.where(may_end, units | 0x100, units).astype(np.uint32)
    assert darts.first_bad_unit(array, n_values) == plain.first_bad_unit(array, n_values) == -1
    data = np.frombuffer(text, np.uint8)
    for start in range(len(text)):
        expected = plain.longest_match(array, data, start, len(text), 9)
        assert tuple(darts.longest_match(array, data, start, len(text), 9)) == expected
        assert expected[1] < n_values


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
