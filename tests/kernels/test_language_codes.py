"""Codes of languages at the beginning of texts: the kernel against its plain twin."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.language_codes import split_codes
from numba_nlp.reference.segment import language_codes as twin
from vocab_tools.compiler.double_array import build_double_array

CODES = {">>fra<<": 7, ">>\u00e9<<": 8, ">><<": 9}
UNITS = build_double_array(sorted(code.encode() for code in CODES), [9, 7, 8])
texts = st.lists(st.sampled_from([">", "<", ">>", "<<", ">>fra<<", "\u00e9", "a"]), max_size=6).map("".join)
parts = st.one_of(st.integers(0, 5), texts)


def split(units: np.ndarray, rows: list[list[str | int]]) -> list[list[str | int]]:
    """The rows through the kernel."""
    flat = [part for row in rows for part in row]
    contents = [b"" if isinstance(part, int) else part.encode() for part in flat]
    data = np.frombuffer(b"".join(contents), np.uint8)
    bounds = np.cumsum([0, *map(len, contents)])
    fixed = np.array([part if isinstance(part, int) else -1 for part in flat], np.int32)
    first_of_row = np.cumsum([0, *map(len, rows)])
    room = 2 * len(flat)
    out = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int32)
    out_first = np.full(first_of_row.size, -9)
    n = split_codes(units, 3, data, bounds[:-1], bounds[1:], fixed, first_of_row, *out, out_first)
    assert out_first[-1] == n
    made = [
        int(number) if number >= 0 else bytes(data[start:stop]).decode()
        for start, stop, number in zip(*(array[:n] for array in out), strict=True)
    ]
    return [made[a:b] for a, b in itertools.pairwise(out_first)]


@given(st.lists(st.lists(parts, max_size=4), max_size=4))
@example([[">>fra<< a", 2, ">>fra<<", ">>", "<<"], [], [">><<"], [">><"], [">>a"], ["a>>fra<<"]])
def test_codes_are_cut_off(rows):
    assert split(UNITS, rows) == twin.split_codes(CODES, 3, rows)
    assert split(UNITS[:0], rows) == twin.split_codes({}, 3, rows)
