"""Model inputs by templates: the kernels against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import layout as kernels
from numba_nlp.reference.segment import layout as plain

TEMPLATES = ([-1], [5, -1, 6], [-1, -2], [-2, 7, 7, -1], [5, -1, 6, -2, 6], [-1, 3, 3])


def frozen(values: Any, dtype: Any = np.int64) -> Any:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


@st.composite
def some_inputs(draw: st.DrawFn) -> dict[str, Any]:
    template = draw(st.sampled_from(TEMPLATES))
    n = draw(st.integers(0, 5))
    values = [draw(st.lists(st.integers(0, 99), min_size=8, max_size=8)) for _ in range(2)]

    def ranges(present: bool) -> list[Any]:
        starts = draw(st.lists(st.integers(0, 8), min_size=n, max_size=n)) if present else [0] * n
        ends = [draw(st.integers(start, 8)) if present else 0 for start in starts]
        return [frozen(starts), frozen(ends)]

    windows = [*ranges(True), *ranges(-2 in template)]
    lengths = windows[1] - windows[0] + windows[3] - windows[2] + sum(part >= 0 for part in template)
    room = [draw(st.integers(0, 3)) for _ in range(n)]
    return {
        "template": frozen(template),
        "entries": frozen(draw(st.lists(st.integers(-9, 99), min_size=len(template), max_size=len(template)))),
        "values": [frozen(part, np.int32) for part in values],
        "windows": windows,
        "end": (draw(st.integers(-1, 9)), draw(st.booleans())),
        "offsets": frozen(np.cumsum([draw(st.integers(0, 2)), *(lengths + room)])),
    }


@given(some_inputs(), st.sampled_from([np.int32, np.int64]))
def test_layout_agrees_with_its_twin(case: dict[str, Any], dtype: Any) -> None:
    written = []
    for module in (kernels, plain):
        outs = [np.full(case["offsets"][-1] + 2, -77, dtype) for _ in range(2)]
        shared = case["template"], case["entries"]
        rest = *case["windows"], *case["end"], case["offsets"]
        n = [module.lay_values(*shared, *case["values"], *rest, outs[0]), module.lay_marks(*shared, *rest, outs[1])]
        written.append(([int(number) for number in n], [out.tolist() for out in outs]))
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("left", "expected"),
    [(False, [5, 1, 2, 6, 3, 6, 0, 0]), (True, [0, 0, 5, 1, 2, 6, 3, 6])],
)
def test_layout_by_hand(left: bool, expected: list[int]) -> None:
    template = frozen([5, -1, 6, -2, 6])
    values = frozen([9, 1, 2], np.int32), frozen([3], np.int32)
    windows = frozen([1]), frozen([3]), frozen([0]), frozen([1])
    out = np.zeros(8, np.int64)
    kernels.lay_values(template, template, *values, *windows, 0, left, frozen([0, 8]), out)
    assert out.tolist() == expected
