"""Scanners and their helpers against the plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import characters, scan, scan_deepseek
from numba_nlp.kernels.segment.patterns import PATTERN_CODES, PATTERN_NAMES
from numba_nlp.reference.segment import characters as plain_characters
from numba_nlp.reference.segment import scan as plain_scan
from numba_nlp.reference.segment import scan_deepseek as plain_deepseek
from tests.scan_texts import ADVERSARIAL, ALPHABET, texts
from vocab_tools.compiler.classes import class_tables, classes_of_all

CLASS_INDEX, CLASS_BLOCKS, _ = class_tables("tokenizers")
TABLES = (CLASS_INDEX, CLASS_BLOCKS)
MASKS = st.integers(0, 2**10 - 1)


def as_data(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def starts_of(text: str) -> list[int]:
    """Byte offsets of the characters."""
    return [len(text[:i].encode()) for i in range(len(text))]


def pieces(next_end, text: str) -> list[str]:
    data = as_data(text)
    position, found = 0, []
    while position < data.size:
        end = int(next_end(*TABLES, data, position, data.size))
        assert position < end <= data.size
        found.append(bytes(data[position:end]).decode())
        position = end
    return found


def plain_pieces(name: str, text: str) -> list[str]:
    if name == "deepseek_v3":
        return plain_scan.split_deepseek_v3(*TABLES, text)
    return plain_scan.split(*TABLES, text, plain_scan.ALTERNATIVES[name])


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(text=texts)
def test_pieces_are_those_of_the_interpreted_regex(name, text):
    expected = plain_pieces(name, text)
    assert pieces(getattr(scan, f"next_end_{name}"), text) == expected
    assert pieces(getattr(plain_scan, f"next_end_{name}"), text) == expected


@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_pieces_of_adversarial_texts(name):
    for text in ADVERSARIAL:
        assert pieces(getattr(scan, f"next_end_{name}"), text) == plain_pieces(name, text), text


@given(name=st.sampled_from(PATTERN_NAMES), text=texts)
def test_dispatcher_agrees_with_the_scanner_it_names(name, text):
    code = PATTERN_CODES[name]
    expected = pieces(getattr(scan, f"next_end_{name}"), text)
    assert pieces(lambda *arguments: scan.next_end(code, *arguments), text) == expected
    assert pieces(lambda *arguments: plain_scan.next_end(code, *arguments), text) == expected


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(text=texts.filter(bool), tail=texts)
def test_bytes_at_and_after_stop_do_not_matter(name, text, tail):
    stop = len(text.encode())
    alone, followed = as_data(text), as_data(text + tail)
    next_end = getattr(scan, f"next_end_{name}")
    assert next_end(*TABLES, followed, 0, stop) == next_end(*TABLES, alone, 0, stop)


def test_class_of_every_code_point():
    expected = classes_of_all(*TABLES)
    code_points = np.array([cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000])
    data = np.frombuffer("".join(map(chr, code_points)).encode(), dtype=np.uint8)
    leads = np.flatnonzero((data & 0xC0) != 0x80)
    # all blocks, then a stride over the rest: the decoding is one formula for each length
    chosen = np.unique(np.concatenate([np.arange(0x1000), np.arange(0, leads.size, 37)]))
    for i in chosen:
        found, end = characters.character(*TABLES, data, int(leads[i]))
        assert found == expected[code_points[i]]
        assert end == (leads[i + 1] if i + 1 < leads.size else data.size)


@given(text=texts.filter(bool), mask=MASKS, in_cjk=st.booleans())
def test_helpers_agree_with_their_twins(text, mask, in_cjk):
    data, stop = as_data(text), len(text.encode())
    for start in starts_of(text):
        here = (data, start, stop)
        assert characters.character(*TABLES, data, start) == plain_characters.character(*TABLES, data, start)
        assert characters.run_end(*TABLES, *here, mask) == plain_characters.run_end(*TABLES, *here, mask)
        assert characters.digits_end(*TABLES, *here, 2) == plain_characters.digits_end(*TABLES, *here, 2)
        for flag in (False, True):
            assert characters.lines_end(*here, flag) == plain_characters.lines_end(*here, flag)
            if data[start] == ord("'"):
                assert characters.contraction_end(*here, flag) == plain_characters.contraction_end(*here, flag)
        if characters.character(*TABLES, data, start)[0] >= characters.BLANK:
            for name in ("space_end", "space_or_lines_end"):
                assert getattr(characters, name)(*TABLES, *here) == getattr(plain_characters, name)(*TABLES, *here)
        assert scan_deepseek.is_cjk(data, start) == plain_deepseek.is_cjk(data, start)
        assert scan_deepseek.ascii_letters_end(*here) == plain_deepseek.ascii_letters_end(*here)
        for name, more in (("piece_character", (in_cjk,)), ("piece_run_end", (in_cjk, mask))):
            found = getattr(scan_deepseek, name)(*TABLES, *here, *more)
            assert found == getattr(plain_deepseek, name)(*TABLES, *here, *more)


def test_alphabet_has_every_class():
    assert set(classes_of_all(*TABLES)[[ord(c) for c in ALPHABET]]) == set(range(10))


def test_trailing_lines_tell_cl100k_from_llama3():
    assert pieces(scan.next_end_cl100k, "a\n  ") == ["a", "\n  "]
    assert pieces(scan.next_end_llama3, "a\n  ") == ["a", "\n", "  "]
