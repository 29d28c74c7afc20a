"""Double arrays: the same as a dictionary, for any keys; walks that stay inside for any units that pass the check."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables import double_array as kernels
from numba_nlp.kernels.tables import double_array_build as build
from numba_nlp.reference.tables import double_array as plain
from vocab_tools.compiler.double_array import build_double_array

parts = st.one_of(
    st.binary(min_size=1, max_size=6),
    st.text("ab\u2581", min_size=1, max_size=5).map(str.encode),
    st.lists(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]), min_size=1, max_size=4).map(bytes),
)
key_sets = st.sets(parts, max_size=60).map(sorted)


@kernel
def step(units, node, byte):
    return kernels.step(units, node, byte)


@kernel
def value_at(units, node):
    return kernels.value_at(units, node)


def search(units, text: bytes, room: int = 40) -> list[tuple[int, int]]:
    lengths, values = np.full(room, -7, np.int64), np.full(room, -7, np.int32)
    n = int(kernels.common_prefix_search(units, np.frombuffer(text, np.uint8), 0, len(text), lengths, values))
    written = min(n, room)
    assert (lengths[written:] == -7).all()
    assert (values[written:] == -7).all()
    return list(zip(lengths[:written].tolist(), values[:written].tolist(), strict=True))


@given(keys=key_sets, texts=st.lists(parts, max_size=10), rest=parts)
def test_searches_are_those_of_a_dictionary(keys, texts, rest):
    values = [(7 * i + 3) % 1000 for i in range(len(keys))]
    units = build_double_array(keys, values)
    units.flags.writeable = False
    assert kernels.check_units(units, 1000) == kernels.UNITS_SOUND
    table = plain.fill_units(keys, values)
    for text in [b"", *texts, *keys, *(key + rest for key in keys)]:
        data = np.frombuffer(b"?" + text, np.uint8)
        assert kernels.find(units, data, 1, len(data)) == plain.find(table, text)
        assert search(units, text) == plain.common_prefix_search(table, text)
        assert tuple(kernels.longest_prefix(units, data, 1, len(data))) == plain.longest_prefix(table, text)
        for first in range(min(len(text), 3) + 1):
            node, walked = kernels.ROOT, text[:first]
            for byte in walked:
                node = int(kernels.step(units, node, byte)) if node >= 0 else node
            if node >= 0:
                found = kernels.longest_below(units, node, data, first + 1, len(data))
                value, end = plain.longest_below(table, walked, text, first, len(text))
                assert tuple(found) == (value, end + 1)


@given(keys=key_sets)
def test_every_step(keys):
    table = plain.fill_units(keys, range(len(keys)))
    units = build_double_array(keys, range(len(keys)))
    waiting = [(kernels.ROOT, plain.ROOT)]
    while waiting:
        node, walked = waiting.pop()
        assert value_at(units, node) == plain.value_at(table, walked)
        for byte in {0, 255, *(key[len(walked)] for key in keys if len(key) > len(walked))}:
            child, expected = int(step(units, node, byte)), plain.step(table, walked, byte)
            assert (child < 0) == (expected is None)
            if expected is not None:
                waiting.append((child, expected))


@given(keys=st.lists(parts | st.just(b""), max_size=12))
def test_nodes_are_counted(keys):
    data = np.frombuffer(b"".join(keys) + b"\0", np.uint8)
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    assert build.count_nodes(data, offsets) == plain.count_nodes(keys)
    ordered = sorted({key for key in keys if key})
    data = np.frombuffer(b"".join(ordered) + b"\0", np.uint8)
    offsets = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
    assert build.count_nodes(data, offsets) == plain.count_nodes(ordered)


def test_every_byte_follows_every_byte():
    keys = [bytes([a, b]) for a in range(0, 256, 5) for b in range(256)]
    units = build_double_array(keys, range(len(keys)))
    assert kernels.check_units(units, len(keys)) == kernels.UNITS_SOUND
    for value, key in enumerate(keys):
        assert kernels.find(units, np.frombuffer(key, np.uint8), 0, 2) == value
    assert kernels.find(units, np.frombuffer(b"\x01\x01", np.uint8), 0, 2) == -1


def test_no_keys():
    units = build_double_array([], [])
    assert units.size == kernels.BLOCK
    assert search(units, b"\0\0") == []


def test_results_that_do_not_fit_are_counted():
    units = build_double_array([b"a" * n for n in range(1, 9)], range(8))
    assert search(units, b"a" * 20, room=3) == [(1, 0), (2, 1), (3, 2)]
    lengths = np.empty(3, np.int64)
    data = np.frombuffer(b"a" * 20, np.uint8)
    assert kernels.common_prefix_search(units, data, 0, 20, lengths, np.empty(3, np.int32)) == 8


def test_values_of_31_bits():
    units = build_double_array([b"a", b"ab"], [2**31 - 1, 0])
    assert search(units, b"abc") == [(1, 2**31 - 1), (2, 0)]
    assert kernels.check_units(units, 2**31) == kernels.UNITS_SOUND
    assert kernels.check_units(units, 2**31 - 1) == kernels.UNITS_VALUE


@pytest.mark.parametrize("size", [0, 1, 511, 513])
def test_units_of_a_wrong_size(size):
    assert kernels.check_units(np.zeros(size, np.uint32), 10) == kernels.UNITS_SIZE


def test_units_without_a_root():
    assert kernels.check_units(np.full(512, 0xFFFFFFFF, np.uint32), 10) == kernels.UNITS_SIZE


def test_damaged_units_are_refused_or_harmless():
    """Any change of a unit: found by the check, or walks stay inside and values below."""
    keys = sorted({bytes(random.Random(i).choices(b"abc", k=4)) for i in range(30)})
    sound = build_double_array(keys, range(len(keys)))
    r = random.Random(0)
    text = np.frombuffer(bytes(r.choices(b"abc", k=50)), np.uint8)
    found = set()
    for _ in range(400):
        units = sound.copy()
        place = r.randrange(units.size) if r.random() < 0.5 else int(r.choice(np.flatnonzero(sound != 0xFFFFFFFF)))
        units[place] = r.choice((r.getrandbits(32), int(units[place]) ^ 1 << r.randrange(32)))
        status = int(kernels.check_units(units, len(keys)))
        found.add(status)
        if status != kernels.UNITS_SOUND:
            continue
        lengths, values = np.empty(50, np.int64), np.empty(50, np.int32)
        for start in range(50):
            n = kernels.common_prefix_search(units, text, start, 50, lengths, values)
            assert ((values[:n] >= 0) & (values[:n] < len(keys))).all()
    assert found == {kernels.UNITS_SOUND, kernels.UNITS_SIZE, kernels.UNITS_BASE, kernels.UNITS_VALUE}


def test_too_few_units():
    keys = [bytes([a, b]) for a in range(8) for b in range(256)]
    data = np.frombuffer(b"".join(keys), np.uint8)
    offsets = np.arange(0, 2 * len(keys) + 1, 2, dtype=np.int64)
    room = 2 * kernels.BLOCK
    scratch = [np.empty(room, np.uint8), np.empty(room + 1, np.int32), np.empty(room + 1, np.int32)]
    queue = np.empty((int(build.count_nodes(data, offsets)), 4), np.int32)
    values = np.zeros(len(keys), np.int32)
    used = build.fill_units(data, offsets, values, np.empty(room, np.uint32), *scratch, queue, np.empty(257, np.int32))
    assert used == build.UNITS_FULL
