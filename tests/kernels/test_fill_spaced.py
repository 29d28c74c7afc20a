"""Chunks of raw text for SentencePiece, against the twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import fill_spaced as kernels
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import SOLID, SPACE, SentencePieceTables, with_low_spaces
from numba_nlp.reference.segment import fill_spaced as twin
from tests.random_sentencepiece import random_model

texts = st.lists(st.sampled_from(["a", "bc", " ", "  ", "\n", "\t", "\u00e9", "\u3000", "\u2581"]), max_size=30)


def tables_with(spaces: bytes, solid: bytes) -> SentencePieceTables:
    """Tables of any vocabulary, with some bytes for spaces and all but a few solid."""
    traits = np.zeros(256, np.uint8)
    traits[list(spaces)] |= SPACE
    traits[list(solid)] |= SOLID
    traits = with_low_spaces(traits)
    traits.flags.writeable = False
    return random_model(0).ours._encoder.tables._replace(byte_traits=traits)


def chunks_of(tables: SentencePieceTables, row: bytes, limit: int) -> list[bytes]:
    data = np.frombuffer(b"zz" + row + b" z", np.uint8)
    stop = 2 + len(row)
    starts, ends = np.zeros(limit, np.int64), np.zeros(limit, np.int64)
    position = kernels.begin_row(tables, data, 2, stop)
    found: list[bytes] = []
    while position < stop:
        n, position = kernels.fill_spaced(tables, data, position, stop, starts, ends, 0, limit)
        found += [data[start:end].tobytes() for start, end in zip(starts[:n], ends[:n], strict=True)]
    return found


@given(texts.map("".join), st.sets(st.sampled_from(b" \n\t")), st.sets(st.sampled_from(b"a\x80\xa9\x81")))
def test_chunks_are_those_of_the_twin(text, spaces, open_bytes):
    solid = set(range(256)) - open_bytes - spaces
    tables = tables_with(bytes(spaces), bytes(solid))
    for limit in (1, 2, 50):
        assert chunks_of(tables, text.encode(), limit) == twin.chunks(text.encode(), spaces, solid)


@given(st.lists(st.integers(0, 200), max_size=6), st.sampled_from([b" ", b" \n", b" ~"]))
def test_long_chunks_end_where_the_twin_says(lengths, spaces):
    text = b"".join(b"x\x01" * n + spaces[n % len(spaces) :][:1] for n in lengths)
    solid = set(range(256)) - set(spaces)
    assert chunks_of(tables_with(spaces, bytes(solid)), text, 50) == twin.chunks(text, set(spaces), solid)


def test_a_row_of_spaces_has_no_chunks():
    tables = tables_with(b" \n", bytes(range(0x21, 0x80)))
    assert chunks_of(tables, b" \n  ", 4) == []
    assert chunks_of(tables, b"", 4) == []
    assert chunks_of(tables, b"  one\n  two \n", 4) == [b"one", b" two"]
