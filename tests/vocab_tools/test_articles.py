"""The articles' algorithms by name: what the kernels' twins give, and slices of the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import InvalidTextError
from numba_nlp.vocabulary import Vocabulary
from tests.made_tokenizers import gpt2
from tests.random_sentencepiece import TYPES, random_model, random_texts
from tests.shared_data import shared
from vocab_tools.articles import ALGORITHMS, article_tokens
from vocab_tools.compiler.sentencepiece import build_arrays
from vocab_tools.formats.sentencepiece_model import parse
from vocab_tools.formats.sentencepiece_pb2 import ModelProto

_SPACES = str.maketrans(dict.fromkeys("\t\n\u2581", " "))
_UNIGRAM = ("nested_loops", "trie")
#: The merges of the first example of the article about BPE, most frequent first, and the characters.
_MERGES = ["<unk>", "er", "he", "ll", "lo", "hell", "low", "hello", *"\u2581helowr"]
#: The words of the figure of the article about Unigram models, and what "carpooling" goes on with.
_WORDS = {
    "<unk>": 0.0, "cat": -2.0, "carp": -2.5, "car": -2.0, "pool": -3.0, "pooling": -4.0, "ing": -3.5,
    **dict.fromkeys("\u2581carptolng", -5.0),
}  # fmt: skip


@lru_cache
def _vocabulary(kind: str) -> Vocabulary:
    """A ``.model`` of type bpe or unigram with the pieces above."""
    model = ModelProto()
    scored = {piece: -float(i) for i, piece in enumerate(_MERGES)} if kind == "bpe" else _WORDS
    for piece, score in scored.items():
        model.pieces.add(piece=piece.encode(), score=score, type=2 if piece == "<unk>" else 1)
    model.trainer_spec.model_type = TYPES[kind]
    model.normalizer_spec.name = b"identity"
    return Vocabulary(*build_arrays(parse(bytes(model.SerializeToString()), name="made")))


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in _UNIGRAM])
def test_worked_examples_of_the_article_about_bpe(name: str) -> None:
    for text, expected in {
        "lower": [("\u2581", ""), ("low", "low"), ("er", "er")],
        "hello": [("\u2581", ""), ("hello", "hello")],
        # where its programs fail: white space of three bytes, an unknown character, a merge of the last symbol, nothing
        "h\u3000\u00e9lo": [("\u2581", ""), ("h", "h"), ("\u2581", "\u3000"), ("<unk>", "\u00e9"), ("lo", "lo")],
        "": [("\u2581", "")],
    }.items():
        tokens = article_tokens(_vocabulary("bpe"), text, name)
        assert list(zip([_MERGES[i] for i in tokens.ids], tokens.slices, strict=True)) == expected


@pytest.mark.parametrize("name", _UNIGRAM)
def test_worked_examples_of_the_article_about_unigram(name: str) -> None:
    for text, expected in {
        # -6 in all; "carp" leaves letters behind
        "carpooling": [("car", "car"), ("pooling", "pooling")],
        "carp cat": [("carp", "carp"), ("\u2581", " "), ("cat", "cat")],
        "\u00e9 car": [("<unk>", "\u00e9"), ("\u2581", " "), ("car", "car")],
        "": [],
    }.items():
        tokens = article_tokens(_vocabulary("unigram"), text, name)
        assert list(zip([list(_WORDS)[i] for i in tokens.ids], tokens.slices, strict=True)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", _UNIGRAM)
def test_sesquipedalophobia(name: str) -> None:
    tokens = article_tokens(nlp.load_tokenizer(shared("vocab/xlnet/spiece.model")), " Sesquipedalophobia", name)
    assert tokens.slices == [" Se", "s", "qui", "ped", "alo", "phobia"]  # codespell:ignore alo


def test_text_that_is_none() -> None:
    with pytest.raises(InvalidTextError, match=r"`text`: row 0, byte 1: [^;]*$"):
        article_tokens(_vocabulary("bpe"), "h\ud800", "naive")


@pytest.mark.parametrize("text", ["", "ab", " ab ba\tab", "a\u00e9\U0001f600b ab", "\u2581ab", *random_texts(3, 10)])
def test_the_exact_algorithms_agree_and_slices_are_the_text(text: str) -> None:
    kinds = {name: "unigram" if name in ("nested_loops", "trie") else "bpe" for name in ALGORITHMS}
    of_kind = {name: random_model(3, kind, usual=True).ours for name, kind in kinds.items()}
    found = {name: article_tokens(of_kind[name], text, name) for name in ALGORITHMS}
    for tokens in found.values():
        assert "".join(tokens.slices) == text
        assert tokens.ends.tolist()[-1:] == ([len(text.encode())] if tokens.ids.size else [])
    merged = [found[name] for name in ("naive", "priority_queue_bst", "priority_queue_linked_list")]
    best = [found["nested_loops"], found["trie"]]
    for group in (merged, best):
        assert len({(tuple(one.ids.tolist()), tuple(one.slices)) for one in group}) == 1


def test_tokens_are_spelled_by_their_slices() -> None:
    tok = random_model(3, "unigram", usual=True).ours
    tokens = article_tokens(tok.vocabulary, " ab ba", "trie")
    spelled = [tok.id_to_token(number).translate(_SPACES) for number in tokens.ids.tolist()]
    # a character that no piece holds has the id 0, whatever that is
    known = zip(spelled, tokens.slices, tokens.ids, strict=True)
    assert all(token == piece or number == 0 for token, piece, number in known)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("a", "quick"), ValueError, "`algorithm` must be 'naive', .* or 'trie', got 'quick'"),
        ((b"a", "naive"), TypeError, "`text` must be a str, got b'a'"),
        (("a", "trie"), ValueError, "'trie' is for vocabularies of a SentencePiece .model of type unigram"),
        (("a", "naive"), ValueError, "'naive' is for vocabularies of a SentencePiece .model of type bpe"),
    ],
)
def test_what_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        article_tokens(gpt2().ours, *arguments)
    with pytest.raises(TypeError, match="must be a Tokenizer or a Vocabulary, got 3"):
        article_tokens(3, "a", "trie")  # type: ignore[arg-type]
