"""SentencePiece models of type unigram, word and char end to end, against sentencepiece."""

from __future__ import annotations

import argparse
import json
import random
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.kernels.segment.unigram_settling import MARK
from tests.random_sentencepiece import Model, random_model, random_texts
from tests.shared_data import shared

MODELS = [
    "albert/30k-clean.model",
    "marian/opus-mt-en-mg/source.spm",
    "marian/opus-mt-en-mg/target.spm",
    "marian/opus-mt-uk-en/source.spm",
    "marian/opus-mt-uk-en/target.spm",
    "sentencepiece/google_test_model.model",
    "sentencepiece/hf_test_sentencepiece.model",
    "sentencepiece/hf_test_sentencepiece_no_bos.model",
    "sentencepiece/onmt_sp_regularization.model",
    "sentencepiece/torchtext_spm_example.model",
    "t5/spiece.model",
    "xlm_roberta/sentencepiece.bpe.model",
    "xlnet/spiece.model",
]
BPE_MODELS = [
    "barthez/sentencepiece.bpe.model",
    "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "mistral/tokenizer.model.v1",
    "sentencepiece/amr_sentencepiece.bpe.model",
    "sentencepiece/blingfire_bpe_example.model",
    "sentencepiece/hf_test_sentencepiece_bpe.model",
]
TEXTS = ("botchan.txt", "udhr_all_languages.txt", "json/twitter.json", "utf8_sequence_0x10ffff.txt")


def check(model: Model, texts: list[str]) -> nlp.Ragged:
    """Everything that a batch goes through, cold, warm and with spans; gives the ids with byte spans."""
    expected = model.reference.encode(texts)
    for _ in range(2):
        assert model.ours.encode_batch(texts, num_threads=1).to_list() == expected
    batch = model.ours.encode_batch(texts, spans=True, unit="byte", num_threads=1)
    assert [batch[i].tolist() for i in range(len(texts))] == expected
    decoded = model.ours.decode_batch(batch, skip_special_tokens=True)
    assert decoded == [model.reference.decode(row) for row in expected]
    for text, row in list(zip(texts, expected, strict=True))[::7]:
        assert model.ours.encode(text).tolist() == row
    return batch


@given(
    seed=st.integers(0, 199),
    usual=st.booleans(),
    # with the larger ones the running score starts again every few hundred, every few characters
    scale=st.sampled_from([1.0, 30.0, 2000.0]),
    number=st.integers(0, 2**20),
)
def test_random_unigram_models(seed, usual, scale, number):
    check(random_model(seed, usual=usual, scale=scale), random_texts(number, 12) + random_texts(number, 1, 1200))


@given(st.sampled_from(["word", "char"]), st.integers(0, 99), st.booleans(), st.integers(0, 2**20))
def test_random_word_and_character_models(kind, seed, usual, number):
    check(random_model(seed, kind, usual=usual), random_texts(number, 12))


@given(st.integers(0, 99), st.booleans(), st.integers(0, 2**20), st.sampled_from([1, 2, 9]))
def test_nbest_lists(seed, usual, number, size):
    model = random_model(seed, usual=usual)
    for text in random_texts(number, 3, 12):
        listed = model.reference.nbest_encode(text, nbest_size=size, return_type="proto").nbests
        found = model.ours.nbest(text, size)
        assert [(ids.tolist(), score) for ids, score in found] == [
            ([p.id for p in one.pieces], one.score) for one in listed
        ]
        for ids, score in found[: size - 1]:
            # where unknown characters stand before others, ids may have several scores
            if model.ours.token_to_id("<unk>") not in ids:
                assert model.ours.score(text, ids) == score


@given(st.integers(0, 199), st.booleans(), st.integers(0, 2**20))
def test_random_bpe_models(seed, usual, number):
    check(random_model(seed, "bpe", usual=usual), random_texts(number, 12) + random_texts(number, 1, 1200))


def test_bpe_models_of_all_kinds_of_chunks_occur():
    models = [random_model(seed, "bpe", usual=usual) for seed in range(9) for usual in (True, False)]
    assert {model.ours.describe()["pattern"] for model in models} == {"bridged", "spaced", "whole"}


def test_models_of_both_kinds_of_chunks_occur():
    patterns = {
        random_model(seed, usual=usual).ours.describe()["pattern"] for seed in range(9) for usual in (True, False)
    }
    assert patterns == {"spaced", "whole"}


