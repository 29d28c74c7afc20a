"""Numbers of words: the kernels of all patterns against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.word_numbers import NUMBER_WORDS
from numba_nlp.reference.segment import word_numbers as plain
from tests.toy_vocabulary import toy_vocabulary

VOCABULARY = toy_vocabulary()
TABLES = tuple(VOCABULARY[name] for name in ("class_index", "class_blocks", "piece_offsets"))


def frozen(values: Any, dtype: Any) -> Any:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


def numbers(functions: Any, pattern: str, case: tuple[Any, ...]) -> tuple[int, list[int]]:
    words = np.full(case[5].size, -9, np.int32)
    return int(functions[pattern](*TABLES, *case, words)), words.tolist()


def as_case(rows: list[list[str | int]], with_segments: bool, wrong: int = 0) -> tuple[Any, ...]:
    """Rows of texts, one id a byte, and of given ids; ``wrong`` changes the number of ids of the last row."""
    content, spans, fixed, ids, first, ends = b"", [], [], [], [0], [0]
    for row in rows:
        for part in row:
            encoded = part.encode() if isinstance(part, str) else b""
            spans.append((len(content), len(content) + len(encoded)))
            fixed.append(-1 if isinstance(part, str) else part)
            ids.extend(encoded if isinstance(part, str) else [part])
            content += encoded
        first.append(len(spans))
        ends.append(len(ids))
    if wrong > 0:
        ids.extend([65] * wrong)
    elif wrong:
        ids = ids[:wrong]
    ends[-1] += wrong
    starts, stops = zip(*spans, strict=True) if spans else ((), ())
    return (
        frozen(list(content) or [0], np.uint8),
        frozen(starts, np.int64),
        frozen(stops, np.int64),
        frozen(fixed if with_segments else [], np.int32),
        frozen(first if with_segments else [], np.int64),
        frozen(ids, np.int32),
        frozen(ends, np.int64),
    )


@given(
    st.lists(st.lists(st.one_of(st.text(max_size=12), st.sampled_from([256, 262])), max_size=4), max_size=4),
    st.sampled_from(sorted(NUMBER_WORDS)),
)
def test_word_numbers_agree_with_their_twins(rows: list[list[str | int]], pattern: str) -> None:
    case = as_case(rows, True)
    found = numbers(NUMBER_WORDS, pattern, case)
    assert found == numbers(plain.NUMBER_WORDS, pattern, case)
    assert found[0] == case[5].size


@pytest.mark.parametrize("with_segments", [False, True])
def test_word_numbers_by_hand(with_segments: bool) -> None:
    case = as_case([["to be"], [""], ["it's"]], with_segments)
    assert numbers(NUMBER_WORDS, "gpt2", case)[1] == [0, 0, 1, 1, 1, 0, 0, 1, 1]
    assert numbers(NUMBER_WORDS, "whole", case)[1] == [0] * 9


@pytest.mark.parametrize("rows", [[["ab"]], [["a", 256]], [[256]]])
@pytest.mark.parametrize("wrong", [-1, 1])
def test_ids_of_another_text(rows: list[list[str | int]], wrong: int) -> None:
    for functions in (NUMBER_WORDS, plain.NUMBER_WORDS):
        assert numbers(functions, "gpt2", as_case(rows, True, wrong))[0] == STATUS_NOT_TILING
