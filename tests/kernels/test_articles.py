"""The article's four BPE algorithms: their twins' tokens, equality of the exact ones, worked examples, growth."""

from __future__ import annotations

import math
import random
import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels.articles.bpe_linked_list import merge_by_list, tokenize_priority_queue_linked_list
from numba_nlp.kernels.articles.bpe_naive import tokenize_naive
from numba_nlp.kernels.articles.bpe_presplit import tokenize_naive_presplit
from numba_nlp.kernels.articles.bpe_search_tree import (
    END,
    HEIGHT,
    LEFT,
    RIGHT,
    START,
    build_tree,
    find_node,
    merge_by_tree,
    node_after,
    node_before,
    remove_node,
    tokenize_priority_queue_bst,
)
from numba_nlp.kernels.articles.merge_pieces import (
    NODE,
    OVERLAP,
    STRETCH,
    emit_token,
    new_article_scratch,
    new_merge_pieces,
    prepare_text,
)
from numba_nlp.reference.articles import bpe_linked_list, bpe_naive, bpe_presplit, bpe_search_tree
from numba_nlp.reference.articles import merge_pieces as pieces_twin
from numba_nlp.reference.articles.bpe_search_tree import SymbolTree, height_of
from numba_nlp.reference.articles.merge_pieces import Symbol

ALGORITHMS = {
    "naive": (tokenize_naive, bpe_naive.tokenize_naive),
    "naive_presplit": (tokenize_naive_presplit, bpe_presplit.tokenize_naive_presplit),
    "priority_queue_bst": (tokenize_priority_queue_bst, bpe_search_tree.tokenize_priority_queue_bst),
    "priority_queue_linked_list": (
        tokenize_priority_queue_linked_list, bpe_linked_list.tokenize_priority_queue_linked_list,
    ),
}  # fmt: skip
EXACT = [name for name in ALGORITHMS if name != "naive_presplit"]
UNKNOWN = 0
CHARACTERS = "abc\u00e9\u65e5\u2581 \u3000\n.-\U0001f600\u00a0"
#: The merges of the article's first example, most frequent first.
EXAMPLE = ["<unk>", "er", "he", "ll", "lo", "hell", "low", "hello", *"\u2581helowr"]


def random_pieces(seed: int) -> list[str]:
    rng = random.Random(seed)
    found = ["<unk>", "<s>", *rng.sample("abc\u00e9\u65e5\u2581.-\U0001f600", 7)]
    for _ in range(rng.choice((2, 10, 40))):
        piece = rng.choice(found[2:]) + rng.choice(found[2:])
        if piece not in found and len(piece) < 10:
            found.append(piece)
    single = found[2:]
    rng.shuffle(single)
    return found[:2] + single


def run(name: str, pieces, text: str, scratch=None, before: int = 2):
    content = text.encode()
    data = np.frombuffer(b"a" * before + content + b"b", np.uint8)
    room = len(content) + 1
    ids, starts, ends = np.full(room, -7, np.int32), np.full(room, -7, np.int64), np.full(room, -7, np.int64)
    scratch = new_article_scratch(len(content)) if scratch is None else scratch
    n = ALGORITHMS[name][0](pieces, data, before, before + len(content), scratch, ids, starts, ends)
    if n < 0:
        return n
    assert (ids[n:] == -7).all()
    return list(zip(ids[:n].tolist(), starts[:n].tolist(), ends[:n].tolist(), strict=True))


def table(pieces: list[str]):
    return new_merge_pieces([piece.encode() for piece in pieces], UNKNOWN)


texts = st.one_of(
    st.text(CHARACTERS, max_size=40),
    st.builds(lambda part, n: part * n, st.text(CHARACTERS, min_size=1, max_size=4), st.integers(1, 12)),
)


@pytest.mark.parametrize("name", ALGORITHMS)
@given(seed=st.integers(0, 49), text=texts)
def test_tokens_of_the_twin(name, seed, text):
    found = random_pieces(seed)
    expected = ALGORITHMS[name][1](pieces_twin.new_merge_pieces(found), UNKNOWN, text)
    assert run(name, table(found), text) == expected


