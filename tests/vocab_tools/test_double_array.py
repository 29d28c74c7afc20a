"""Building double arrays: what is refused, what is checked, and how long a quarter of a million keys take."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from numba_nlp.kernels.tables.double_array import BLOCK, find
from vocab_tools.compiler.double_array import build_double_array, check_double_array


@pytest.mark.parametrize("keys", [[b"b", b"a"], [b"a", b"a"], [b""], [b"ab", b"a"], [b"a", b"", b"b"]])
def test_keys_out_of_order(keys):
    with pytest.raises(ValueError, match="sorted and distinct"):
        build_double_array(keys, range(len(keys)))


@pytest.mark.parametrize("values", [[-1, 0], [0, 2**31], [0]])
def test_values_out_of_range(values):
    with pytest.raises(ValueError, match="`values`"):
        build_double_array([b"a", b"b"], values)


def test_damage_is_named():
    units = build_double_array([b"a", b"ab"], [0, 1])
    check_double_array("trie_units", units, 2)
    for damaged, problem in (
        (units[:-1], f"no multiple of {BLOCK}"),
        (units[:0], "no root"),
        (np.where(units == units[0], np.uint32(BLOCK << 9), units), "outside"),
    ):
        with pytest.raises(ValueError, match=problem) as caught:
            check_double_array("trie_units", damaged, 2)
        assert "`trie_units`" in str(caught.value)
    with pytest.raises(ValueError, match="too large"):
        check_double_array("trie_units", units, 1)


@pytest.mark.slow
def test_many_keys():
    r = random.Random(0)
    syllables = [bytes(r.choices(range(97, 123), k=r.choice((1, 2, 3)))) for _ in range(400)]
    keys = set()
    while len(keys) < 250_000:
        keys.add(b"".join(r.choices(syllables, k=r.randrange(1, 6))))
    ordered = sorted(keys)
    build_double_array(ordered[:10], range(10))
    started = time.perf_counter()
    units = build_double_array(ordered, range(len(ordered)))
    assert time.perf_counter() - started < 10
    check_double_array("units", units, len(ordered))
    assert (units == 0xFFFFFFFF).mean() < 0.2
    for i in r.sample(range(len(ordered)), 2000):
        key = np.frombuffer(ordered[i], np.uint8)
        assert find(units, key, 0, key.size) == i