def test_marks_are_made_and_taken_out():
    """Exact ties and unknown runs: chunks whose ids depend on the running score, or are one id for several."""
    for seed in range(20):
        model = random_model(seed, usual=True)
        texts = random_texts(seed, 200)
        ids = model.ours.encode_batch(texts, num_threads=1).values
        assert not ids.size or ids.max() < model.ours.vocab_size
        cache = model.ours._encoder._contexts[0].cache
        if (cache.arena_ids >= MARK).any() or ((cache.entries & np.uint64(0xFFFFFFFF)) >= MARK).any():
            return
    pytest.fail("no chunk had a mark")


@lru_cache(maxsize=1)
def rows() -> list[str]:
    """Rows of real text of every kind; lone long ones, in which the running score starts again many times."""
    r = random.Random(11)
    found = ["", " ", "\u2581", "g" * 5000, "gg g" * 3000, "= " * 3000 + "==" * 2000, "a " * 30000]
    found += ["\U0001f600" * 2000 + "a", "\u65e5 \u672c\u8a9e" * 3000, Path(argparse.__file__).read_text()]
    for name in TEXTS:
        text = shared(f"text/{name}").read_text(encoding="utf-8", errors="replace")
        lines = text.split("\n")
        found += r.sample(lines, min(150, len(lines)))
        at = r.randrange(max(1, len(text) - 60000))
        found.append(text[at : at + 60000])
    return found + json.loads(shared("text/blns.json").read_text(encoding="utf-8"))


def real_model(name: str) -> Model:
    path = shared(f"vocab/{name}")
    return Model(nlp.load_tokenizer(path), sentencepiece.SentencePieceProcessor(model_file=str(path)), b"")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, *BPE_MODELS])
def test_real_models(name):
    model = real_model(name)
    assert model.ours.describe()["pattern"] == ("bridged" if name.startswith("mistral") else "spaced")
    check(model, rows())
    for number in random.Random(3).sample(range(model.ours.vocab_size), 200):
        token = model.reference.id_to_piece(number)
        assert model.ours.id_to_token(number) == token
        assert model.ours.token_to_id(token) == model.reference.piece_to_id(token) == number


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t5/spiece.model", "xlm_roberta/sentencepiece.bpe.model"])
def test_spans_of_real_text(name):
    model = real_model(name)
    texts = [row for row in rows() if row.isprintable()][:600]
    batch = check(model, texts)
    n_equal = 0
    for row, text in enumerate(texts):
        part = slice(batch.offsets[row], batch.offsets[row + 1])
        spans = list(zip(batch.starts[part].tolist(), batch.ends[part].tolist(), strict=True))
        theirs = [(piece.begin, piece.end) for piece in model.reference.encode(text, return_type="proto").pieces]
        n_equal += spans == theirs
        if spans != theirs:
            # only where one character became several, or some were left out
            assert model.reference.normalize(text) != "\u2581" + text.replace(" ", "\u2581")
    assert n_equal > 0.95 * len(texts)


@pytest.mark.slow
def test_spans_where_sentencepiece_is_wrong():
    """It takes where the next character comes from for the end of a token.

    So of several characters that one became, only the last one has text, and spaces that were left out count as text of
    the token before them.
    """
    model = real_model("t5/spiece.model")
    for text, ours, theirs in (
        # U+00B4 becomes a space and U+0301; both come from it
        ("a\u00b4b", [(0, 0), (0, 1), (1, 3), (1, 3), (3, 4)], [(0, 0), (0, 1), (1, 1), (1, 3), (3, 4)]),
        # of three spaces one is left
        ("\u0431   b", [(0, 0), (0, 2), (2, 3), (5, 6)], [(0, 0), (0, 2), (2, 5), (5, 6)]),
    ):
        _, starts, ends = model.ours.encode(text, spans=True, unit="byte")
        pieces = model.reference.encode(text, return_type="proto").pieces
        assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == ours
        assert [(piece.begin, piece.end) for piece in pieces] == theirs


def test_lone_marks_of_long_unknown_runs():
    """A run of unknown characters is one id at any length, also where its chunk is too long for the cache."""
    for seed in range(6):
        model = random_model(seed, usual=True)
        check(model, ["\u00e9" * n + " a" for n in (1, 2, 7, 14, 15, 16, 40, 511, 512, 513, 5000)])
