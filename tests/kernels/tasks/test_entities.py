"""Words and entities from labels: the kernels against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tasks import entities as kernels
from numba_nlp.reference.tasks import entities as plain

N_LABELS = 5
SCORES = st.sampled_from([0.125, 0.25, 0.3, 0.5])


@st.composite
def some_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for n in draw(st.lists(st.integers(0, 7), max_size=3)):
        steps = draw(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=n, max_size=n))
        words = np.cumsum(steps, dtype=np.int64)
        alone = draw(st.lists(st.sampled_from([False, False, True]), min_size=n, max_size=n))
        shares = np.array(draw(st.lists(SCORES, min_size=n * N_LABELS, max_size=n * N_LABELS)), np.float32)
        shares = shares.reshape(n, N_LABELS)
        rows.append(
            {
                "words": np.where(np.array(alone, bool), -1, words).astype(np.int32),
                "shares": shares,
                "labels": shares.argmax(axis=1).astype(np.int32) if n else np.empty(0, np.int32),
                "scores": shares.max(axis=1) if n else np.empty(0, np.float32),
                "starts": np.arange(n) * 3,
                "ends": np.arange(n) * 3 + 2,
            }
        )
    return rows


def joined(rows: list[dict[str, Any]], name: str, kind: Any) -> Any:
    empty = np.empty((0, N_LABELS) if name == "shares" else 0, kind)
    return np.concatenate([empty, *(row[name] for row in rows)]).astype(kind)


def offsets_of(rows: list[dict[str, Any]]) -> Any:
    offsets = np.concatenate(([0], np.cumsum([len(row["words"]) for row in rows], dtype=np.int64))).astype(np.int64)
    offsets.flags.writeable = False
    return offsets


@given(some_rows())
def test_spans_of_words_agree_with_the_twin(rows: list[dict[str, Any]]) -> None:
    words = joined(rows, "words", np.int32)
    out = [np.full(words.size, -7, np.int64) for _ in range(2)]
    kernels.span_words(words, offsets_of(rows), joined(rows, "starts", np.int64), joined(rows, "ends", np.int64), *out)
    expected = [
        span for row in rows for span in plain.span_words(*(row[name].tolist() for name in ("words", "starts", "ends")))
    ]
    assert list(zip(*(each.tolist() for each in out), strict=True)) == expected


@pytest.mark.parametrize("way", [kernels.FIRST, kernels.MAX, kernels.AVERAGE])
@given(rows=some_rows())
def test_words_agree_with_the_twin(way: int, rows: list[dict[str, Any]]) -> None:
    words, offsets = joined(rows, "words", np.int32), offsets_of(rows)
    firsts, lasts = (np.full(words.size, -7, np.int64) for _ in range(2))
    labels, scores = np.full(words.size, -7, np.int32), np.full(words.size, -7, np.float32)
    word_offsets = np.full(offsets.size, -7, np.int64)
    n = kernels.join_words(
        words, offsets, joined(rows, "labels", np.int32), joined(rows, "scores", np.float32),
        joined(rows, "shares", np.float32), way, firsts, lasts, labels, scores, word_offsets,
    )  # fmt: skip
    expected = [
        plain.join_words(
            row["words"].tolist(),
            row["labels"].tolist(),
            list(row["scores"]),
            [list(each) for each in row["shares"]],
            way,
        )
        for row in rows
    ]
    assert np.diff(word_offsets).tolist() == [len(row) for row in expected]
    assert n == word_offsets[-1]
    got = list(zip(firsts[:n].tolist(), lasts[:n].tolist(), labels[:n].tolist(), scores[:n].tolist(), strict=True))
    assert got == [
        (first + base, last + base, label, float(score))
        for row, base in zip(expected, offsets.tolist(), strict=False)
        for first, last, label, score in row
    ]


@given(some_rows(), st.lists(st.integers(0, 2), min_size=N_LABELS, max_size=N_LABELS), st.data())
def test_entities_agree_with_the_twin(rows: list[dict[str, Any]], types: list[int], data: st.DataObject) -> None:
    roles = data.draw(st.lists(st.integers(0, 3), min_size=N_LABELS, max_size=N_LABELS))
    offsets = offsets_of(rows)
    labels, scores = joined(rows, "labels", np.int32), joined(rows, "scores", np.float32)
    firsts, lasts = (np.full(labels.size, -7, np.int64) for _ in range(2))
    kinds, means = np.full(labels.size, -7, np.int32), np.full(labels.size, -7, np.float32)
    entity_offsets = np.full(offsets.size, -7, np.int64)
    n = kernels.join_entities(
        np.array(types, np.int32), np.array(roles, np.uint8), offsets, labels, scores, firsts, lasts, kinds, means,
        entity_offsets,
    )  # fmt: skip
    expected = [plain.join_entities(types, roles, row["labels"].tolist(), list(row["scores"])) for row in rows]
    assert np.diff(entity_offsets).tolist() == [len(row) for row in expected]
    assert n == entity_offsets[-1]
    got = list(zip(firsts[:n].tolist(), lasts[:n].tolist(), kinds[:n].tolist(), strict=True))
    flat = [
        (first + base, last + base, kind, score)
        for row, base in zip(expected, offsets.tolist(), strict=False)
        for first, last, kind, score in row
    ]
    assert got == [entity[:3] for entity in flat]
    np.testing.assert_allclose(means[:n], [entity[3] for entity in flat], rtol=1e-6)