@given(seed=st.integers(0, 49), text=texts)
def test_exact_algorithms_agree_and_tile_the_text(seed, text):
    pieces = table(random_pieces(seed))
    results = [run(name, pieces, text) for name in EXACT]
    assert results[0] == results[1] == results[2]
    end = 0
    for _, start, stop in results[0]:
        assert start == end
        end = stop
    assert end == len(text.encode())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_worked_examples(name):
    pieces = table(EXAMPLE)
    number = EXAMPLE.index
    assert run(name, pieces, "lower") == [(number("\u2581"), 0, 0), (number("low"), 0, 3), (number("er"), 3, 5)]
    assert run(name, pieces, "hello") == [(number("\u2581"), 0, 0), (number("hello"), 0, 5)]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_where_the_articles_programs_fail(name):
    pieces = table(["<unk>", "<s>", "\u2581a", "\u2581", "ab", "b", "a"])
    # the last symbol is the right part of a merge
    assert run(name, pieces, "bab") == [(3, 0, 0), (5, 0, 1), (4, 1, 3)]
    # white space of two and of three bytes
    assert run(name, pieces, "b\u00a0a\u3000ab") == [(3, 0, 0), (5, 0, 1), (2, 1, 4), (2, 4, 8), (5, 8, 9)]
    # nothing but what comes in front
    assert run(name, pieces, "") == [(3, 0, 0)]
    assert run(name, pieces, " ") == [(3, 0, 0), (3, 0, 1)]
    assert run(name, pieces, "\u2581a") == [(2, 0, 4)]
    # control pieces take part
    assert run(name, pieces, "<s>")[1:] == [(UNKNOWN, 0, 1), (UNKNOWN, 1, 2), (UNKNOWN, 2, 3)]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_text_longer_than_the_scratch(name):
    pieces = table(EXAMPLE)
    scratch = new_article_scratch(5)
    assert run(name, pieces, "lower", scratch) == run(name, pieces, "lower")
    assert run(name, pieces, "lowers", scratch) == -6
    # what scratch holds from earlier does not matter
    assert run(name, pieces, "hello", scratch) == run(name, pieces, "hello")


def test_presplit_misses_merges_over_words():
    pieces = table(["<unk>", "a-b", "a-", "b\u2581", *"ab-\u2581"])
    assert [number for number, _, _ in run("naive", pieces, "a-b")] == [7, 1]
    assert [number for number, _, _ in run("naive_presplit", pieces, "a-b")] == [7, 4, 6, 5]


@given(text=st.text(CHARACTERS, max_size=30))
def test_prepare_text(text):
    content = text.encode()
    data = np.frombuffer(content + b"x", np.uint8)
    scratch = new_article_scratch(len(content))
    n = prepare_text(data, 0, len(content), scratch.text, scratch.origins, scratch.starts)
    prepared = pieces_twin.prepare_text(text)
    assert n == len(prepared)
    assert bytes(scratch.text[: scratch.starts[n]]) == prepared.encode()
    assert [len(prepared[:i].encode()) for i in range(n + 1)] == scratch.starts[: n + 1].tolist()


def heights_hold(nodes, root) -> int:
    """Check the heights of a tree and their balance; gives the height."""
    if root < 0:
        return 0
    left, right = (heights_hold(nodes, nodes[root, side]) for side in (LEFT, RIGHT))
    assert abs(left - right) <= 1
    assert nodes[root, HEIGHT] == 1 + max(left, right)
    return int(nodes[root, HEIGHT])


def in_order(nodes, root) -> list[tuple[int, int]]:
    if root < 0:
        return []
    here = (int(nodes[root, START]), int(nodes[root, END]))
    return [*in_order(nodes, nodes[root, LEFT]), here, *in_order(nodes, nodes[root, RIGHT])]


@kernel
def _around(nodes, root, start):
    return find_node(nodes, root, start), node_before(nodes, root, start), node_after(nodes, root, start)


@given(n=st.integers(0, 60), order=st.randoms(use_true_random=False))
def test_search_tree(n, order):
    flat, path = np.zeros(NODE * n, np.int32), np.zeros(64, np.int32)
    root = build_tree(5, n, flat, path)
    nodes = flat.reshape(n, NODE)
    twin = SymbolTree()
    left = [Symbol(start, start + 1) for start in range(5, 5 + n)]
    for symbol in left:
        twin.insert(symbol)
    order.shuffle(gone := list(left))
    for symbol in [*gone, None]:
        assert in_order(nodes, root) == left == list(twin)
        bound = 2 * math.log2(len(left)) + 2 if left else 0
        assert heights_hold(nodes, root) <= bound
        assert height_of(twin.root) <= bound
        if symbol is None:
            break
        place = left.index(symbol)
        before = left[place - 1] if place else None
        after = left[place + 1] if place + 1 < len(left) else None
        found = [
            tuple(nodes[node, : END + 1].tolist()) if node >= 0 else None for node in _around(flat, root, symbol[0])
        ]
        assert found == [symbol, before, after]
        assert [twin.before(symbol), twin.after(symbol)] == [before, after]
        assert symbol in twin
        root = remove_node(flat, root, symbol.start, path)
        twin.remove(symbol)
        left.remove(symbol)
        assert _around(flat, root, symbol.start)[0] == -1
        assert symbol not in twin


