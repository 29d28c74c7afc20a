"""Unigram segmentation of normalised text: ids, n-best lists and scores of sentencepiece, ids of tokenizers."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.models import Unigram

from numba_nlp.kernels.segment import unigram, unigram_tokenizers
from numba_nlp.kernels.segment.unigram_chunks import KnownChunks, chunk_end, segment_chunks, solve
from numba_nlp.kernels.segment.unigram_memory import LIMIT, STATUS_NO_UNKNOWN, new_scratch
from numba_nlp.unigram_sampling import nbest, score
from tests.kernels.test_unigram_tokenizers import random_case as random_tokenizers_case
from tests.shared_data import shared
from tests.unigram_cases import (
    ALPHABET,
    NORMAL,
    SPACE,
    UNKNOWN,
    USER_DEFINED,
    Case,
    Piece,
    make_case,
    model_file,
    random_case,
    random_text,
    read_pieces,
)
from vocab_tools.compiler.unigram_pieces import pieces_split_at_spaces

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
TEXTS = ("botchan.txt", "udhr_all_languages.txt", "json/twitter.json", "blns.json", "utf8_sequence_0x10ffff.txt")


@lru_cache(maxsize=200)
def _processor(seed: int) -> sentencepiece.SentencePieceProcessor:
    case = random_case(seed)
    content = model_file(case.pieces, byte_fallback=case.model.byte_ids is not None)
    return sentencepiece.SentencePieceProcessor(model_proto=content)


def ids_of(case: Case, text: bytes) -> list[int]:
    data = np.frombuffer(text, np.uint8)
    ids = np.empty(len(text) + 1, np.int32)
    n = unigram.segment(
        case.tables, data, 0, len(text), new_scratch(case.tables, len(text)), ids, np.empty(0, np.int64), 0
    )
    return ids[:n].tolist()


def ids_by_chunks(case: Case, text: bytes, split: int) -> tuple[list[int], int]:
    """Ids of a row whose chunks are solved once each, and how many chunks were used again."""
    data = np.frombuffer(text, np.uint8)
    scratch = new_scratch(case.tables, len(text))
    ids, ends, numbers = np.empty(len(text) + 1, np.int32), [0], []
    known: dict[bytes, int] = {}
    limits, parts = [], []
    while ends[-1] < len(text):
        ends.append(int(chunk_end(data, ends[-1], len(text), split)))
        chunk = text[ends[-2] : ends[-1]]
        if chunk not in known:
            known[chunk] = len(known)
            n = solve(case.tables, data, *ends[-2:], 0.0, scratch, ids, np.empty(0, np.int64), 0)
            parts.append(ids[:n].copy())
            limits.append(scratch.outcome[LIMIT])
        numbers.append(known[chunk])
    table = KnownChunks(
        np.array(limits), np.cumsum([0, *map(len, parts)], dtype=np.int64), np.concatenate([ids[:0], *parts])
    )
    reused = np.zeros(len(numbers), np.uint8)
    n = segment_chunks(
        case.tables, table, data, 0, np.array(ends[1:], np.int64), np.array(numbers, np.int64), scratch, ids,
        np.empty(0, np.int64), 0, reused,
    )  # fmt: skip
    return ids[:n].tolist(), int(reused.sum())


seeds = st.integers(0, 99)
texts = st.integers(0, 2**32).map(random_text) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=15
)


@given(seed=seeds, text=texts)
def test_ids_of_random_models_are_those_of_sentencepiece(seed, text):
    assert ids_of(random_case(seed), text.encode()) == _processor(seed).encode(text)


@given(seed=seeds, text=texts, size=st.sampled_from([1, 2, 3, 20, 300]))
def test_nbest_lists_of_random_models_are_those_of_sentencepiece(seed, text, size):
    case = random_case(seed)
    listed = _processor(seed).nbest_encode_as_proto(text, size)
    expected = [([piece.id for piece in one.pieces], one.score) for one in listed.nbests]
    found = nbest(case.lattice, text.encode(), size, encode_tables=case.tables)
    assert [(one.ids.tolist(), one.score) for one in found] == expected
    if size > 1:
        for one in found[:20]:
            assert score(case.lattice, text.encode(), one.ids, one.token_ends) == one.score


@pytest.mark.slow
@pytest.mark.parametrize("scores", [(-1, -2, -3), (-1.1, -2.2, -3.3), (-0.1, -0.2, -0.3), (-1.13, -2.2601, -3.39)])
def test_nbest_searches_that_grow_too_large(scores):
    """Cut and given up where sentencepiece does."""
    pieces = [Piece("<unk>", 0, UNKNOWN), *(Piece("a" * (n + 1), scores[n], NORMAL) for n in range(3))]
    case, reference = make_case(pieces), sentencepiece.SentencePieceProcessor(model_proto=model_file(pieces))
    for n, size in ((60, 500), (300, 20), (300, 500), (1000, 100)):
        listed = reference.nbest_encode_as_proto("a" * n, size)
        expected = [([piece.id for piece in one.pieces], one.score) for one in listed.nbests]
        assert [(one.ids.tolist(), one.score) for one in nbest(case.lattice, b"a" * n, size)] == expected


def test_user_defined_pieces_score_by_their_length():
    """0.1 a byte but the first; what sentencepiece did up to 0.2.1, and what older descriptions say, differs."""
    pieces = [
        Piece("<unk>", 0, UNKNOWN),
        Piece("ab", -9, USER_DEFINED),
        Piece("a", 0.05, NORMAL),
        Piece("b", 0.04, NORMAL),
    ]
    case, reference = make_case(pieces), sentencepiece.SentencePieceProcessor(model_proto=model_file(pieces))
    assert ids_of(case, b"ab") == reference.encode("ab") == [1]
    pieces[2] = Piece("a", 0.07, NORMAL)
    assert ids_of(make_case(pieces), b"ab") == [2, 3]
    assert sentencepiece.SentencePieceProcessor(model_proto=model_file(pieces)).encode("ab") == [2, 3]


@given(seed=st.integers(0, 199), text=texts)
def test_ids_of_random_vocabularies_are_those_of_tokenizers(seed, text):
    case = random_tokenizers_case(seed)
    reference = _tokenizers_model(seed)
    data = np.frombuffer(text.encode(), np.uint8)
    ids, ends = np.empty(data.size + 1, np.int32), np.empty(data.size + 1, np.int64)
    scratch = new_scratch(case.tables, data.size)
    n = int(unigram_tokenizers.segment(case.tables, data, 0, data.size, scratch, ids, ends, 0))
    if n == STATUS_NO_UNKNOWN:
        with pytest.raises(Exception, match="unk_id"):
            reference.tokenize(text)
    else:
        assert ids[:n].tolist() == [token.id for token in reference.tokenize(text)]


@lru_cache(maxsize=200)
def _tokenizers_model(seed: int) -> Unigram:
    case = random_tokenizers_case(seed)
    return Unigram(case.vocab, case.unknown_id, case.byte_fallback)


def real_rows(seed: int, n: int) -> list[str]:
    """Rows of all kinds of real text; lone long ones, in which the running score starts again many times."""
    r = random.Random(seed)
    rows = ["", " ", SPACE, "g" * 5000, "gg g" * 3000, "..." * 3000, "\U0001f600" * 2000 + "a"]
    for name in TEXTS:
        text = shared(f"text/{name}").read_text(encoding="utf-8", errors="replace")
        rows += r.sample(text.split("\n"), min(n, text.count("\n")))
        at = r.randrange(max(1, len(text) - 40000))
        rows.append(text[at : at + 40000].replace("\n", " "))
    rows += ["".join(r.choices([*ALPHABET, " ", "<s>", "<unk>", "the", "ing"], k=r.randrange(40))) for _ in range(n)]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_real_models(name):
    content = shared(f"vocab/{name}").read_bytes()
    reference = sentencepiece.SentencePieceProcessor(model_proto=content)
    case = make_case(read_pieces(content))
    split = pieces_split_at_spaces(case.model.pieces)
    assert split != 0
    n_chunks = n_reused = 0
    for row in real_rows(len(name), 60):
        normalized = reference.normalize(row).encode()
        expected = reference.encode(row)
        assert ids_of(case, normalized) == expected
        found, reused = ids_by_chunks(case, normalized, split)
        assert found == expected
        n_reused += reused
        n_chunks += normalized.count(SPACE.encode())
    assert n_reused > n_chunks / 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xlnet/spiece.model", "sentencepiece/google_test_model.model"])
def test_nbest_lists_of_real_models(name):
    content = shared(f"vocab/{name}").read_bytes()
    reference = sentencepiece.SentencePieceProcessor(model_proto=content)
    case = make_case(read_pieces(content))
    for text in (
        "Hello world",
        "<sep>abc<pad>",
        "\u65e5\u672c\u8a9e \U0001f600\U0001f600",
        "internationalization of things",
        "a",
    ):
        for size in (2, 10, 200):
            listed = reference.nbest_encode_as_proto(text, size)
            expected = [([piece.id for piece in one.pieces], one.score) for one in listed.nbests]
            found = nbest(case.lattice, reference.normalize(text).encode(), size)
            assert [(one.ids.tolist(), one.score) for one in found] == expected
