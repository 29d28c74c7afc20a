"""Spans from the cache of ids and ranges are those that the alignment of whole rows gives, in every family."""

from __future__ import annotations

import random

import numpy as np
import pytest

import numba_nlp as nlp
from tests.random_sentencepiece import ALPHABET, random_model
from tests.shared_data import shared

LONG = ["a b " * 3000, "ab" * 700, "x  " * 200, "\u00e9\u3042" * 90, "", " "]


def rows_of(seed: int, n: int = 60) -> list[str]:
    r = random.Random(seed)
    made = ["".join(r.choices((*ALPHABET, "c", "\u0301", "."), k=r.randrange(30))) for _ in range(n)]
    return [*made, *LONG, *made]


def row_by_row(tokenizer: nlp.Tokenizer) -> nlp.Tokenizer:
    """The same tokenizer, its spans found by aligning whole rows."""
    other = nlp.Tokenizer(tokenizer.vocabulary)
    other._encoder.__dict__["spanned"] = None
    return other


def same(found: nlp.Ragged, expected: nlp.Ragged) -> None:
    for name in ("values", "offsets", "starts", "ends"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("unit", ["char", "byte"])
def test_sentencepiece(kind, unit):
    encoders_at_once = 0
    for seed in range(8):
        # large scores make the running score start again within a row
        model = random_model(seed, kind, usual=seed % 3 != 1, scale=(1.0, 3000.0)[seed % 2])
        encoders_at_once += model.ours._encoder.spanned is not None
        rows = rows_of(seed)
        expected = row_by_row(model.ours).encode_batch(rows, spans=True, unit=unit, num_threads=1)
        for threads in (1, 3):
            same(model.ours.encode_batch(rows, spans=True, unit=unit, num_threads=threads), expected)
        plain_ids = model.ours.encode_batch(rows)
        np.testing.assert_array_equal(plain_ids.values, expected.values)
        for row in (0, 1, len(rows) - 1):
            one = model.ours.encode(rows[row], spans=True, unit=unit)
            place = slice(expected.offsets[row], expected.offsets[row + 1])
            for found, wanted in zip(one, (expected.values, expected.starts, expected.ends), strict=True):
                np.testing.assert_array_equal(found, wanted[place])
    assert encoders_at_once > 2


FILES = {
    "wordpiece": ("vocab/bert/uncased_vocab.txt",),
    "character_bpe": ("vocab/openai_gpt/encoder_bpe_40000.json", "vocab/openai_gpt/vocab_40000.bpe"),
    "clip": ("vocab/clip/bpe_simple_vocab_16e6.txt.gz",),
    "unigram": ("vocab/t5/spiece.model",),
    "sentencepiece_bpe": ("vocab/mistral/tokenizer.model.v1",),
}


@pytest.mark.parametrize("name", FILES)
def test_vocabularies(name):
    import vocab_tools

    paths = [shared(path) for path in FILES[name]]
    tokenizer = nlp.Tokenizer(vocab_tools.compile(paths if len(paths) > 1 else paths[0]))
    assert tokenizer._encoder.spanned is not None
    rows = [
        *rows_of(5),
        "Don't  stop, \u201cZo\u00eb\u201d [MASK] </s>!",
        "caf\u00e9s na\u0131ve \u4e2d\u6587 x\u00ad y " * 40,
    ]
    expected = row_by_row(tokenizer)
    for unit in ("char", "byte"):
        for options in ({}, {"special": "match"}):
            wanted = expected.encode_batch(rows, spans=True, unit=unit, **options)
            for _ in range(2):
                same(tokenizer.encode_batch(rows, spans=True, unit=unit, **options), wanted)
