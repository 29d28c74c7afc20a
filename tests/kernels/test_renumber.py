"""Pieces with ids of their own: random models of every type, with what sentencepiece spells looked up by the twin."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.kernels.segment.renumber import holds, renumber
from numba_nlp.reference.segment import renumber as twin
from numba_nlp.vocabulary import Vocabulary
from tests.random_sentencepiece import ALPHABET, model_content, random_model, random_texts
from vocab_tools.compiler import renumbered_model
from vocab_tools.formats.model_inputs import InputSettings
from vocab_tools.formats.renumbered_model import RenumberedModel
from vocab_tools.formats.sentencepiece_model import parse

KINDS = ("unigram", "bpe", "word", "char")
TEXTS = [*random_texts(11, 40), "", " ", "é\u3000é", "xx\U0001f600é ab", "\U0001f600" * 3, "<s>a<s>"]


@lru_cache(maxsize=100)
def renumbered(seed: int, kind: str, usual: bool) -> tuple[nlp.Tokenizer, dict[str, int]]:
    """A random model with a list of ids that lacks some pieces and has other tokens."""
    model = parse(model_content(seed, kind, usual=usual), name="made")
    choose = random.Random(seed)
    pieces = [piece.decode() for piece in model.pieces if choose.random() < 0.8]
    others = [symbol * n for symbol in ALPHABET if symbol.strip() for n in (1, 2)]
    tokens = list(dict.fromkeys(["<unk>", *pieces, *others, "\u2581é", "x\U0001f600", "é\U0001f600"]))
    choose.shuffle(tokens)
    ids = {token: number for number, token in enumerate(tokens, start=3)}
    described = RenumberedModel(
        name="made", source_format="marian", source_digest=model.source_digest, model=model, ids=ids,
        unknown=ids["<unk>"], decoding=model, tokens=[None, None, None, *tokens], special=frozenset(),
        skipped=frozenset(), added_tokens=(), language_codes=False, special_suffix="", marks_are_spaces=False,
        inputs=InputSettings(),
    )  # fmt: skip
    return nlp.Tokenizer(Vocabulary(*renumbered_model.build_arrays(described))), ids


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
