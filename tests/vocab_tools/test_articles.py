"""The articles' algorithms by name: what the kernels' twins give, and slices of the text."""

from __future__ import annotations

from typing import Any

import pytest

from tests.made_tokenizers import gpt2
from tests.random_sentencepiece import random_model, random_texts
from vocab_tools.articles import ALGORITHMS, article_tokens

_SPACES = str.maketrans(dict.fromkeys("\t\n\u2581", " "))


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
