"""Decoders as an array program: every step as its twin says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment import decode_tokens as kernels
from numba_nlp.kernels.segment.decode_tokens import DECODE_ALPHABET, DECODE_OPERATIONS
from numba_nlp.reference.segment import decode_tokens as plain

STRINGS = ("\u2581", " ", "", "ab", "a", "\u0120", "##", "aa")
FILLED = [number for number, string in enumerate(STRINGS) if string]
token_texts = st.one_of(
    st.lists(st.sampled_from(["\u2581", " ", "a", "b", "aa", "##", "\u0120", "\u00e9", "\U0001f600"]), max_size=5).map(
        "".join
    ),
    st.sampled_from(
        ["<0xE2>", "<0x96>", "<0x81>", "<0x41>", "<0x+A>", "<0x0a>", "<0xG1>", "<0x1>", "<0xC3>", "<0xA9>"]
    ),
    st.integers(0, 255).map(lambda byte: f"<0x{byte:02X}>"),
)
rows_of_tokens = st.lists(st.lists(token_texts, max_size=6), max_size=4)
numbers = st.integers(0, len(STRINGS) - 1)
steps = st.one_of(
    st.tuples(st.just(0), st.sampled_from(FILLED), numbers, numbers, numbers),
    st.tuples(st.just(1), st.integers(-1, len(STRINGS) - 1), numbers, st.just(0), st.just(0)),
    st.tuples(st.just(2), st.sampled_from(FILLED), st.integers(0, 3), st.integers(0, 3), st.just(0)),
    st.tuples(st.integers(3, DECODE_OPERATIONS - 1), st.just(-1), st.just(0), st.just(0), st.just(0)),
)


def laid_out(rows):
    """Tokens one behind the other."""
    tokens = [token.encode() for row in rows for token in row]
    text = np.frombuffer(b"".join(tokens), np.uint8).copy()
    offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    return text, offsets, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def arrays_of(strings):
    content = [string.encode() for string in strings]
    return np.frombuffer(b"".join(content), np.uint8), np.cumsum([0, *map(len, content)], dtype=np.int64)


@given(rows_of_tokens, steps)
def test_steps_agree_with_the_twin(rows, step):
    text, offsets, row_tokens = laid_out(rows)
    out_text = np.zeros(4 * text.size + 100, np.uint8)
    out_offsets, out_rows = np.zeros(offsets.size + len(rows), np.int64), np.zeros_like(row_tokens)
    given_arrays = np.array(step, np.int32), *arrays_of(STRINGS), text, offsets, row_tokens
    n = int(kernels.decode_step(*given_arrays, out_text, out_offsets, out_rows))
    for row, tokens in enumerate(rows):
        places = out_offsets[out_rows[row] : out_rows[row + 1] + 1].tolist()
        found = [out_text[a:b].tobytes() for a, b in pairwise(places)]
        expected = plain.decode_step(step, STRINGS, tokens)
        if step[0] == DECODE_ALPHABET:
            assert [token.decode(errors="replace") for token in found] == expected
        else:
            assert [token.decode() for token in found] == expected
    assert n == out_offsets[out_rows[-1]]
    if n:
        short = np.zeros(n - 1, np.uint8)
        assert kernels.decode_step(*given_arrays, short, out_offsets, out_rows) == STATUS_OUTPUT_FULL


@given(st.one_of(token_texts.map(str.encode), st.binary(max_size=7)))
def test_byte_tokens(token):
    data = np.frombuffer(token, np.uint8)
    assert kernels.byte_of_token(data, 0, data.size) == plain.byte_of_token(token)


@given(st.one_of(st.binary(max_size=8), st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_utf8(content):
    data = np.frombuffer(content, np.uint8)
    assert kernels.is_utf8(data, 0, data.size) == plain.is_utf8(content)


def test_alphabet():
    found = [int(kernels.alphabet_byte(point)) for point in range(0x200)]
    assert found == [plain.alphabet_byte(point) for point in range(0x200)]
    assert sorted(byte for byte in found if byte >= 0) == list(range(256))


@given(st.lists(st.lists(st.integers(0, 4), max_size=5), max_size=4), st.booleans())
def test_gathering(rows, skip_special):
    pieces, kinds = [b"", b"a", b"<s>", "\u00e9".encode(), b"long piece"], [0, 0, 2, 3, 0]
    piece_bytes, piece_offsets = np.frombuffer(b"".join(pieces), np.uint8), np.cumsum([0, *map(len, pieces)])
    ids = np.array([number for row in rows for number in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    text, places = np.zeros(10 * ids.size, np.uint8), np.zeros(ids.size + 1, np.int64)
    row_tokens = np.zeros_like(offsets)
    n = kernels.gather_tokens(
        piece_bytes, piece_offsets, np.array(kinds, np.uint8), ids, offsets, int(skip_special), text, places, row_tokens
    )
    for row, numbers_of_row in enumerate(rows):
        found = [text[places[i] : places[i + 1]].tobytes() for i in range(row_tokens[row], row_tokens[row + 1])]
        assert found == plain.gather_tokens(pieces, kinds, numbers_of_row, skip_special)
    assert n == row_tokens[-1]
