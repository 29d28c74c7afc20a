"""Spans of tokens through the alignment of normalised text, against the twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import aligned_spans as kernels
from numba_nlp.reference.segment import aligned_spans as twin
from numba_nlp.reference.segment import normalize_charsmap
from tests.random_sentencepiece import random_model, random_texts
from tests.sentencepiece_cases import run_normalize
from vocab_tools.compiler.charsmap import normalizer_tables
from vocab_tools.formats.sentencepiece_model import parse

rows = st.text(st.sampled_from("ab \u00e9\u3042\U0001f600"), max_size=20)


@given(rows, st.lists(st.integers(-1, 20), max_size=12))
def test_places_in_characters(row, places):
    bounds = [len(row[:i].encode()) for i in range(len(row) + 1)]
    wanted = [place if place < 0 else bounds[place % len(bounds)] for place in places]
    data = np.frombuffer(b"\xc3\xa9" + row.encode(), np.uint8)
    found = np.array(wanted, np.int64)
    kernels.in_characters(data, 2, found)
    assert found.tolist() == twin.in_characters(row.encode(), wanted)


@given(st.integers(0, 39), st.booleans(), st.integers(0, 2**20))
def test_spans_are_those_of_the_alignment(seed, usual, number):
    """The normalised bytes of each token by sentencepiece, mapped through the twin's alignment."""
    model = random_model(seed, usual=usual)
    parsed = parse(model.content, name="made")
    tables = normalizer_tables(parsed.normalizer, parsed.user_defined())
    for text in random_texts(number, 3):
        raw = text.encode()
        normalized, from_starts, from_ends = run_normalize(normalize_charsmap, tables, raw)
        token_ends, place = [], 0
        for piece in model.reference.encode(text, return_type="proto").pieces:
            if parsed.kinds[piece.id] == 5:
                place += 1
            elif piece.id == parsed.unk_id:
                place += len(piece.piece.encode())
            else:
                place += len(parsed.pieces[piece.id])
            token_ends.append(place)
        assert place == len(normalized)
        expected = twin.spans(from_starts, from_ends, token_ends)
        for unit in ("byte", "char"):
            _, starts, ends = model.ours.encode(text, spans=True, unit=unit)
            found = list(zip(starts.tolist(), ends.tolist(), strict=True))
            if unit == "char":
                wanted = twin.in_characters(raw, [place for span in expected for place in span])
                assert found == list(zip(wanted[::2], wanted[1::2], strict=True))
            else:
                assert found == expected
