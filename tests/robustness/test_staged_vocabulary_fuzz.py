"""Staged vocabularies with damaged bytes are refused, or harmless: every text is encoded and decoded inside arrays."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.errors import AlignmentError, UnknownTokenError, UnsupportedFeatureError, VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from tests.staged_tokenizers import staged

NAMES = ("unigram bytes", "bpe llama bytes", "bpe cut whole")
TEXTS = ["", "To be, or not to be", " the  question\u0416\u65e5 e\u0301 <mask> [x] THE", "\u2581\u2581..."]


@lru_cache(maxsize=len(NAMES))
def content_of(name: str) -> bytes:
    return staged(name).ours.vocabulary.to_bytes()


def parsed(content: bytes) -> tuple[int, dict]:
    stop = 8 + struct.unpack("<Q", content[:8])[0]
    return stop, json.loads(content[8:stop])


@pytest.mark.parametrize("name", NAMES)
def test_whole_files_are_accepted(name: str) -> None:
    assert Vocabulary.from_bytes(content_of(name)) == staged(name).ours.vocabulary


@pytest.mark.parametrize("name", NAMES)
def test_first_and_last_byte_of_every_array_count(name: str) -> None:
    content = content_of(name)
    stop, header = parsed(content)
    for key, entry in header.items():
        if key != "__metadata__" and entry["shape"][0]:
            for position in (entry["data_offsets"][0], entry["data_offsets"][1] - 1):
                damaged = bytearray(content)
                damaged[stop + position] ^= 0x80
                with pytest.raises(VocabularyFormatError):
                    Vocabulary.from_bytes(bytes(damaged))


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), data=st.data())
def test_what_is_let_through_is_harmless(name: str, data: st.DataObject) -> None:
    """Without the digest: any array, any byte of it."""
    content = content_of(name)
    stop, header = parsed(content)
    arrays = sorted(key for key, entry in header.items() if key != "__metadata__" and entry["shape"][0])
    start, end = header[data.draw(st.sampled_from(arrays))]["data_offsets"]
    damaged = bytearray(content)
    damaged[stop + data.draw(st.integers(start, end - 1))] ^= data.draw(st.integers(1, 255))
    try:
        tokenizer = nlp.Tokenizer(Vocabulary.from_bytes(bytes(damaged), verify=False))
    except (VocabularyFormatError, UnsupportedFeatureError, UnicodeDecodeError):
        return
    batch = tokenizer.encode_batch(TEXTS, special="match", add_special_tokens=True)
    assert batch.values.size == 0 or 0 <= int(batch.values.min()) <= int(batch.values.max()) < tokenizer.vocab_size
    with suppress(AlignmentError):
        tokenizer.encode_batch(TEXTS, special="match", spans=True)
    with suppress(UnknownTokenError):  # ids that are absent now
        tokenizer.decode_batch(batch)


def changed(name: str, array: str, change) -> None:
    vocabulary = staged(name).ours.vocabulary
    arrays = {key: np.array(values) for key, values in vocabulary.arrays.items()}
    arrays[array] = change(arrays[array])
    Vocabulary(arrays, vocabulary.metadata)


def at(index: int, value: int):
    """An array with one other value."""

    def change(array):
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "array", "change", "message"),
    [
        ("unigram bytes", "cut_program", at(0, 9), "holds the step"),
        ("unigram bytes", "cut_program", lambda array: array[:-1], "multiple of"),
        ("unigram bytes", "cut_pages", at(3, 9999), "cut_pages"),
        ("unigram bytes", "decoder_program", at(0, 6), "holds the step"),
        ("unigram bytes", "decoder_program", at(6, 77), "holds the step"),
        ("unigram bytes", "decoder_strings", at(0, 0xFF), "not UTF-8"),
        ("unigram bytes", "piece_scores64", at(5, np.nan), "piece_scores64"),
        ("unigram bytes", "piece_scores64", lambda array: array[:-1], "trie_units"),
        ("unigram bytes", "trie_units", lambda array: array[:-1], "double array"),
        ("unigram bytes", "piece_bytes", at(0, 0x61), "does not lead to the piece"),
        ("unigram bytes", "template_single", at(0, 0), "exactly once"),
        ("bpe llama bytes", "bpe_flags", at(0, -2), "unknown text"),
        ("bpe llama bytes", "bpe_flags", at(1, 3), "policy"),
        ("bpe llama bytes", "bpe_flags", at(2, -1), "first merge"),
        ("bpe llama bytes", "bpe_flags", at(4, 0), "expected -1"),
        ("bpe llama bytes", "byte_ids", at(7, -1), "lacks a byte"),
        ("bpe llama bytes", "bridge", at(2, 0), "inside a character"),
        ("bpe llama bytes", "merge_ranks", lambda array: np.zeros(1, np.int32), "merge_ranks"),
        ("bpe llama bytes", "character_symbols", lambda array: np.concatenate((array, array[:1])), "character_symbols"),
        ("bpe llama bytes", "merge_symbols", lambda array: array[::-1].copy(), "merge_symbols"),
    ],
)
def test_what_is_refused(name: str, array: str, change, message: str) -> None:
    with pytest.raises(VocabularyFormatError, match=message):
        changed(name, array, change)


@pytest.mark.parametrize("key", ["cut_regexes", "normalizer_regexes", "unknown_id", "decoders", "byte_fallback"])
def test_metadata_is_needed(key: str) -> None:
    vocabulary = staged("unigram bytes").ours.vocabulary
    metadata = {name: value for name, value in vocabulary.metadata.items() if name != key}
    with pytest.raises(VocabularyFormatError, match=key):
        Vocabulary(dict(vocabulary.arrays), metadata)
    without = {name: array for name, array in vocabulary.arrays.items() if not name.startswith("normalizer_")}
    with pytest.raises(VocabularyFormatError, match="normalizer_program"):
        Vocabulary(without, vocabulary.metadata)
