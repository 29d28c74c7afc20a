"""Pieces with ids of their own: random models of every type, with what sentencepiece spells looked up by the twin."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.renumber import holds, renumber
from numba_nlp.reference.segment import renumber as twin
from tests.random_sentencepiece import random_model, random_texts
from tests.renumbered_models import renumbered

KINDS = ("unigram", "bpe", "word", "char")
TEXTS = [*random_texts(11, 40), "", " ", "é\u3000é", "xx\U0001f600é ab", "\U0001f600" * 3, "<s>a<s>"]


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_ids_are_those_of_what_sentencepiece_spells(seed, kind, usual):
    tokenizer, ids = renumbered(seed, kind, usual)
    model = random_model(seed, kind, usual=usual)
    expected = [
        twin.renumber(model.reference.encode(text, out_type=str), ids, ids["<unk>"])
        for text in TEXTS
    ]  # fmt: skip
    assert [row.tolist() for row in tokenizer.encode_batch(TEXTS)] == expected
    assert [row.tolist() for row in tokenizer.encode_batch([text.encode() for text in TEXTS])] == expected
    assert [tokenizer.encode(text).tolist() for text in TEXTS] == expected
    found, numbers = tokenizer.encode_batch(TEXTS, spans=True), model.ours.encode_batch(TEXTS, spans=True)
    assert [row.tolist() for row in found] == expected
    assert np.array_equal(found.starts, numbers.starts)
    assert np.array_equal(found.ends, numbers.ends)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_tokens_are_joined_as_sentencepiece_joins_their_spellings(seed, kind):
    tokenizer, ids = renumbered(seed, kind, True)
    reference = random_model(seed, kind, usual=True).reference
    choose = random.Random(seed)
    rows = [choose.choices(list(ids), k=choose.randint(0, 6)) for _ in range(60)]
    expected = [reference.decode(row).strip() if row else "" for row in rows]
    assert tokenizer.decode_batch([[ids[token] for token in row] for row in rows]) == expected


@given(st.lists(st.integers(0, 4), max_size=70), st.integers(0, 4))
def test_tables(numbers, wanted):
    ids = np.array(numbers, np.int32)
    assert holds(ids, ids.size, wanted) == (wanted in numbers)
    table = np.array([5, 9, 2, 2, 0], np.int32)
    assert renumber(table, ids, ids.size) == len(numbers)
    assert ids.tolist() == [table[number] for number in numbers]
