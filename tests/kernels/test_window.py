"""Window scanners: the same spans as one call of the scalar scanner a token, wherever a window ends."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from numba_nlp.kernels.segment import fill_scalar, scan, window_cl100k, window_gpt2, window_o200k
from numba_nlp.kernels.segment.patterns import PATTERN_CODES, PATTERN_NAMES
from numba_nlp.kernels.words import VECTOR
from numba_nlp.reference.segment import fill_scalar as plain
from tests.scan_texts import ALPHABET, FRAGMENTS, texts
from tests.shared_data import shared
from vocab_tools.compiler.classes import class_tables

CLASS_INDEX, CLASS_BLOCKS, _ = class_tables("tokenizers")
TABLES = (CLASS_INDEX, CLASS_BLOCKS)
FILLS = {name: getattr(fill_scalar, f"fill_spans_{name}") for name in PATTERN_NAMES}
WINDOWS = {
    "gpt2": window_gpt2.fill_spans_gpt2,
    "cl100k": window_cl100k.fill_spans_cl100k,
    "llama3": window_cl100k.fill_spans_llama3,
    "qwen2": window_cl100k.fill_spans_qwen2,
    "o200k": window_o200k.fill_spans_o200k,
    "tekken": window_o200k.fill_spans_tekken,
}
#: What a scanner may write behind the spans that it was asked for.
SLACK = 80
UNWRITTEN = -7

LETTERS = "a", "Z", "\u00e9", "\u0436", "\u0416", "\u4e00", "\uac00", "\u05d0", "\U00010400", "\u02b0", "s", "S"
RUNS = (
    *LETTERS,
    *("1", "\u0665", "\u00bd", " ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "!", "/", "'", "\u2019", "\u0301"),
    *("\U0001f600", "\x00", "aB", "\u0301a", " a", " \n", "\n ", "'s", "''", "!\n", "\n/", "\u4e00A"),
)
TAILS = (
    *("'s", "'S", "'ll", "'Ll", "'re", "'\u017f", "'l", "'", "'s's", "'sx", " 's", "\u4e00's"),
    *(
        "\n",
        " \n",
        "\n \n",
        "\n \n ",
        "  ",
        " \n  ",
        "!\n",
        "!\n \n",
        "!\n/",
        "\n  a",
        "  a",
        "\t!",
        "\u3000",
        "\u3000 a",
    ),
    *(
        "1",
        "12",
        "1234",
        "1\u0665",
        "aB",
        "AB",
        "ABc",
        "\u4e00A",
        "\u0301",
        "\u0301A",
        "-a",
        "--a",
        "- a",
        "\U0001f600",
    ),
)
#: A run that reaches to somewhere about the end of a window, then what must be decided there.
edges = st.builds(
    lambda lead, run, times, tail, rest: lead + run * (times // len(run.encode())) + tail + rest,
    st.sampled_from(("", " ", "a", "1", "!", "\n", "'", "ab ", "\u00e9")),
    st.sampled_from(RUNS),
    st.integers(50, 72),
    st.sampled_from(TAILS),
    st.sampled_from(("", "a", " a", "\n", "!", "A", "1", "'s", "\u00e9", "b c d e f g h i", "\u3000", "\n\n  x")),
)
runs = st.lists(
    st.builds(
        lambda part, times: part * times,
        st.sampled_from((*ALPHABET, *FRAGMENTS, *RUNS, *TAILS)),
        st.sampled_from((1, 1, 1, 1, 2, 3, 5, 30)),
    ),
    max_size=24,
).map("".join)
few = st.lists(st.sampled_from((*RUNS, *TAILS)), min_size=1, max_size=4).flatmap(
    lambda parts: st.lists(st.sampled_from(parts), max_size=60).map("".join)
)
long_texts = st.one_of(edges, runs, few, texts)

#: Bytes that would belong to a character of the text before.
further = st.builds(lambda byte, times: bytes([byte]) * times, st.integers(0x80, 0xBF), st.integers(1, 4))


def as_data(text: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(text, dtype=np.uint8)


def spans_of(fill, data: NDArray[np.uint8], position: int, stop: int, limit: int = 1000) -> list[int]:
    """Start of the first token and ends of all, asked for ``limit`` at a time."""
    found = [position]
    first = 3
    while position < stop:
        starts, ends = (np.full(first + limit + SLACK, UNWRITTEN) for _ in range(2))
        n, after = (int(x) for x in fill(*TABLES, data, position, stop, starts, ends, first, first + limit))
        assert first < n < first + limit + 64
        assert n >= first + limit or after == stop
        assert np.all(starts[:first] == UNWRITTEN)
        assert np.all(ends[:first] == UNWRITTEN)
        assert starts[first] == position
        assert np.array_equal(starts[first + 1 : n], ends[first : n - 1])
        assert ends[n - 1] == after
        found += ends[first:n].tolist()
        position = after
    return found


def expected(name: str, data: NDArray[np.uint8], position: int, stop: int) -> list[int]:
    next_end = getattr(scan, f"next_end_{name}")
    found = [position]
    while position < stop:
        position = int(next_end(*TABLES, data, position, stop))
        found.append(position)
    return found


@pytest.mark.parametrize("name", WINDOWS)
@given(text=long_texts)
def test_spans_are_those_of_the_scalar_scanner(name, text):
    data = as_data(text.encode())
    assert spans_of(WINDOWS[name], data, 0, data.size) == expected(name, data, 0, data.size)


@pytest.mark.parametrize("name", WINDOWS)
@given(text=long_texts, before=texts, after=st.one_of(long_texts.map(str.encode), st.binary(), further))
def test_bytes_before_and_after_a_text_do_not_matter(name, text, before, after):
    start = len(before.encode())
    stop = start + len(text.encode())
    data = as_data((before + text).encode() + after + bytes(64))
    assert spans_of(WINDOWS[name], data, start, stop) == expected(name, data, start, stop)


@pytest.mark.parametrize("name", WINDOWS)
def test_what_a_window_reads_beyond_a_text_does_not_matter(name):
    # any memory, such as the rest of another character or of a contraction
    afters = (
        b"\x80",
        b"\x80\xbf",
        b"\x80" * 70,
        b"l",
        b"e",
        b"s",
        b"\xc5\xbf",
        b" ",
        b"\n",
        b"a",
        b"A",
        b"1",
        b"/",
        b"!",
    )
    ends = "\n\u2003", "a\n \u3000", "1\u0665", "\u00e9\u0301", "a'", "a'l", "'r", "x'V", "!\n", " \n "
    for text in (*ALPHABET, *FRAGMENTS, *TAILS, *ends):
        for after in afters:
            stop = len(text.encode())
            data = as_data(text.encode() + after + bytes(64))
            assert spans_of(WINDOWS[name], data, 0, stop) == expected(name, data, 0, stop), (text, after)


@pytest.mark.parametrize("name", WINDOWS)
@given(text=long_texts, limit=st.integers(1, 70))
def test_any_limit_gives_the_same_spans(name, text, limit):
    data = as_data(text.encode())
    assert spans_of(WINDOWS[name], data, 0, data.size, limit) == expected(name, data, 0, data.size)


@pytest.mark.skipif(not VECTOR, reason="the plain forms have no windows")
@pytest.mark.parametrize("name", WINDOWS)
def test_every_edge_at_every_place(name):
    for run in RUNS:
        row = bytearray()
        rows = [0]
        for tail in TAILS:
            for times in range(54, 68):
                row += (run * (times // len(run.encode())) + "." * (times % len(run.encode())) + tail + "x").encode()
                rows.append(len(row))
        data = as_data(bytes(row))
        whole = data.size
        assert spans_of(WINDOWS[name], data, 0, whole) == expected(name, data, 0, whole)
        for start, stop in zip(rows[::5], rows[1::5], strict=False):
            assert spans_of(WINDOWS[name], data, start, stop - 1) == expected(name, data, start, stop - 1)


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(text=texts, limit=st.integers(1, 6))
def test_scalar_fills_agree_with_their_twins(name, text, limit):
    data = as_data(text.encode())
    twin = getattr(plain, f"fill_spans_{name}")
    assert spans_of(FILLS[name], data, 0, data.size, limit) == spans_of(twin, data, 0, data.size, limit)


@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_nothing_is_written_for_an_empty_text_or_at_the_limit(name):
    data = as_data(b"some text")
    for fill in (FILLS[name], WINDOWS.get(name, FILLS[name]), getattr(plain, f"fill_spans_{name}")):
        for position, n in ((9, 0), (4, 5)):
            starts, ends = np.full(90, UNWRITTEN), np.full(90, UNWRITTEN)
            assert fill(*TABLES, data, position, 9, starts, ends, n, 5) == (n, position)
            assert np.all(starts == UNWRITTEN)
            assert np.all(ends == UNWRITTEN)


def test_every_pattern_has_a_fill():
    assert set(FILLS) == set(PATTERN_CODES)
    assert set(WINDOWS) <= set(PATTERN_CODES)


@contextmanager
def before_a_guard_page() -> Iterator[NDArray[np.uint8]]:
    """Memory whose next page may not be read."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    data = np.frombuffer(memory, dtype=np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    guard = data.ctypes.data + page
    assert protect(guard, page, 0) == 0
    try:
        yield data[:page]
    finally:
        assert protect(guard, page, mmap.PROT_READ | mmap.PROT_WRITE) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
@pytest.mark.parametrize("name", WINDOWS)
def test_texts_at_the_end_of_memory(name):
    with before_a_guard_page() as page:
        for run in RUNS:
            for tail in TAILS:
                text = (run * 30)[:30] + tail + run * 12 + tail
                encoded = as_data(text.encode())
                data = page[page.size - encoded.size :]
                data[:] = encoded
                assert spans_of(WINDOWS[name], data, 0, data.size) == expected(name, encoded, 0, data.size)


@pytest.mark.slow
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("file", ["hamlet.txt", "udhr_all_languages.txt", "blns.json", "english_16mb.txt"])
def test_real_text_in_rows_and_whole(name, file):
    rows = shared(f"text/{file}").read_bytes()[:400_000].decode(errors="ignore").encode().split(b"\n")
    data = as_data(b"".join(rows))
    start = 0
    for row in rows:
        stop = start + len(row)
        assert spans_of(WINDOWS[name], data, start, stop) == expected(name, data, start, stop)
        start = stop
    data = as_data(b"\n".join(rows))
    assert spans_of(WINDOWS[name], data, 0, data.size) == expected(name, data, 0, data.size)
