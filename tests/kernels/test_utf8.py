"""Validation of UTF-8: Python's own decoder decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables import utf8 as kernels
from numba_nlp.reference.tables import utf8 as plain
from tests.byte_texts import bytes_array, nearly_utf8


@given(nearly_utf8, st.integers(0, 5), st.integers(0, 5))
def test_validate_utf8_agrees_with_its_twin(data: bytes, skip: int, leave: int) -> None:
    start = min(skip, len(data))
    stop = max(start, len(data) - leave)
    array = bytes_array(data)
    assert kernels.validate_utf8(array, start, stop) == plain.validate_utf8(array, start, stop)


def test_validate_utf8_on_every_lead_and_second_byte() -> None:
    for lead in range(256):
        for second in range(256):
            for rest in (b"", b"\x80", b"\x80\x80", b"\xbf\xbfa"):
                data = b"a" + bytes([lead, second]) + rest
                array = bytes_array(data)
                assert kernels.validate_utf8(array, 0, len(data)) == plain.validate_utf8(array, 0, len(data)), data


@pytest.mark.slow
def test_every_code_point_is_valid_except_surrogates() -> None:
    text = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)
    data = bytes_array(text.encode())
    assert kernels.validate_utf8(data, 0, data.size) == -1
    for code_point in range(0xD800, 0xE000, 17):
        data = bytes_array(chr(code_point).encode("utf-8", "surrogatepass"))
        assert kernels.validate_utf8(data, 0, data.size) == 0


def test_bad_byte_is_found_at_every_place() -> None:
    for n in range(1, 80):
        for at in range(n):
            data = bytearray(b"a" * n)
            data[at] = 0x80
            assert kernels.validate_utf8(bytes_array(bytes(data)), 0, n) == at


@given(nearly_utf8, st.data())
def test_sequence_length_agrees_with_its_twin(data: bytes, draw: st.DataObject) -> None:
    if not data:
        return
    position = draw.draw(st.integers(0, len(data) - 1))
    if data[position] < 0x80:
        return
    array = bytes_array(data)
    expected = plain.sequence_length(array, position, len(data))
    assert kernels.sequence_length(array, position, len(data)) == expected


@given(st.lists(nearly_utf8, max_size=6), st.integers(0, 3))
def test_validate_rows_agrees_with_its_twin(rows: list[bytes], first: int) -> None:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    offsets.flags.writeable = False
    results = []
    for module in (kernels, plain):
        bad = np.zeros(1, np.int64)
        row = module.validate_rows(bytes_array(b"".join(rows)), offsets[:-1], offsets[1:], first, bad)
        results.append((int(row), int(bad[0])))
    assert results[0] == results[1]
