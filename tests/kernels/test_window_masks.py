"""Mask algebra of the window scanners against the plain twins, and the letters that they know by their bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import window_spans, window_wide
from numba_nlp.kernels.segment.characters import LETTER, LETTERS, LOWER, UPPER
from numba_nlp.kernels.words import VECTOR
from numba_nlp.reference.segment import window_spans as plain_spans
from numba_nlp.reference.segment import window_wide as plain_wide
from tests.scan_texts import ALPHABET
from vocab_tools.compiler.classes import class_tables, classes_of_all

CLASS_INDEX, CLASS_BLOCKS, _ = class_tables("tokenizers")
TABLES = (CLASS_INDEX, CLASS_BLOCKS)
ONE_BYTES = " \n\t\r!/a1"
WIDE = "\u00a0\u3000\u2003\u00e9\u0301\u4e00\U0001f600\u0665"

masks = st.integers(0, 2**64 - 1)
#: Masks with long runs.
runs = st.lists(st.tuples(st.booleans(), st.sampled_from((1, 1, 2, 3, 7, 20, 64))), max_size=30).map(
    lambda parts: int("".join(str(int(bit)) * times for bit, times in parts)[:64] or "0", 2)
)
windows = st.one_of(
    st.lists(st.text(st.sampled_from(ONE_BYTES + WIDE), max_size=6), max_size=30).map("".join),
    st.lists(st.builds(lambda c, n: c * n, st.sampled_from(ONE_BYTES + WIDE), st.integers(1, 30)), max_size=9).map(
        "".join
    ),
)


def as_masks(text: str) -> dict[str, int]:
    """What a scanner knows of the first 64 bytes of a text."""
    data = text.encode()[:64]
    place = {
        "blank": b" \t",
        "newline": b"\r\n",
        "slash": b"/",
        "leads": bytes(range(0xC0, 0x100)),
        "further": bytes(range(0x80, 0xC0)),
    }
    found = {name: sum(1 << i for i, byte in enumerate(data) if byte in chars) for name, chars in place.items()}
    wide = sum(1 << i for i, byte in enumerate(data) if byte >= 0xC0 and _is_space(data, i))
    found["blank"] |= plain_wide.whole_characters(wide, found["further"])
    found["valid"] = (1 << len(data)) - 1
    found["visible"] = found["valid"] & ~(found["blank"] | found["newline"])
    return found


def _is_space(data: bytes, position: int) -> bool:
    width = 2 if data[position] < 0xE0 else 3 if data[position] < 0xF0 else 4
    return data[position : position + width].decode(errors="replace").isspace()  # no space when cut at the end


def u64(*values: int) -> tuple[np.uint64, ...]:
    return tuple(map(np.uint64, values))


@given(mask=st.one_of(masks, runs))
def test_lowest_cleared(mask):
    assert window_spans.lowest_cleared(*u64(mask)) == plain_spans.lowest_cleared(mask)


@given(mask=runs, choice=masks)
def test_fill_runs(mask, choice):
    assert window_spans.fill_runs(*u64(choice & mask, mask)) == plain_spans.fill_runs(choice & mask, mask)


@given(number=runs, leads=masks, most=st.sampled_from((1, 3)))
def test_number_starts(number, leads, most):
    further = 0 if most == 3 else number & ~leads
    found = window_spans.number_starts(*u64(number, further), most)
    assert found == plain_spans.number_starts(number, further, most)


@given(text=windows, slashes=st.booleans(), one_end=st.booleans())
def test_white_starts(text, slashes, one_end):
    seen = as_masks(text)
    lines = seen["newline"] | (seen["slash"] if slashes else 0)
    taken = plain_spans.fill_runs(seen["newline"] & (seen["visible"] << 1), lines)
    end_bit = (seen["valid"] + 1) if one_end and seen["valid"] < 2**64 - 1 else 0
    arguments = (
        *(seen["blank"], seen["newline"], taken, seen["visible"] & ~taken),
        *(seen["leads"], seen["further"], end_bit),
    )
    found, trusted = window_spans.white_starts(*u64(*arguments))
    expected, expected_trusted = plain_spans.white_starts(*arguments)
    assert trusted == expected_trusted
    known = (1 << trusted) - 1
    assert int(found) & known == expected & known


@given(token=st.one_of(masks, runs), whole=st.booleans(), n=st.integers(0, 9))
def test_append_spans(token, whole, n):
    token &= ~1
    whole = whole or token == 0
    results = []
    for function in (window_spans.append_spans, plain_spans.append_spans):
        starts, ends = np.zeros(n + 73, np.int64), np.zeros(n + 73, np.int64)
        after, position = (int(x) for x in function(np.uint64(token), whole, 1000, 1064, starts, ends, n))
        results.append((after, position, starts[:after].tolist(), ends[:after].tolist()))
    assert results[0] == results[1]


@given(text=st.text(st.one_of(st.sampled_from(ALPHABET + WIDE), st.characters(exclude_categories=["Cs"]))))
def test_wide_characters(text):
    encoded = text.encode()
    data = np.frombuffer(encoded + bytes(64), np.uint8)
    seen = as_masks(text)
    starts = [i for i in plain_spans.bits_of(seen["leads"]) if i + 4 <= 64 or len(encoded) < 64]
    leads = plain_spans.mask_of(starts)
    further = seen["further"]
    assert window_wide.whole_characters(*u64(leads, further)) == plain_wide.whole_characters(leads, further)
    for name in ("wide_letters", "wide_cases"):
        found = getattr(window_wide, name)(*TABLES, data, 0, *u64(leads, further))
        assert tuple(map(int, found)) == getattr(plain_wide, name)(*TABLES, data, 0, leads, further)


@pytest.mark.parametrize("reference", ["tokenizers", "tiktoken"])
def test_sure_letters_are_letters(reference):
    classes = classes_of_all(*class_tables(reference)[:2])
    known = np.zeros(5, np.int64)
    characters = [chr(c) for c in range(0x80, 0x10000) if not 0xD800 <= c < 0xE000]
    for first in range(0, len(characters), 16):
        group = characters[first : first + 16]
        encoded = "".join(group).encode()
        data = np.frombuffer(encoded + bytes(64), np.uint8)
        letter = window_wide.sure_letters(data, 0)
        cases = window_wide.sure_cases(data, 0)
        place = 0
        for c in group:
            if int(letter) >> place & 1:
                assert LETTERS >> int(classes[ord(c)]) & 1, f"U+{ord(c):04X}"
                known[0] += 1
            for kind, mask in zip((UPPER, LOWER, LETTER), cases, strict=True):
                if int(mask) >> place & 1:
                    assert classes[ord(c)] == kind, f"U+{ord(c):04X}"
                    known[kind - UPPER + 1] += 1
            place += len(c.encode())
    assert np.all(known[:4] > 60) == VECTOR
