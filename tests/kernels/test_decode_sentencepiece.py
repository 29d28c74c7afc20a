"""SentencePiece's decoder: the kernels agree with their twins, on any mix of pieces and any room."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_OUTPUT_FULL, STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment import decode_sentencepiece as kernels
from numba_nlp.reference.segment import decode_sentencepiece as plain

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE, ABSENT = 0, 1, 2, 3, 4, 5, 255
SURFACE = " \u2047 "
BYTES = [0x00, 0x41, 0x7F, 0x80, 0x81, 0x96, 0xBF, 0xC1, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xFF]
VOCABULARY = [
    ("<unk>", UNKNOWN),
    ("<s>", CONTROL),
    ("▁<ctl>", CONTROL),
    ("▁", NORMAL),
    ("▁▁", NORMAL),
    ("▁a", NORMAL),
    ("b▁c", NORMAL),
    (" d", NORMAL),
    ("é" * 20, NORMAL),
    ("▁user", USER_DEFINED),
    ("▁un", UNUSED),
    ("", ABSENT),
] + [(f"<0x{byte:02X}>", BYTE) for byte in BYTES]
FIRST_BYTE = len(VOCABULARY) - len(BYTES)


def make_tables(drop, surface=SURFACE, vocabulary=VOCABULARY):
    pieces = [piece.encode() for piece, _ in vocabulary]
    offsets = np.cumsum([0] + [len(piece) for piece in pieces], dtype=np.int64)
    kinds = np.array([kind for _, kind in vocabulary], np.uint8)
    return kernels.new_tables(np.frombuffer(b"".join(pieces), np.uint8), offsets, kinds, surface.encode(), drop)


ids = st.lists(st.integers(0, len(VOCABULARY) - 1).filter(lambda i: VOCABULARY[i][1] != ABSENT), max_size=10)
any_ids = st.lists(st.integers(-1, len(VOCABULARY)), max_size=10)


def run(module, tables, ids, skip, room=None):
    array = np.array([3, *ids, 3], np.int32)
    where = np.full(1, -7, np.int64)
    needed = module.decoded_room(tables, array, 1, array.size - 1, where)
    out = np.zeros(5 + ((needed if needed >= 0 else 600) if room is None else room), np.uint8)
    n = module.decode_ids(tables, array, 1, array.size - 1, skip, 5, out, where)
    return (needed, int(n), out[5:n].tobytes() if n >= 0 else b"", int(where[0]))


@given(st.sampled_from([0, 1, 2]), any_ids, st.sampled_from([0, 1]), st.sampled_from([SURFACE, "", "?"]))
def test_agrees_with_the_twin(drop, ids, skip, surface):
    tables = make_tables(drop, surface)
    expected = run(plain, tables, ids, skip)
    assert run(kernels, tables, ids, skip) == expected
    if expected[1] >= 0:
        expected[2].decode()


@given(st.sampled_from([0, 1, 2]), ids, st.integers(0, 60))
def test_says_when_the_room_does_not_do(drop, ids, room):
    tables = make_tables(drop)
    whole = run(kernels, tables, ids, 1)
    made = run(kernels, tables, ids, 1, room)
    assert made[2] == whole[2] if made[1] >= 0 else made[1] == STATUS_OUTPUT_FULL
    if room >= whole[0]:
        assert made[1] >= 0
    if room < len(whole[2]):
        assert made[1] == STATUS_OUTPUT_FULL


@given(st.lists(st.sampled_from(range(256)), max_size=12))
def test_byte_pieces_are_read_as_utf8(content):
    vocabulary = [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    tables = make_tables(0, vocabulary=vocabulary)
    made = run(kernels, tables, content, 1)[2].decode()
    assert run(plain, tables, content, 1)[2].decode() == made
    try:
        assert made == bytes(content).decode()
    except UnicodeDecodeError:
        assert "\ufffd" in made


@given(st.sampled_from([0, 1, 2]), st.lists(ids, max_size=4), st.sampled_from([0, 1]))
def test_rows(drop, rows, skip):
    tables = make_tables(drop)
    array = np.array([1] + [i for row in rows for i in row], np.int32)
    offsets = np.cumsum([1] + [len(row) for row in rows], dtype=np.int64)
    where = np.zeros(1, np.int64)
    room = int(plain.decoded_room(tables, array, 1, array.size, where))
    for module in (kernels, plain):
        out, out_offsets = np.zeros(room, np.uint8), np.full(offsets.size, -1, np.int64)
        n = module.decode_rows(tables, array, offsets, skip, out, out_offsets, where)
        assert n == out_offsets[-1]
        made = [out[i:j].tobytes() for i, j in pairwise(out_offsets)]
        assert made == [run(plain, tables, row, skip)[2] for row in rows]


@given(st.sampled_from([SURFACE, "", "?▁"]))
def test_pieces_are_written_alike(surface):
    pieces = [piece.encode() for piece, _ in VOCABULARY]
    offsets = np.cumsum([0] + [len(piece) for piece in pieces], dtype=np.int64)
    kinds = np.array([kind for _, kind in VOCABULARY], np.uint8)
    content = np.frombuffer(b"".join(pieces), np.uint8)
    results = []
    for module in (kernels, plain):
        text = np.zeros(content.size + 20, np.uint8)
        text_offsets, begins = np.zeros(offsets.size, np.int64), np.zeros(kinds.size, np.uint8)
        n = module.write_pieces(
            content, offsets, kinds, np.frombuffer(surface.encode(), np.uint8), text, text_offsets, begins
        )
        results.append((n, text[:n].tobytes(), text_offsets.tolist(), begins.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("module", [kernels, plain])
def test_named_cases(module):
    names = {piece: i for i, (piece, _) in enumerate(VOCABULARY)}

    def text(drop, *pieces, skip=1):
        return run(module, make_tables(drop), [names[piece] for piece in pieces], skip)[2].decode()

    assert text(1, "▁a", "▁a") == "a a"
    assert text(0, "▁a", "▁a") == " a a"
    assert text(1, "▁", "▁", "▁a") == "  a"
    assert text(2, "▁", "▁", "▁a", "▁a") == "a a"
    assert text(2, "▁▁", "▁a") == "  a"
    assert text(1, "<s>", "▁a", "<s>") == "a"
    assert text(1, "<s>", "▁a", skip=0) == "<s> a"
    assert text(1, "<unk>", "▁a") == " ⁇  a"
    assert text(1, " d", "▁a") == " d a"
    assert text(1, "<0xC3>", "<0x80>", "▁a") == "À a"
    assert text(1, "<0xC3>", "<s>", "<0x80>") == "\ufffd\ufffd"
    assert text(1, "<0xE2>", "<0x96>", "<0xFF>") == "\ufffd\ufffd\ufffd"


@pytest.mark.parametrize("module", [kernels, plain])
@pytest.mark.parametrize("bad", [-1, len(VOCABULARY), 11, 2**31 - 1, -(2**31)])
def test_unknown_ids_are_named(module, bad):
    tables = make_tables(1)
    array, where = np.array([FIRST_BYTE, FIRST_BYTE, bad], np.int32), np.zeros(1, np.int64)
    assert module.decoded_room(tables, array, 0, 3, where) == STATUS_UNKNOWN_ID
    assert where[0] == 2
    where[0] = 0
    assert module.decode_ids(tables, array, 0, 3, 1, 0, np.zeros(99, np.uint8), where) == STATUS_UNKNOWN_ID
    assert where[0] == 2
