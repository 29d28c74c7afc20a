"""Numbers of words: the kernels of all families and patterns against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment import character_bpe_memory, normalizer_tables
from numba_nlp.kernels.segment.character_numbers import number_words_character
from numba_nlp.kernels.segment.sentencepiece_numbers import USER_DEFINED, number_pieces
from numba_nlp.kernels.segment.word_numbers import NUMBER_WORDS
from numba_nlp.kernels.segment.wordpiece_memory import new_scratch
from numba_nlp.kernels.segment.wordpiece_numbers import number_words_wordpiece
from numba_nlp.reference.segment import character_numbers as character_twin
from numba_nlp.reference.segment import sentencepiece_numbers as sentencepiece_twin
from numba_nlp.reference.segment import word_numbers as plain
from numba_nlp.reference.segment import wordpiece_numbers as wordpiece_twin
from numba_nlp.reference.segment.character_words import white_words
from numba_nlp.vocabulary import Vocabulary
from tests.character_cases import plan_of
from tests.toy_vocabulary import toy_vocabulary
from tests.wordpiece_cases import ALPHABET, pieces_of, tables_of, toy
from vocab_tools.compiler.character_bpe import build_arrays
from vocab_tools.formats import subword_codes

VOCABULARY = toy_vocabulary()
CLASSES = VOCABULARY["class_index"], VOCABULARY["class_blocks"]


def frozen(values: Any, dtype: Any) -> Any:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


def numbers(functions: Any, pattern: str, case: tuple[Any, ...]) -> tuple[int, list[int]]:
    words, where = np.full(case[5].size, -9, np.int32), np.zeros(2, np.int64)
    return int(functions[pattern](CLASSES, *case, VOCABULARY["piece_offsets"], words, where)), words.tolist()


def as_case(rows: list[list[str | int]], wrong: int = 0) -> tuple[Any, ...]:
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
        frozen(fixed, np.int32),
        frozen(first, np.int64),
        frozen(ids, np.int32),
        frozen(ends, np.int64),
    )


@given(
    st.lists(st.lists(st.one_of(st.text(max_size=12), st.sampled_from([256, 262])), max_size=4), max_size=4),
    st.sampled_from(sorted(NUMBER_WORDS)),
)
def test_word_numbers_agree_with_their_twins(rows: list[list[str | int]], pattern: str) -> None:
    case = as_case(rows)
    found = numbers(NUMBER_WORDS, pattern, case)
    assert found == numbers(plain.NUMBER_WORDS, pattern, case)
    assert found[0] == case[5].size


def test_word_numbers_by_hand() -> None:
    case = as_case([["to be"], [""], ["it's"]])
    assert numbers(NUMBER_WORDS, "gpt2", case)[1] == [0, 0, 1, 1, 1, 0, 0, 1, 1]
    assert numbers(NUMBER_WORDS, "whole", case)[1] == [0] * 9


@pytest.mark.parametrize("rows", [[["ab"]], [["a", 256]], [[256]]])
@pytest.mark.parametrize("wrong", [-1, 1])
def test_ids_of_another_text(rows: list[list[str | int]], wrong: int) -> None:
    for functions in (NUMBER_WORDS, plain.NUMBER_WORDS):
        assert numbers(functions, "gpt2", as_case(rows, wrong))[0] == STATUS_NOT_TILING


# --- other families ----------------------------------------------------------------------------------------------


def as_rows(rows: list[list[str | int]], expected: list[list[tuple[int, int]]]) -> tuple[Any, ...]:
    """Arrays of rows of texts and given ids, and of the ids that they have."""
    parts = as_case(rows)[:5]
    ids = [token for row in expected for token, _ in row]
    return *parts, frozen(ids, np.int32), frozen(np.cumsum([0, *map(len, expected)]), np.int64)


def in_rows(texts: Any) -> Any:
    return st.lists(st.lists(st.one_of(texts, st.sampled_from([7, 900])), max_size=4), max_size=3)


WORDPIECE = tables_of(toy())
PIECES = pieces_of(WORDPIECE)


def wordpiece_numbers(case: tuple[Any, ...], capacity: int = 4096) -> tuple[int, list[int], list[int]]:
    scratch, words, where = new_scratch(capacity), np.full(case[5].size, -9, np.int32), np.zeros(2, np.int64)
    word_ids = np.zeros(scratch.text.size, np.int32)
    status = number_words_wordpiece(WORDPIECE, *case, (scratch, word_ids), words, where)
    return int(status), words.tolist(), where.tolist()


@given(in_rows(st.lists(st.one_of(st.sampled_from(ALPHABET), st.text("abz019", min_size=1)), max_size=9).map("".join)))
def test_words_of_wordpiece(rows: list[list[str | int]]) -> None:
    expected = [wordpiece_twin.number_words_wordpiece(WORDPIECE, PIECES, row) for row in rows]
    case = as_rows(rows, expected)
    status, words, _ = wordpiece_numbers(case)
    assert status == case[5].size
    assert words == [word for row in expected for _, word in row]


def test_words_of_wordpiece_that_do_not_fit() -> None:
    assert wordpiece_numbers(as_rows([["ab"], ["z " + "ab" * 40]], [[(1, 0)], [(1, 0)]]))[::2] == (
        STATUS_NOT_TILING, [0, 2],
    )  # fmt: skip
    right = [wordpiece_twin.number_words_wordpiece(WORDPIECE, PIECES, ["ab" * 40])]
    assert wordpiece_numbers(as_rows([["ab" * 40]], right), capacity=4)[::2] == (STATUS_OUTPUT_FULL, [0, 80])
    for row in ([7], [8]):
        wrong = as_rows([row], [[(9, 0)]])
        assert wordpiece_numbers(wrong)[0] == STATUS_NOT_TILING


PAIRS = subword_codes.describe_pairs({"a b": 3, "ab ab": 2, "b b": 1})
CHARACTER = nlp.Tokenizer(Vocabulary(*build_arrays(PAIRS))).kernel_memory()[0]


def character_numbers(case: tuple[Any, ...], capacity: int = 4096) -> tuple[int, list[int], list[int]]:
    words, where = np.full(case[5].size, -9, np.int32), np.zeros(2, np.int64)
    found = np.zeros(2 * case[0].size + 8, np.int32)
    scratch = character_bpe_memory.new_scratch(capacity)
    status = number_words_character(CHARACTER, *case, (scratch, found), words, where)
    return int(status), words.tolist(), where.tolist()


@given(in_rows(st.text("aabb \u3000\tx", max_size=12)))
def test_words_of_character_bpe(rows: list[list[str | int]]) -> None:
    plan = plan_of(PAIRS)
    expected = [character_twin.number_words_character(plan, lambda text: white_words(text, False), row) for row in rows]
    case = as_rows(rows, expected)
    status, words, _ = character_numbers(case)
    assert status == case[5].size
    assert words == [word for row in expected for _, word in row]


def test_words_of_character_bpe_that_do_not_fit() -> None:
    assert character_numbers(as_rows([["a"], ["b a"]], [[(0, 0)], [(0, 0)]]))[0] == STATUS_NOT_TILING
    assert character_numbers(as_rows([["ab" * 100]], [[(0, 0)]]), capacity=4)[::2] == (STATUS_OUTPUT_FULL, [0, 200])
    assert character_numbers(as_rows([[7]], [[(9, 0)]]))[0] == STATUS_NOT_TILING


@given(
    st.lists(st.tuples(st.text("a\u00e9\u2581 ", min_size=1, max_size=4), st.booleans()), max_size=7),
    st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip
def test_words_of_sentencepiece(tokens: list[tuple[str, bool]], splits: bool, escapes: bool, is_suffix: bool) -> None:
    text = "".join(token for token, _ in tokens)
    alone = [one for _, one in tokens]
    token_ends = np.cumsum([len(token.encode()) for token, _ in tokens], dtype=np.int64)
    kinds = frozen([0, USER_DEFINED], np.uint8)
    flags = normalizer_tables.ESCAPE_WHITESPACES * escapes | normalizer_tables.WHITESPACE_AS_SUFFIX * is_suffix
    ids, words = frozen(alone, np.int32), np.zeros(len(tokens), np.int32)
    data = np.frombuffer(text.encode() or b" ", np.uint8)
    last = number_pieces(flags, kinds, data, token_ends, ids, 0, len(tokens), int(splits), np.int32(0), words)
    space = "\u2581" if escapes else " "
    expected = sentencepiece_twin.number_pieces(text, token_ends.tolist(), alone, splits, space, is_suffix)
    assert words.tolist() == expected
    assert last >= max(expected, default=-1) + 1
