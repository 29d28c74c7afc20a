"""Spans of answers: the kernels against their twins, and the best one against an outer product."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tasks import answers as kernels
from numba_nlp.reference.tasks import answers as plain

#: Few values, so that many spans tie.
LOGITS = st.sampled_from([-3.0, -0.5, 0.0, 0.25, 1.0, 4.0, 40.0])
MARGIN = 2


@st.composite
def window_batches(draw: st.DrawFn) -> dict[str, Any]:
    lengths = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))
    n = sum(lengths)
    has_null = draw(st.booleans())
    width = max(lengths) + MARGIN + 1
    shape = len(lengths), width
    logits = [np.array(draw(st.lists(LOGITS, min_size=shape[0] * width, max_size=shape[0] * width))) for _ in range(2)]
    # tokens that share their characters, as those of one word do
    begins = np.sort(np.array(draw(st.lists(st.integers(0, 12), min_size=n, max_size=n)), np.int64))
    return {
        "begins": begins,
        "stops": begins + 3,
        "logits": [each.astype(np.float32).reshape(shape) for each in logits],
        "ends": np.cumsum(lengths, dtype=np.int64),
        "lengths": np.array(lengths, np.int64),
        "null": width - 1 if has_null else -1,
        "max_tokens": draw(st.integers(1, 6)),
        "most": draw(st.integers(1, 4)),
    }


def run_kernel(case: dict[str, Any]) -> dict[str, Any]:
    windows, width = case["logits"][0].shape
    most = case["most"]
    out = {
        "starts": np.full((windows, most), -7, np.int64),
        "ends": np.full((windows, most), -7, np.int64),
        "scores": np.full((windows, most), -7, np.float32),
        "counts": np.full(windows, -7, np.int64),
        "nulls": np.full(windows, -7, np.float32),
        "log_sums": np.full(windows, -7, np.float64),
    }
    begins, stops = case["begins"].view(), case["stops"].view()
    begins.flags.writeable = stops.flags.writeable = False
    kernels.choose_answers(
        begins,
        stops,
        *case["logits"],
        np.full(windows, MARGIN, np.int64),
        np.full(windows, case["null"], np.int64),
        case["ends"] - case["lengths"],
        case["ends"],
        case["max_tokens"],
        *(np.empty(width + 1, np.float32) for _ in range(3)),
        np.empty(width + 1, np.int64),
        *out.values(),
    )
    return out


def listed(out: dict[str, Any], row: int) -> list[tuple[int, int, float]]:
    count = out["counts"][row]
    return list(zip(*(out[name][row, :count].tolist() for name in ("starts", "ends", "scores")), strict=True))


def run_twin(case: dict[str, Any]) -> list[Any]:
    results = []
    for window, (length, end) in enumerate(zip(case["lengths"].tolist(), case["ends"].tolist(), strict=True)):
        start_logits, end_logits = (each[window] for each in case["logits"])
        null = None if case["null"] < 0 else (start_logits[case["null"]], end_logits[case["null"]])
        results.append(
            plain.choose_answers(
                case["begins"][end - length : end].tolist(),
                case["stops"][end - length : end].tolist(),
                list(start_logits[MARGIN : MARGIN + length]),
                list(end_logits[MARGIN : MARGIN + length]),
                null,
                case["max_tokens"],
                case["most"],
            )
        )
    return results


@given(window_batches())
def test_windows_agree_with_the_twin(case: dict[str, Any]) -> None:
    out = run_kernel(case)
    for window, (answers, null, log_sum) in enumerate(run_twin(case)):
        assert listed(out, window) == [(start, end, float(score)) for start, end, score in answers]
        assert out["nulls"][window] == null
        np.testing.assert_allclose(out["log_sums"][window], log_sum, rtol=1e-12)


@given(window_batches())
def test_the_best_span_is_that_of_an_outer_product(case: dict[str, Any]) -> None:
    """Of equal scores the earlier start, then the earlier end, as argmax over the flat product finds it."""
    case = {**case, "most": 1, "begins": np.arange(case["ends"][-1]), "stops": np.arange(case["ends"][-1]) + 1}
    out = run_kernel(case)
    for window, (length, end) in enumerate(zip(case["lengths"].tolist(), case["ends"].tolist(), strict=True)):
        places = [*range(MARGIN, MARGIN + length), *([case["null"]] if case["null"] >= 0 else [])]
        shares = []
        for logits in case["logits"]:
            powers = np.exp(logits[window, places].astype(np.float64))
            shares.append((powers / powers.sum())[:length].astype(np.float32))
        product = np.tril(np.triu(np.outer(*shares)), case["max_tokens"] - 1)
        found = listed(out, window)
        if not found:
            assert not product.size or product.max() < 1e-30
            continue
        start, stop = np.unravel_index(np.argmax(product), product.shape)
        (got,) = found
        np.testing.assert_allclose(got[2], product[start, stop], rtol=1e-5)
        # logits that are equal make products that tie but for the last bit of our and numpy's exponential
        if np.sum(product >= product.max() * np.float32(1 - 1e-5)) == 1:
            assert got[:2] == (end - length + start, end - length + stop + 1)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=12), st.integers(1, 14))
def test_sliding_maximum_agrees_with_its_twin(values: list[float], width: int) -> None:
    out = np.zeros(len(values) + 1, np.float32)
    kernels.sliding_maximum(
        np.array([*values, 9.0], np.float32), len(values), width, np.empty(len(values) + 1, np.int64), out
    )
    assert out[: len(values)].tolist() == plain.sliding_maximum(values, width)


_SPANS = st.tuples(st.integers(0, 2), st.integers(3, 5), st.sampled_from([0.125, 0.25, 0.5]))


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(_SPANS, max_size=3), st.sampled_from([0.0, 0.25, 0.75])), max_size=6
    ),
    st.booleans(),
    st.integers(1, 4),
)
def test_rows_agree_with_the_twin(windows: list[Any], has_null: bool, most: int) -> None:
    n_rows = 3
    windows = sorted(windows, key=lambda window: window[0])
    window_lists = []
    for row, spans, null in windows:
        kept: list[Any] = []
        for start, end, score in spans:
            kept = plain.keep_answer((start, end, np.float32(score)), kept, most)
        window_lists.append((row, kept, null))
    arrays = [np.zeros((len(windows), most), kind) for kind in (np.int64, np.int64, np.float32)]
    for window, (_, kept, _) in enumerate(window_lists):
        for place, answer in enumerate(kept):
            for array, value in zip(arrays, answer, strict=True):
                array[window, place] = value
    weights = np.array([0.5 + 0.25 * (window % 3) for window in range(len(windows))])
    out = {
        "starts": np.full((n_rows, most), -7, np.int64),
        "ends": np.full((n_rows, most), -7, np.int64),
        "scores": np.full((n_rows, most), -7, np.float32),
        "counts": np.full(n_rows, -7, np.int64),
    }
    kernels.merge_answers(
        np.array([row for row, _, _ in windows], np.int64),
        *arrays,
        np.array([len(kept) for _, kept, _ in window_lists], np.int64),
        weights,
        np.array([null for _, _, null in windows], np.float32),
        has_null,
        np.empty(n_rows, np.float32),
        *out.values(),
    )
    for row in range(n_rows):
        mine = [
            (kept, float(weight), np.float32(null))
            for (other, kept, null), weight in zip(window_lists, weights, strict=True)
            if other == row
        ]
        expected = plain.merge_answers(mine, has_null, most)
        assert listed(out, row) == [(start, end, float(score)) for start, end, score in expected]
