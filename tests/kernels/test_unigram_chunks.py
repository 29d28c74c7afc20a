"""Chunks of a row: used again only when the row by itself gives the same, however near the ties."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.unigram import segment
from numba_nlp.kernels.segment.unigram_chunks import (
    SPLIT_BEFORE_EACH,
    SPLIT_NONE,
    KnownChunks,
    chunk_end,
    replay,
    segment_chunks,
    solve,
)
from numba_nlp.kernels.segment.unigram_memory import LIMIT, RUNNING, new_scratch
from numba_nlp.reference.segment import unigram as plain_unigram
from numba_nlp.reference.segment import unigram_chunks as plain
from tests.unigram_cases import ALPHABET, NORMAL, SPACE, UNKNOWN, Piece, make_case, random_case, random_text

cases = st.integers(0, 99).map(random_case)
texts = st.integers(0, 2**32).map(random_text)


def cut(text: str, split: int) -> list[bytes]:
    """Chunks by the kernel."""
    data = np.frombuffer(text.encode(), np.uint8)
    chunks, at = [], 0
    while at < data.size:
        end = int(chunk_end(data, at, data.size, split))
        chunks.append(data[at:end].tobytes())
        at = end
    return chunks


def solved(case, chunk: bytes, running: float = 0.0):
    """Tokens, running score behind, limit."""
    scratch = new_scratch(case.tables, len(chunk))
    ids, ends = np.empty(len(chunk), np.int32), np.empty(len(chunk), np.int64)
    data = np.frombuffer(chunk, np.uint8)
    n = int(solve(case.tables, data, 0, len(chunk), running, scratch, ids, ends, 0))
    found = list(zip(ids[:n].tolist(), ends[:n].tolist(), strict=True))
    return found, float(scratch.outcome[RUNNING]), float(scratch.outcome[LIMIT])


@given(text=texts, split=st.integers(0, 4))
def test_chunks_are_those_of_the_twin(text, split):
    chunks = cut(text, split)
    assert b"".join(chunks) == text.encode()
    rest = text.encode()
    for chunk in chunks:
        assert len(chunk) == plain.chunk_end(rest, split)
        rest = rest[len(chunk) :]


@given(case=cases, text=texts, running=st.sampled_from([0.0, -0.5, -777.125, -65536.0, -99999.0, -100001.0, 250.0]))
def test_solving_is_that_of_the_twin(case, text, running):
    found, score, limit = solved(case, text.encode(), running)
    expected, expected_score, expected_limit = plain.solve(case.model, text.encode(), np.float32(running))
    assert found == expected
    assert score == float(expected_score)
    assert limit == pytest.approx(float(expected_limit), rel=1e-12, abs=0)


@given(case=cases, text=texts, seed=st.integers(0, 2**32))
def test_no_running_score_below_the_limit_changes_anything(case, text, seed):
    r = random.Random(seed)
    found, _, limit = solved(case, text.encode())
    tried = [0.0, limit, limit / 2, limit * r.random(), min(limit, 10 ** r.uniform(-3, 5)), 2.0 ** r.randrange(17)]
    for magnitude in tried:
        for running in (magnitude, -magnitude):
            running32 = float(np.nextafter(np.float32(running), np.float32(0)))
            if abs(running32) < limit:
                assert solved(case, text.encode(), running32)[0] == found


def test_limits_are_not_idle():
    """Near ties are decided otherwise by some running score above the limit; clear cases have a high limit."""
    pieces = [Piece("<unk>", 0, UNKNOWN), Piece("a", -1.1, NORMAL), Piece("b", -1.3, NORMAL), Piece("c", -1.7, NORMAL)]
    case = make_case([*pieces, Piece("ab", -2.401, NORMAL), Piece("bc", -3.1, NORMAL)])
    found, _, limit = solved(case, b"abc")
    assert 0 < limit < 3000
    changed = [running for running in range(1, 99000, 77) if solved(case, b"abc", -float(running))[0] != found]
    assert changed
    assert min(changed) > limit
    far = make_case([*pieces, Piece("ab", -0.5, NORMAL)])
    assert solved(far, b"abc")[2] > 99000


def test_what_cannot_be_used_again():
    case = make_case([Piece("<unk>", 0, UNKNOWN), Piece("a", -1, NORMAL), Piece("aa", -2, NORMAL)])
    # unknown characters, exact ties, too long
    assert solved(case, b"ax")[2] == -1
    assert solved(case, b"aaa")[2] == -1
    assert solved(case, b"a")[2] > 99000
    assert solved(case, b"a" * (1 << 14))[2] == -1
    # the running score is about to start again
    assert solved(case, b"a", -99999.0)[2] == -1
    assert solved(case, b"")[2] == float("inf")


@given(case=cases, ids=st.lists(st.integers(2, 3), max_size=30), running=st.floats(-1e5, 1e5, width=32))
def test_replaying(case, ids, running):
    found = replay(case.tables, np.array(ids, np.int32), 0, len(ids), running)
    assert float(found) == float(plain.replay(case.model, ids, np.float32(running)))


def known_chunks(case, chunks: list[bytes]) -> tuple[KnownChunks, np.ndarray]:
    """Results of the distinct chunks, and the number of each."""
    numbers = {chunk: i for i, chunk in enumerate(dict.fromkeys(chunks))}
    results = [solved(case, chunk) for chunk in numbers]
    ids = [[number for number, _ in found] for found, _, _ in results]
    known = KnownChunks(
        np.array([limit for _, _, limit in results], np.float64),
        np.cumsum([0, *map(len, ids)], dtype=np.int64),
        np.array([number for part in ids for number in part], np.int32),
    )
    return known, np.array([numbers[chunk] for chunk in chunks], np.int64)


def by_chunks(case, chunks: list[bytes], *, forget: int = 0) -> tuple[list[tuple[int, int]], int]:
    """Tokens of a row by its chunks, all but some known; and how many were used."""
    text = b"".join(chunks)
    known, numbers = known_chunks(case, chunks)
    if forget:
        numbers[::forget] = -1
    ends = np.cumsum([len(chunk) for chunk in chunks], dtype=np.int64)
    ids, token_ends, reused = (
        np.empty(len(text), np.int32),
        np.empty(len(text), np.int64),
        np.zeros(len(chunks), np.uint8),
    )
    scratch = new_scratch(case.tables, max(map(len, chunks)))
    n = int(
        segment_chunks(
            case.tables, known, np.frombuffer(text, np.uint8), 0, ends, numbers, scratch, ids, token_ends, 0, reused
        )
    )
    return list(zip(ids[:n].tolist(), token_ends[:n].tolist(), strict=True)), int(reused.sum())


def whole(case, text: bytes) -> list[tuple[int, int]]:
    """Tokens of a row at once."""
    ids, ends = np.empty(len(text), np.int32), np.empty(len(text), np.int64)
    n = int(
        segment(
            case.tables, np.frombuffer(text, np.uint8), 0, len(text), new_scratch(case.tables, len(text)), ids, ends, 0
        )
    )
    return list(zip(ids[:n].tolist(), ends[:n].tolist(), strict=True))


def spaced_case(seed: int, magnitude: float):
    """Pieces in which U+2581 stands in front only, with scores that tie or nearly tie in sums."""
    r = random.Random(seed)
    grid = magnitude * r.choice((0.1, 0.001, 1 / 3, 1e-5))
    texts = {"a", "b", "c", SPACE}
    texts |= {r.choice(("", SPACE)) + "".join(r.choices("abc", k=r.choice((1, 2, 2, 3)))) for _ in range(14)}
    scores = {text: -magnitude * len(text) - grid * r.randrange(3) for text in sorted(texts)}
    return make_case([Piece("<unk>", 0, UNKNOWN), *(Piece(text, score, NORMAL) for text, score in scores.items())])


@pytest.mark.parametrize("magnitude", [1.0, 10.0, 300.0])
@pytest.mark.parametrize("seed", range(4))
def test_rows_by_chunks_are_rows_at_once(seed, magnitude):
    case = spaced_case(seed, magnitude)
    r = random.Random(seed)
    words = [SPACE + "".join(r.choices("abc", k=r.randrange(6))) for _ in range(40)]
    for n, unknown in ((1, 0.0), (30, 0.0), (200, 0.01)):
        text = "".join(r.choice("xy") if r.random() < unknown else r.choice(words) for _ in range(n))
        chunks = cut(text, SPLIT_BEFORE_EACH)
        expected = whole(case, text.encode())
        for forget in (0, 3):
            assert by_chunks(case, chunks, forget=forget)[0] == expected
        if n < 100:
            assert plain.segment_chunks(case.model, chunks) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_long_rows_by_chunks(seed):
    """Past many resets; ties that are near at every magnitude."""
    case = spaced_case(seed, random.Random(seed).choice((0.5, 3.0, 10.0, 120.0, 900.0)))
    r = random.Random(seed)
    words = [SPACE + "".join(r.choices("abc", k=r.randrange(9))) for _ in range(300)]
    chunks = [word.encode() for word in r.choices(words, k=6000)]
    found, reused = by_chunks(case, chunks, forget=r.choice((0, 0, 5)))
    assert found == whole(case, b"".join(chunks))
    assert reused > 0


def test_most_chunks_of_plain_text_are_used_again():
    r = random.Random(5)
    texts = {*"abcdefgh", SPACE, *(SPACE + "".join(r.choices("abcdefgh", k=3)) for _ in range(100))}
    texts |= {"".join(r.choices("abcdefgh", k=2)) for _ in range(40)}
    pieces = [Piece(text, -8 * r.random() - 2, NORMAL) for text in sorted(texts)]
    case = make_case([Piece("<unk>", 0, UNKNOWN), *pieces])
    words = [SPACE + "".join(r.choices("abcdefgh", k=5)) for _ in range(30)]
    chunks = [word.encode() for word in r.choices(words, k=150)]
    found, reused = by_chunks(case, chunks)
    assert found == whole(case, b"".join(chunks))
    assert reused > 140


def test_nothing_is_used_beyond_its_limit():
    case = spaced_case(1, 10.0)
    chunks = [SPACE.encode() + b"abc"] * 10
    known, numbers = known_chunks(case, chunks)
    ends = np.arange(1, 11, dtype=np.int64) * len(chunks[0])
    data = np.frombuffer(b"".join(chunks), np.uint8)
    wrong = known._replace(limits=np.full(1, 100.0), ids=np.full_like(known.ids, 1))
    ids, reused = np.empty(data.size, np.int32), np.zeros(10, np.uint8)
    scratch = new_scratch(case.tables, 10)
    n = segment_chunks(case.tables, wrong, data, 0, ends, numbers, scratch, ids, np.empty(0, np.int64), 0, reused)
    assert n > 0
    assert reused[0] == 1
    # each chunk adds about -40, what the wrong ids add less
    assert not reused[-1]
    assert (np.diff(reused.astype(int)) <= 0).all()


def test_too_small_scratch():
    case = random_case(0)
    ids = np.empty(9, np.int32)
    assert (
        solve(case.tables, np.zeros(9, np.uint8), 0, 9, 0.0, new_scratch(case.tables, 8), ids, np.empty(0, np.int64), 0)
        == -9
    )


def test_not_split_is_whole():
    assert cut(f"a{SPACE}b", SPLIT_NONE) == [f"a{SPACE}b".encode()]


def test_alphabet_has_spaces_and_the_model_forgets_nothing():
    assert SPACE in ALPHABET
    case = random_case(2)
    assert plain_unigram.segment(case.model, b"") == []


@given(case=cases, text=texts)
def test_characters_are_counted_from_the_last_place_that_no_piece_reaches_across(case, text):
    data = np.frombuffer(text.encode(), np.uint8)
    scratch = new_scratch(case.tables, data.size)
    ids = np.empty(data.size + 1, np.int32)
    solve(case.tables, data, 0, data.size, 0.0, scratch, ids, np.empty(0, np.int64), 0)
    candidates, n_characters = plain_unigram.find_best(case.model, text.encode(), np.float32(0))
    pieces = [(candidate[1], end) for end in range(1, data.size + 1) for candidate in candidates[end]]
    place = before = 0
    for n, character in enumerate(text, start=1):
        if not any(start < place < end for start, end in pieces):
            before = n - 1
        place += len(character.encode())
        assert scratch.since[place] == n - before
    assert n_characters == len(text)
