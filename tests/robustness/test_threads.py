"""One tokenizer in many threads, several tokenizers in one, and what stays behind in memory."""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from numba_nlp.errors import InvalidTextError, UnknownTokenError
from tests.families import FAMILIES, any_family, family
from tests.made_tokenizers import END, HAMLET, TEXTS, gpt2, regex_cut, roberta_like
from tests.toy_vocabulary import toy_vocabulary


def lines() -> list[str]:
    return HAMLET.read_text(encoding="utf-8").splitlines()


# --- threads -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fresh", [True, False], ids=["first use", "used before"])
def test_every_call_from_many_threads(fresh: bool) -> None:
    ours = nlp.Tokenizer(gpt2().ours.vocabulary) if fresh else gpt2().ours
    texts = [*lines()[:2000], *TEXTS, f"a{END}b", "x" * 20_000]
    expected = gpt2().ours.encode_batch(texts, spans=True)
    rows = [row.tolist() for row in expected]
    start = threading.Barrier(8)

    def work(seed: int) -> None:
        order = random.Random(seed)
        start.wait()
        for _ in range(300):
            row = order.randrange(len(texts))
            assert ours.encode(texts[row]).tolist() == rows[row]
            assert ours.decode(rows[row]) == texts[row]
            if order.random() < 0.02:
                first = order.randrange(1500)
                part = ours.encode_batch(texts[first:], spans=True, num_threads=1 + seed % 3)
                assert part.equals(expected[first:])
                assert ours.decode_batch(part) == texts[first:]
            if order.random() < 0.05:
                assert ours.encode(texts[row], spans=True)[0].tolist() == rows[row]
                ours.encode(texts[row], special={END} if seed % 2 else "plain")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@any_family
def test_threads_that_meet_in_a_new_tokenizer(name: str) -> None:
    ours = nlp.Tokenizer(family(name).vocabulary)
    texts = [*lines()[:200], *TEXTS]
    expected = family(name).encode_batch(texts, spans=True)
    rows, decoded = expected.to_list(), family(name).decode_batch(expected)
    start = threading.Barrier(6)

    def work(seed: int) -> None:
        order = random.Random(seed)
        start.wait()
        for _ in range(60):
            row = order.randrange(len(texts))
            assert ours.encode(texts[row]).tolist() == rows[row]
            assert ours.decode(rows[row]) == decoded[row]
            if order.random() < 0.1:
                assert ours.encode_batch(texts, spans=True, num_threads=1 + seed % 3).equals(expected)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))


def test_a_list_that_changes_meanwhile() -> None:
    ours = gpt2().ours
    texts: list[Any] = [f"row number {i} é" for i in range(2000)]
    stop = threading.Event()

    def change() -> None:
        order = random.Random(0)
        while not stop.is_set():
            texts[order.randrange(len(texts))] = "z" * order.randrange(50)
            texts.pop()
            texts.insert(order.randrange(len(texts)), "日" * order.randrange(9))
            del texts[:3]
            texts.extend(["new", "é", "x"])

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(200):
            batch = ours.encode_batch(texts, num_threads=2)
            assert "\ufffd" not in "".join(map(str, ours.decode_batch(batch)))
            assert 1990 < len(batch) < 2010
    finally:
        stop.set()
        thread.join()


def test_tokenizers_never_share_what_they_remember() -> None:
    tokenizers = [*map(family, FAMILIES), roberta_like().ours, nlp.Tokenizer(toy_vocabulary())]
    texts = [*TEXTS, "the theatre", "and then"] * 3
    fresh = [nlp.Tokenizer(tok.vocabulary).encode_batch(texts).to_list() for tok in tokenizers]
    assert all(one != other for one, other in combinations(fresh, 2))
    for text in texts:
        for tok in tokenizers:
            tok.encode(text)
    for tok, expected in zip(tokenizers, fresh, strict=True):
        assert tok.encode_batch(texts).to_list() == expected
        assert [tok.encode(text).tolist() for text in texts] == expected


# --- memory --------------------------------------------------------------------------------------------------------


def test_reference_counts_stay() -> None:
    ours = gpt2().ours
    texts: list[Any] = ["an ordinary sentence", "é" * 3, f"x{END}", "\ud800", b"bytes", "y" * 20_000, None, 5]
    counted = [*texts, None, True, np.ndarray, np.dtype(np.int32), ours]

    def call(text: Any) -> None:
        try:
            ours.encode(text)
        except (InvalidTextError, TypeError):
            return

    for text in texts:
        call(text)
    before = [sys.getrefcount(thing) for thing in counted]
    for text in texts:
        for _ in range(10_000 if text is texts[0] or text is texts[1] else 500):
            call(text)
    after = [sys.getrefcount(thing) for thing in counted]
    # None and True are immortal or counted by everyone, so a few more or less say nothing; thousands would
    assert all(abs(b - a) < 100 for a, b in zip(before, after, strict=True)), (before, after)
    ids = ours.encode(texts[0])
    assert sys.getrefcount(ids) == 2


