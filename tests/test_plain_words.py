"""Words that are taken for plain are what the stages make of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp import _fastcall
from numba_nlp._encoders.staged_words import StagedWordEncoder
from numba_nlp.kernels.segment.staged_words import write_plain
from tests.test_raw_words import CASES, TRICKY, pair
from tests.test_spanned_words import CUT
from tools.fuzz_texts import fuzz_texts

pytestmark = pytest.mark.skipif(not _fastcall.AVAILABLE, reason="words are encoded by address only")

#: Words, some of them plain, of each case: those that matter most for speed are there.
PLAIN = {
    "llama": ["the", " the", " caf\u00e9", " \u65e5\u672c", "   x", " self.x=[1]\n", " \u201cto"],
    "mistral": ["the", " the", "  the", " \u65e5\u672c!", " x\n\t"],
    "t5": ["the", " the", " The"],
    "albert": [" the", " Don"],
    "punctuation": [" the"],
    "nothing": [" \u65e5\u672c"],
}
NOT_PLAIN = {
    "llama": ["  ", " \u2581x", ""],
    "t5": ["  the", " caf\u00e9", " \u65e5", " a\tb"],
    "albert": [" ``x", " caf\u00e9", " a\rb"],
    "punctuation": [" The", " a.b", " a1"],
    "nothing": ["  the"],
}


def words_of(name: str) -> StagedWordEncoder:
    words = pair(name).ours._encoder._words
    assert words is not None
    return words


def plain(name: str, word: str, begins_row: bool) -> bytes | None:
    data = np.frombuffer(word.encode(), np.uint8)
    text = np.zeros(4 * data.size + 8, np.uint8)
    n = write_plain(words_of(name)._word_tables, data, 0, data.size, begins_row, text)
    return None if n < 0 else text[:n].tobytes()


@pytest.mark.parametrize("name", PLAIN)
def test_which_words_are_plain(name: str) -> None:
    assert all(plain(name, word, False) is not None for word in PLAIN[name])
    assert all(plain(name, word, False) is None for word in NOT_PLAIN.get(name, ()))


def check(name: str, word: str) -> None:
    words = words_of(name)
    for begins_row, stages in ((False, words._next), (True, words._first)):
        found = plain(name, word, begins_row)
        assert found is None or stages.run(word.encode()) == [found], (word, begins_row)


@pytest.mark.parametrize("name", CUT)
def test_they_are_what_the_stages_make(name: str) -> None:
    for text in (*TRICKY, *fuzz_texts(60, seed=3)):
        for word in text.split(" "):
            check(name, word)
            check(name, " " + word)
    for n_spaces in range(5):
        check(name, " " * n_spaces + "to")
    for code in (*range(0x180), *range(0x2000, 0x2070), 0x2581, 0x3000, 0xFEFF):
        check(name, f" x{chr(code)}y")
        check(name, f"{chr(code)}{chr(code)}x")


@given(name=st.sampled_from(CUT), word=st.text(st.characters(codec="utf-8"), max_size=8))
def test_generated_words(name: str, word: str) -> None:
    check(name, word)
    check(name, "  " + word)


def test_files_whose_text_is_not_cut_are_other_cases() -> None:
    assert set(PLAIN) <= set(CUT) <= set(CASES)
