"""The article's Unigram algorithms: its worked examples, and the ids of the plain twins."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels.articles import unigram as kernels
from numba_nlp.kernels.tables.double_array import common_prefix_search
from numba_nlp.reference.articles import unigram as plain
from tests.shared_data import shared
from tests.unigram_cases import ALPHABET, SCORES, SPACE, random_text, read_pieces
from vocab_tools.compiler.article_unigram import article_tables
from vocab_tools.compiler.double_array import build_double_array

ALGORITHMS = [kernels.nested_loops, kernels.trie]


@kernel
def list_characters(text, start, stop, places):
    return kernels.list_characters(text, start, stop, places)


class Vocabulary:
    """Pieces with scores, for both algorithms and their twins."""

    def __init__(self, pieces: list[str], scores: list[float]) -> None:
        self.pieces = pieces
        self.tables = article_tables([piece.encode() for piece in pieces], scores)
        self.table = plain.fill_article_slots(pieces)
        self.scores = [np.float32(score) for score in scores]
        self.root = plain.DagNode("")
        for index, piece in enumerate(pieces):
            plain.insert(self.root, piece, self.scores[index], index)

    def tokens(self, algorithm, text: str) -> list[tuple[int, int]]:
        """Ids and ends in bytes by a kernel, ``text`` prepared by it."""
        data = np.frombuffer(b"?" + text.encode(), np.uint8)
        prepared = np.zeros(3 * data.size, np.uint8)
        n = int(kernels.replace_spaces(data, 1, data.size, prepared))
        assert prepared[:n].tobytes().decode() == plain.replace_spaces(text)
        ids, ends = np.full(n + 2, -7, np.int32), np.full(n + 2, -7, np.int64)
        scratch = kernels.new_article_scratch(n + 1)
        out = int(algorithm(self.tables, prepared, 0, n, scratch, ids, ends, 1))
        assert out == algorithm(self.tables, prepared, 0, n, scratch, ids.copy(), np.empty(0, np.int64), 1)
        assert ids[0] == -7
        assert (ids[out:] == -7).all()
        return list(zip(ids[1:out].tolist(), ends[1:out].tolist(), strict=True))

    def expected(self, text: str) -> list[tuple[int, int]]:
        """Ids and ends in bytes by the twins, which agree."""
        prepared = plain.replace_spaces(text)
        path = plain.trie(self.root, prepared)
        assert path == plain.nested_loops(self.table, self.scores, prepared)
        places = plain.list_characters(prepared)
        return [(node.number, places[node.end]) for node in path]


@lru_cache(maxsize=100)
def random_vocabulary(seed: int) -> Vocabulary:
    r = random.Random(seed)
    score = SCORES[seed % len(SCORES)]
    pieces = {"".join(r.choices(ALPHABET, k=r.choice((1, 2, 2, 3, 4)))) for _ in range(r.choice((1, 5, 25)))}
    return Vocabulary(["<unk>", *sorted(pieces)], [0.0, *(score(r) for _ in pieces)])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(seed=st.integers(0, 99), text=st.integers(0, 2**32).map(random_text) | st.text(" ab<unk>", max_size=20))
def test_tokens_are_those_of_the_twins(algorithm, seed, text):
    vocabulary = random_vocabulary(seed)
    assert vocabulary.tokens(algorithm, text) == vocabulary.expected(text)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_score_of_0_behind_unknown_characters_beats_a_longer_piece(algorithm):
    vocabulary = Vocabulary(["<unk>", "a", "c", "abc"], [0, -2, -3, -5.5])
    assert vocabulary.tokens(algorithm, "abc") == [(1, 1), (0, 2), (2, 3)]
    # sentencepiece takes the longer piece; so do the article's algorithms if it is better than what is left
    vocabulary = Vocabulary(["<unk>", "a", "c", "abc"], [0, -2, -3, -2.5])
    assert vocabulary.tokens(algorithm, "abc") == [(3, 3)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_unknown_characters_are_not_joined_and_control_pieces_count(algorithm):
    vocabulary = Vocabulary(["<unk>", "<s>", SPACE], [0, -1, -2])
    assert vocabulary.tokens(algorithm, "\u00e9x <s>") == [(0, 2), (0, 3), (2, 6), (1, 9)]
    assert vocabulary.tokens(algorithm, "") == []


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_too_small_scratch(algorithm):
    vocabulary = random_vocabulary(1)
    text = np.full(10, 97, np.uint8)
    ids = np.empty(10, np.int32)
    assert (
        algorithm(vocabulary.tables, text, 0, 10, kernels.new_article_scratch(10), ids, np.empty(0, np.int64), 0) == -10
    )


def test_carpooling():
    """The figure of the article: the pieces that "carpooling" begins with are found in 5 steps."""
    words = ["cat", "carp", "car"]
    root = plain.DagNode("")
    for index, word in enumerate(words):
        plain.insert(root, word, np.float32(-1), index)
    assert not root.children["c"].leaf
    assert not root.children["c"].children["a"].leaf
    found, steps = plain.common_prefix_search(root, "carpooling")
    assert [node.text for node in found] == ["car", "carp"]
    assert steps == 5
    keys = sorted(word.encode() for word in words)
    units = build_double_array(keys, [words.index(key.decode()) for key in keys])
    lengths, values = np.empty(10, np.int64), np.empty(10, np.int32)
    assert common_prefix_search(units, np.frombuffer(b"carpooling", np.uint8), 0, 10, lengths, values) == 2
    assert [words[i] for i in values[:2]] == ["car", "carp"]
    assert lengths[:2].tolist() == [3, 4]


@lru_cache(maxsize=1)
def xlnet() -> Vocabulary:
    pieces = read_pieces(shared("vocab/xlnet/spiece.model").read_bytes())
    return Vocabulary([piece.text for piece in pieces], [piece.score for piece in pieces])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sesquipedalophobia(algorithm):
    vocabulary = xlnet()
    found = [vocabulary.pieces[i] for i, _ in vocabulary.tokens(algorithm, " Sesquipedalophobia")]
    assert found == [f"{SPACE}Se", "s", "qui", "ped", "alo", "phobia"]  # codespell:ignore alo


@pytest.mark.slow
def test_real_text():
    vocabulary = xlnet()
    lines = shared("text/udhr_all_languages.txt").read_text(encoding="utf-8").splitlines()
    for line in random.Random(1).sample(lines, 300):
        found = [vocabulary.tokens(algorithm, line[:200]) for algorithm in ALGORITHMS]
        assert found[0] == found[1]


def test_places_of_characters():
    text = np.frombuffer("?a\u00e9\u2581\U0001f600".encode(), np.uint8)
    places = np.full(9, -7, np.int32)
    assert list_characters(text, 1, text.size, places) == 4
    assert places[:5].tolist() == plain.list_characters("a\u00e9\u2581\U0001f600")