def _resident() -> int:
    """Bytes of memory that this process holds."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("reads the memory of the process from /proc")
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _growth(call: Callable[[], object], rounds: int) -> tuple[int, int]:
    """Bytes that Python's allocator, and the process, hold more after many calls than after a few."""
    for _ in range(3):
        call()
    gc.collect()
    resident = _resident()
    tracemalloc.start()
    try:
        call()
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(rounds):
            call()
        gc.collect()
        traced = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    return traced, _resident() - resident


def _fail(ours: nlp.Tokenizer, texts: list[str]) -> None:
    with pytest.raises(InvalidTextError):
        ours.encode_batch([*texts, "\ud800"])
    with pytest.raises(UnknownTokenError):
        ours.decode_batch([[1, 2], [70_000]])


CALLS: dict[str, Callable[[nlp.Tokenizer, list[str]], object]] = {
    "batches": lambda ours, texts: ours.encode_batch(texts, spans=True, num_threads=2),
    "long pre-tokens": lambda ours, _: ours.encode_batch(["x" * 100_000, "short"]),
    "long pre-tokens, alone": lambda ours, _: ours.encode("y" * 100_000),
    "singles": lambda ours, texts: [ours.encode(text) for text in texts[:500]],
    "decoding": lambda ours, texts: ours.decode_batch(ours.encode_batch(texts[:500])),
    "errors": _fail,
    "collections of special tokens": lambda ours, texts: ours.encode_batch(texts[:50], special={END}),
}


@pytest.mark.parametrize("name", CALLS)
def test_memory_stays(name: str) -> None:
    ours, texts = gpt2().ours, lines()
    traced, resident = _growth(lambda: CALLS[name](ours, texts), 25)
    assert traced < 100_000
    assert resident < 30e6


@pytest.mark.parametrize("ordered", [True, False])
def test_long_pre_tokens_leave_no_memory_behind(ordered: bool) -> None:
    # Pieces of up to 8192 letters leave no place to cut a pre-token, so memory for the whole of it is taken, and given
    # back afterwards.
    doublings = [(b"a" * (1 << i),) * 2 for i in range(13)]
    ours = nlp.Tokenizer(toy_vocabulary(doublings if ordered else doublings[::-1]))
    assert ours.describe()["merging"].startswith("linear" if ordered else "heap")
    rows = ["the", "a" * 20_000, "", "aaa", "x" + "a" * 40_000 + "b", "a" * 20_000]
    expected = [ours.encode(row).tolist() for row in rows]
    lengths = [len(ours.id_to_bytes(number)) for number in expected[1]]
    assert lengths == [8192, 8192, 2048, 1024, 512, 32]
    for threads in (1, 2):
        assert ours.encode_batch(rows, num_threads=threads).to_list() == expected
        assert ours.encode_batch(rows * 9, num_threads=threads).to_list() == expected * 9
    traced, resident = _growth(lambda: (ours.encode_batch(rows), ours.encode(rows[1])), 25)
    assert traced < 100_000
    assert resident < 30e6


def test_discarded_tokenizers_leave_nothing() -> None:
    vocabulary = toy_vocabulary()

    def use() -> None:
        tok = nlp.Tokenizer(vocabulary)
        tok.encode("the and")
        tok.encode_batch(["the", "and"] * 50, num_threads=1)

    traced, resident = _growth(use, 50)
    assert traced < 100_000
    assert resident < 60e6


def test_the_cache_of_words_is_bounded() -> None:
    ours = nlp.Tokenizer(regex_cut().ours.vocabulary)
    order = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    before = None
    for number in range(12):
        texts = [" ".join("".join(order.choices(letters, k=order.randrange(3, 30))) for _ in range(60_000))]
        batch = ours.encode_batch(texts, num_threads=1)
        assert ours.decode(batch[0]) == texts[0]
        if number == 5:
            before = _resident()
    assert before is not None
    assert _resident() - before < 40e6


# --- what the fast path must leave to the plain one ----------------------------------------------------------------


def test_errors_of_the_fast_path_leave_no_exception_behind() -> None:
    ours = gpt2().ours
    expected = ours.encode("fine").tolist()
    for bad, error in (("\ud800", InvalidTextError), (None, TypeError), (5, TypeError), (object(), TypeError)):
        for _ in range(50):
            with pytest.raises(error) as caught:
                ours.encode(bad)  # type: ignore[arg-type]
            assert caught.value.__context__ is None
            assert ours.encode("fine").tolist() == expected
    huge = "word é " * 200_000
    assert ours.decode(ours.encode(huge)) == huge
