"""The schema of character BPE: a damaged file is refused, or every kernel stays inside its arrays with it."""

from __future__ import annotations

import struct
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.errors import NumbaNlpError, VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from tests.character_cases import write_codes
from vocab_tools.compiler.character_bpe import build_arrays
from vocab_tools.formats import subword_codes

TEXTS = ["abc ab\n xé cab", "", "a", "\u3000b abcabc", "ab" * 50, "日本 c\r\n"]
LINES = ["a b", "b </w>", "ab c", "c </w>", "abc </w>", "a </w>"]


@lru_cache(maxsize=2)
def content(filtered: bool) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = write_codes(Path(folder), LINES, "0.1")
        vocabulary = Path(folder) / "vocabulary.txt"
        vocabulary.write_text("a@@ 5\nb@@ 4\nc@@ 1\nabc 3\n")
        described = subword_codes.read(path, vocabulary=vocabulary if filtered else None)
        return Vocabulary(*build_arrays(described)).to_bytes()


@given(st.booleans(), st.data())
def test_flipped_bytes_are_refused_or_harmless(filtered, data):
    whole = content(filtered)
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    damaged = bytearray(whole)
    for place in data.draw(st.lists(st.integers(start, len(whole) - 1), min_size=1, max_size=3)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    try:
        tokenizer = nlp.Tokenizer(Vocabulary.from_bytes(bytes(damaged), verify=False))
    except VocabularyFormatError:
        return
    found = tokenizer.encode_batch(TEXTS, spans=True)
    assert found.values.min() >= 0
    assert found.values.max() < tokenizer.vocab_size
    for text in TEXTS:
        assert tokenizer.encode(text).size <= len(text.encode()) + 1 + len(text.split(" "))
    try:
        tokenizer.decode_batch(found)
    except NumbaNlpError:
        # an id whose kind now says that there is no such token
        assert (tokenizer.vocabulary["piece_kinds"] == 255).any()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("flags", lambda a: a.__setitem__(4, 0)),
        ("flags", lambda a: a.__setitem__(0, -1)),
        ("flags", lambda a: a.__setitem__(7, 1 << 40)),
        ("flags", lambda a: a.__setitem__(2, 0)),
        ("character_index", lambda a: a.__setitem__(0, 9)),
        ("character_numbers", lambda a: a.__setitem__(3, 1 << 20)),
        ("character_forms", lambda a: a.__setitem__(0, -1)),
        ("merge_symbols", lambda a: a.__setitem__(0, 1 << 19)),
        ("symbol_ids", lambda a: a.__setitem__(0, -99)),
        ("final_ids", lambda a: a.__setitem__(0, 1 << 19)),
        ("part_ids", lambda a: a.__setitem__(0, 1 << 19)),
        ("part_ids", lambda a: a.__setitem__(1, -1)),
        ("part_offsets", lambda a: a.__setitem__(-1, 99)),
        ("merge_pairs", lambda a: a.__setitem__(0, np.uint64(1 << 39))),
    ],
)
def test_what_would_leave_an_array_is_refused(name, change):
    vocabulary = Vocabulary.from_bytes(content(True))
    arrays = {key: array.copy() for key, array in vocabulary.arrays.items()}
    change(arrays[name])
    with pytest.raises(VocabularyFormatError, match=f"`{name}`"):
        Vocabulary(arrays, vocabulary.metadata)
