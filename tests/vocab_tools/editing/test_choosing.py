"""Which pieces stay, against the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vocab_tools.editing.choosing import closure, keep_size, keep_used, smallest_size
from vocab_tools.editing.editable import NO_PARTS, Editable, last_merge


@st.composite
def vocabularies(draw):
    """Pieces of which later ones are merged of earlier ones, and how often each occurs."""
    n_characters, n_merged = draw(st.integers(1, 4)), draw(st.integers(0, 12))
    n = n_characters + n_merged
    parts = np.full((n, 2), NO_PARTS, np.int32)
    for i in range(n_characters, n):
        if draw(st.booleans()):
            parts[i] = draw(st.integers(0, i - 1)), draw(st.integers(0, i - 1))
    droppable = np.arange(n) >= n_characters
    order = np.array(draw(st.permutations(range(n))), np.float64)

    def unused(*_):
        raise AssertionError

    made = Editable(np.ones(n, np.bool_), droppable, parts, order, unused, unused)
    counts = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.int64)
    return made, counts


def whole(kept, parts):
    return all(kept[part] for i in np.flatnonzero(kept) for part in parts[i].tolist() if part >= 0)


@given(vocabularies())
def test_what_is_used_stays_with_all_its_parts_and_nothing_else(case):
    vocabulary, counts = case
    kept = keep_used(vocabulary, counts)
    asked = ~vocabulary.droppable | (counts > 0)
    assert kept[asked].all()
    assert whole(kept, vocabulary.parts)
    for i in np.flatnonzero(kept & ~asked).tolist():
        without = kept.copy()
        without[i] = False
        assert not whole(without, vocabulary.parts)
    assert (closure(kept, vocabulary.parts) == kept).all()


@given(vocabularies(), st.data())
def test_pieces_go_in_order_of_use(case, data):
    vocabulary, counts = case
    size = data.draw(st.integers(smallest_size(vocabulary), counts.size))
    # the definition: look for the next one at each step
    expected, uses = vocabulary.present.copy(), counts.copy()
    while expected.sum() > size:
        free = [
            i
            for i in np.flatnonzero(expected & vocabulary.droppable).tolist()
            if not any(i in vocabulary.parts[j].tolist() for j in np.flatnonzero(expected).tolist())
        ]
        gone = min(free, key=lambda i: (uses[i], vocabulary.order[i]))
        expected[gone] = False
        for part in vocabulary.parts[gone].tolist():
            if part >= 0:
                uses[part] += uses[gone]
    kept = keep_size(vocabulary, size, counts)
    assert (kept == expected).all()
    assert kept.sum() == size
    assert whole(kept, vocabulary.parts)


def test_the_last_merge_is_that_of_the_order_of_ranks():
    ranks = {("a", "b"): 1, ("b", "c"): 0, ("a", "bc"): 2, ("ab", "c"): 3}
    assert last_merge("abc", lambda left, right: ranks.get((left, right))) == ("a", "bc")
    assert last_merge("abx", lambda left, right: ranks.get((left, right))) is None
    # the leftmost among equals
    equal = {("a", "a"): 0, ("aa", "a"): 1, ("a", "aa"): 1}
    assert last_merge("aaa", lambda left, right: equal.get((left, right))) == ("aa", "a")
