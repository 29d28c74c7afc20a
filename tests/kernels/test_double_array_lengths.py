"""Whether a double array from elsewhere spells keys of the lengths that their values say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables.double_array import UNITS_BASE, UNITS_SOUND, check_lengths, check_units
from vocab_tools.compiler.double_array import build_double_array

keys = st.sets(st.binary(min_size=1, max_size=6), min_size=1, max_size=20).map(sorted)


def lengths_are_right(units, lengths) -> bool:
    status = check_lengths(units, np.array(lengths, np.int64), np.empty(units.size, np.int32))
    assert status in (UNITS_SOUND, UNITS_BASE)
    return status == UNITS_SOUND


@given(keys)
def test_what_is_built_is_right(found):
    units = build_double_array(found, np.arange(len(found)))
    assert lengths_are_right(units, [len(key) for key in found])


@given(keys, st.data())
def test_other_lengths_are_refused(found, data):
    units = build_double_array(found, np.arange(len(found)))
    lengths = [len(key) for key in found]
    wrong = data.draw(st.integers(0, len(found) - 1))
    lengths[wrong] = data.draw(st.integers(0, 9).filter(lambda n: n != lengths[wrong]))
    assert not lengths_are_right(units, lengths)


@given(keys, st.data())
def test_changed_units_never_spell_another_length(found, data):
    """Whatever passes both checks can be walked only to values of keys that are as long as the walk."""
    units = build_double_array(found, np.arange(len(found))).copy()
    used = np.flatnonzero(units != 0xFFFFFFFF)
    at = int(data.draw(st.sampled_from(used.tolist())))
    units[at] ^= np.uint32(1 << data.draw(st.integers(0, 31)))
    lengths = np.array([len(key) for key in found], np.int64)
    if check_units(units, len(found)) != UNITS_SOUND or not lengths_are_right(units, lengths):
        return
    pending, seen = [(0, 0)], 0
    while pending:
        node, depth = pending.pop()
        unit = int(units[node])
        base = unit >> 9
        if unit & 0x100:
            assert lengths[int(units[base ^ 256]) & 0x7FFFFFFF] == depth
        seen += 1
        assert seen <= units.size
        pending += [(base ^ b, depth + 1) for b in range(256) if int(units[base ^ b]) & 0x800000FF == b]


@pytest.mark.parametrize("label", [1, 255])
def test_nothing_leads_to_the_root(label):
    units = build_double_array([b"a"], [0]).copy()
    units[0] |= np.uint32(label)
    assert not lengths_are_right(units, [1])