@pytest.mark.parametrize("text", ["a" * 300, "abc" * 90, "ab cd " * 40])
def test_height_of_the_tree_while_merging(text):
    ranks = pieces_twin.new_merge_pieces(["aa", "aaaa", "ab", "abc", "\u2581c", "d\u2581", "aaa"])
    n_trees = 0
    for tree in bpe_search_tree.merge_by_tree(ranks, pieces_twin.prepare_text(text)):
        n = sum(1 for _ in tree)
        assert height_of(tree.root) <= 2 * math.log2(n) + 2
        n_trees += 1
    assert n_trees > 50


def fitted_exponent(name: str, sizes: list[int]) -> float:
    """Slope of log(time) over log(size) for text like English."""
    rng = random.Random(1)
    letters = "eeeeetttaaoinshrdlu      "
    pieces = table(
        ["<unk>", *dict.fromkeys(letters.replace(" ", "\u2581")), "th", "the", "\u2581the", "in", "er", "an"]
    )
    times = []
    for size in sizes:
        data = np.frombuffer("".join(rng.choices(letters, k=size)).encode(), np.uint8)
        scratch = new_article_scratch(size)
        ids, starts, ends = np.zeros(size + 1, np.int32), np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
        best = math.inf
        for _ in range(3):
            begun = time.process_time()
            n = ALGORITHMS[name][0](pieces, data, 0, size, scratch, ids, starts, ends)
            best = min(best, time.process_time() - begun)
        assert 0 < n <= size
        times.append(best)
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


@pytest.mark.slow
def test_growth_of_the_naive_algorithm():
    assert fitted_exponent("naive", [2000, 4000, 8000]) >= 1.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["priority_queue_bst", "priority_queue_linked_list"])
def test_growth_of_the_others(name):
    assert fitted_exponent(name, [1 << 14, 1 << 16, 1 << 18, 1 << 20]) <= 1.15


@pytest.mark.parametrize("seed", range(6))
def test_texts_longer_than_a_stretch(seed):
    """One stretch after the other gives what all at once gives."""
    rng = random.Random(seed)
    pieces = table(random_pieces(seed))
    n = rng.choice((STRETCH - 1, STRETCH, STRETCH + 1, 2 * STRETCH))
    text = "".join(rng.choices(CHARACTERS, k=n)) if seed % 2 else ("".join(rng.choices(CHARACTERS, k=5)) * n)[:n]
    expected = at_once(pieces, text)
    for name in EXACT[1:]:
        assert run(name, pieces, text) == expected


@pytest.mark.parametrize("name", EXACT[1:])
def test_a_symbol_longer_than_the_overlap_takes_the_whole_text_at_once(name):
    assert OVERLAP < 2**11
    pieces, text, expected = long_symbols()
    assert run(name, pieces, text) == expected


@cache
def long_symbols():
    """Pieces, a text and its tokens, which take seconds without the JIT."""
    pieces = table(["<unk>", "a", *("a" * 2**k for k in range(1, 12))])
    text = "a" * (STRETCH + 3 * OVERLAP + 5)
    return pieces, text, at_once(pieces, text)


def at_once(pieces, text: str):
    content = text.encode()
    data, scratch = np.frombuffer(content, np.uint8), new_article_scratch(len(content))
    n = prepare_text(data, 0, data.size, scratch.text, scratch.origins, scratch.starts)
    merge_by_list(pieces, scratch, 0, n)
    by_list = scratch.ends[:n].copy()
    merge_by_tree(pieces, scratch, 0, n)
    room = len(content) + 1
    ids, starts, ends = np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(room, np.int64)
    place = out = 0
    while place < n:
        assert scratch.ends[place] == by_list[place]
        after = int(by_list[place])
        first, last = int(scratch.starts[place]), int(scratch.starts[after])
        out = emit_token(pieces, scratch.text, scratch.origins, first, last, ids, starts, ends, out)
        place = after
    return list(zip(ids[:out].tolist(), starts[:out].tolist(), ends[:out].tolist(), strict=True))
