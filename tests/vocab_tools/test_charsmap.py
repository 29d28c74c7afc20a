"""Charsmaps and their double arrays: written, read, summarised; broken ones are refused with the reason."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import normalize_charsmap
from numba_nlp.reference.segment import normalize_charsmap as plain
from tests.sentencepiece_cases import rules, run_normalize, spec_of, symbols, texts
from vocab_tools.compiler.charsmap import normalizer_tables, summarize, symbol_units
from vocab_tools.formats import darts
from vocab_tools.formats.charsmap import CharsmapError, decode_charsmap, encode_charsmap
from vocab_tools.formats.sentencepiece_pb2 import NormalizerSpec

RULES = {"é": "e", "e\u0301": "é", "\u00a0": " ", "\x7f": "", "\ufdfa": "a b c d", "A": "a", "\t": " "}
BLOB = encode_charsmap({key.encode(): text.encode() for key, text in RULES.items()})
SPM = 1 | 2 | 4
N_BYTES = struct.unpack_from("<I", BLOB)[0]


@given(rules)
def test_rules_come_back(rules):
    encoded = {key.encode(): text.encode() for key, text in rules.items()}
    charsmap = decode_charsmap(encode_charsmap(encoded))
    assert charsmap.rules() == encoded
    assert list(charsmap.rules()) == sorted(encoded)
    assert not charsmap.units.flags.writeable
    assert not charsmap.strings.flags.writeable


def changed(offset, value):
    return BLOB[:offset] + struct.pack("<I", value) + BLOB[offset + 4 :]


def chain(n):
    return {b"a" * i: b"" for i in range(1, n + 1)}


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "0 bytes have no room"),
        (b"abcd", "4 bytes have no room"),
        (changed(0, 1 << 20), r"should have 1,048,576 bytes, .* are left: is it cut\?"),
        (BLOB[: 4 + N_BYTES], "should have 1,024 bytes, 1,024 are left"),
        (changed(0, 0), "has 0 bytes, which is not a multiple of 1024"),
        (changed(0, 512), "has 512 bytes, which is not a multiple of 1024"),
        (BLOB[:-1] + b"a", "its last string has no end"),
        (changed(4, 0x80000000), r"unit 0 \(0x80000000\) leads outside"),
        (changed(4, 256 << 10), "unit 0 .* leads outside of the array or of its 18 values"),
    ],
)
def test_broken_blobs_are_refused(blob, message):
    with pytest.raises(CharsmapError, match=message):
        decode_charsmap(blob)


def array_of(units):
    """Blob of a double array that is given as {index: unit}, all else unreachable."""
    array = np.full(256, 0x80000000, "<u4")
    for index, unit in units.items():
        array[index] = unit
    return struct.pack("<I", 1024) + array.tobytes() + b"\0"


@given(
    st.lists(st.tuples(st.integers(0, len(BLOB) - 1), st.integers(0, 255)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 31)), max_size=2),
    texts,
)
def test_a_changed_blob_is_refused_or_safe(changes, bits, text):
    """What is accepted the reference accepts too, it leads nowhere outside (the twin would raise), and gives UTF-8."""
    blob = bytearray(BLOB)
    for place, value in changes:
        blob[place] = value
    for unit, bit in bits:
        blob[4 + 4 * unit + bit // 8] ^= 1 << bit % 8
    try:
        charsmap = decode_charsmap(bytes(blob))
    except CharsmapError:
        return
    spec = replace(spec_of({}, SPM), charsmap=charsmap)
    made = run_normalize(normalize_charsmap, normalizer_tables(spec), text.encode())
    assert made == run_normalize(plain, normalizer_tables(spec), text.encode())
    message = NormalizerSpec(precompiled_charsmap=bytes(blob))
    reference = sentencepiece.SentencePieceNormalizer(normalizer_spec=message.SerializeToString())
    assert made[0].decode() == reference.normalize(text)


def test_circles_are_refused():
    # Root with base 1; its child over "a" has its own place as base of a child over "a": itself.
    place = 1 ^ 0x61
    with pytest.raises(CharsmapError, match="leads in circles: it has keys of more than 1024 bytes"):
        decode_charsmap(array_of({0: 1 << 10, place: (place ^ 1) << 10 | 0x61}))


def test_rules_that_are_not_utf8_are_refused():
    with pytest.raises(CharsmapError, match="on the way to a key that is not UTF-8"):
        encode_charsmap({b"\xc3": b""})
    with pytest.raises(CharsmapError, match="on the way to a key that is not UTF-8"):
        encode_charsmap({b"\xed\xa0\x80": b""})
    with pytest.raises(CharsmapError, match="its string at byte 0 is not UTF-8"):
        encode_charsmap({b"a": b"\xa9"})


def test_every_code_point_is_a_key_that_is_accepted():
    edges = [0x01, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF]
    edges += [0x40000, 0xFFFFF, 0x100000, 0x10FFFF]
    encoded = {chr(code).encode(): b"" for code in edges}
    assert decode_charsmap(encode_charsmap(encoded)).rules() == encoded


def test_more_nested_keys_than_the_reference_looks_at_are_refused():
    assert len(decode_charsmap(encode_charsmap(chain(32))).rules()) == 32
    with pytest.raises(CharsmapError, match="more than 32 of its keys begin one another"):
        encode_charsmap(chain(33))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({b"": b"a"}, "a key must have bytes, none of them 0, got b''"),
        ({b"a\0": b"a"}, "none of them 0"),
        ({b"a": b"\0"}, "the replacement of b'a' must not hold the byte 0"),
    ],
)
def test_rules_that_cannot_be_written(rules, message):
    with pytest.raises(CharsmapError, match=message):
        encode_charsmap(rules)


def test_equal_endings_share_their_nodes():
    keys = [a + b for a in (b"abcdefgh"[i : i + 1] for i in range(8)) for b in (b"x" * 200 + b"1", b"x" * 200 + b"2")]
    units = darts.build(keys, [i % 2 for i in range(16)])
    assert units.size == 256 * 2
    assert list(darts.items(units)) == [(key, i % 2) for i, key in enumerate(keys)]


def test_many_keys_fill_several_blocks():
    keys = sorted(b"%x" % (i * i * 2654435761) for i in range(1, 20000))
    units = darts.build(keys, list(range(len(keys))))
    darts.check(units, len(keys))
    assert list(darts.items(units)) == [(key, i) for i, key in enumerate(keys)]


@pytest.mark.parametrize(
    ("keys", "values"), [([b"a", b"a"], [1, 2]), ([b"a"], []), ([b"a"], [-1]), ([b"a"], [2**31]), ([b""], [0])]
)
def test_arrays_that_cannot_be_built(keys, values):
    with pytest.raises(ValueError, match=r"distinct|must be in|must have bytes"):
        darts.build(keys, values)


def test_summary():
    summary = summarize(spec_of(RULES, SPM))
    assert summary.growth == 5  # U+FDFA, three bytes, becomes four letters and three U+2581
    assert summary.replaced_ascii == {0x7F: b"", 0x41: b"a", 0x09: b" "}
    assert summary.deleted_ascii == (0x7F,)
    assert not summary.pairs_ascii
    assert not summary.spans_space
    assert not summary.replaces_space
    assert np.flatnonzero(summary.begins).tolist() == [0x09, 0x41, 0x65, 0x7F, 0xC2, 0xC3, 0xEF]
    # Not after a space or what becomes one, what goes, or U+2581.
    assert np.flatnonzero(~summary.solid).tolist() == [0x09, 0x20, 0x7F, 0x81, 0xA0]


def test_summary_without_rules_or_without_removal_of_spaces():
    assert np.flatnonzero(~summarize(spec_of({}, SPM)).solid).tolist() == [0x20, 0x81]
    summary = summarize(spec_of(RULES, 4))
    assert summary.solid.all()
    assert summarize(spec_of({}, 0)).growth == 1


@pytest.mark.parametrize(
    ("rules", "symbols", "expected"),
    [
        ({}, [], ""),
        ({"é": "e"}, ["あ"], ""),
        ({"é b": ""}, [], "spans_space"),
        ({}, ["é b"], "spans_space"),
        ({}, ["é "], "spans_space"),
        ({" ": "_"}, [], "replaces_space"),
        ({}, [" é"], "replaces_space"),
        ({"ab": ""}, [], "pairs_ascii"),
        ({}, ["ab"], "pairs_ascii"),
        ({" a": ""}, [], "replaces_space pairs_ascii"),
        ({"a ": ""}, [], "spans_space pairs_ascii"),
    ],
)
def test_what_rules_and_symbols_do_near_spaces(rules, symbols, expected):
    summary = summarize(spec_of(rules, SPM), [symbol.encode() for symbol in symbols])
    found = [name for name in ("spans_space", "replaces_space", "pairs_ascii") if getattr(summary, name)]
    assert found == expected.split()


@given(rules, symbols)
def test_room_holds(rules, symbols):
    """No rule or symbol by itself becomes longer than the bound says."""
    for flags in (0, 4):
        spec, encoded = spec_of(rules, flags), [symbol.encode() for symbol in symbols]
        growth = summarize(spec, encoded).growth
        for key, text in rules.items():
            width = len(text.replace(" ", "\u2581" if flags else " ").encode())
            assert width <= growth * len(key.encode())
        assert normalizer_tables(spec, encoded).settings.tolist() == [flags, growth]


def test_no_symbols_need_no_array():
    assert symbol_units([]).size == 0
    assert symbol_units([b"ab"]).size == 256
