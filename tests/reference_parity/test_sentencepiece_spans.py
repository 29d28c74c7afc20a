"""Character spans of SentencePiece models of all types against sentencepiece's own offsets.

Every token begins where sentencepiece says. It ends there too, but for two things that sentencepiece gets wrong: a
token takes in what normalisation left out behind it (the second of two spaces), and of the tokens that a character
becomes (bytes, or what it is normalised to) all but the last are said to end before it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import sentencepiece

import numba_nlp as nlp
from tests.families import family, sentencepiece_model
from tests.made_tokenizers import HAMLET, REPOSITORY, TEXTS
from tests.random_sentencepiece import random_texts
from tests.shared_data import shared

CARRIED = REPOSITORY / "examples/data/mistral/mistral_instruct_tokenizer_240323.model.v3"
TRAINED = {
    "unigram": "unigram",
    "sentencepiece_bpe": "bpe",
    "sentencepiece_word": "word",
    "sentencepiece_char": "char",
}
REAL = ("barthez/sentencepiece.bpe.model", "t5/spiece.model", "xlnet/spiece.model", "marian/opus-mt-uk-en/source.spm")


@cache
def loaded(name: str) -> tuple[nlp.Tokenizer, Any]:
    """One model twice."""
    if name in TRAINED:
        return family(name), sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(TRAINED[name]))
    path = CARRIED if name == "mistral" else shared(f"vocab/{name}")
    return nlp.load_tokenizer(path), sentencepiece.SentencePieceProcessor(model_file=str(path))


def lines() -> list[str]:
    return [line for line in HAMLET.read_text(encoding="utf-8").splitlines()[:600] if line.strip()]


any_model = pytest.mark.parametrize("name", [*TRAINED, "mistral", *REAL])


@any_model
def test_spans_are_those_of_sentencepiece_where_nothing_is_left_out(name: str) -> None:
    ours, reference = loaded(name)
    texts = [" ".join(line.split()) for line in lines()]
    texts += ["", "a", "x" * 300, "To be, or not to be: that is the question."]
    batch = ours.encode_batch(texts, spans=True)
    for row, text in enumerate(texts):
        given = reference.encode(text, out_type="offset_mapping")
        assert batch[row].tolist() == given["ids"]
        assert list(zip(*(part.tolist() for part in batch.spans(row)), strict=True)) == given["offsets"], text


def check_any(ours: nlp.Tokenizer, reference: Any, texts: list[str]) -> int:
    """Compare all spans; how many ends differ for one of the two reasons."""
    batch = ours.encode_batch(texts, spans=True)
    differing = 0
    for row, text in enumerate(texts):
        given = reference.encode(text, out_type="offset_mapping")
        assert batch[row].tolist() == given["ids"]
        starts, ends = (part.tolist() for part in batch.spans(row))
        assert starts == [begin for begin, _ in given["offsets"]], text
        for place, (end, (_, stop)) in enumerate(zip(ends, given["offsets"], strict=True)):
            if end < stop:
                assert not reference.normalize(text[end:stop]).strip("\u2581 "), text
            elif end > stop:
                # the next token comes from the same character (or characters: a letter and its accent)
                assert starts[place + 1] == starts[place] == stop, text
                assert ends[place + 1] >= end, text
            differing += end != stop
    return differing


@any_model
def test_any_text(name: str) -> None:
    ours, reference = loaded(name)
    texts = [text.replace("\0", "") for text in TEXTS] + lines() + random_texts(3, 400)
    differing = check_any(ours, reference, texts)
    assert differing > 4


def test_the_two_reasons() -> None:
    ours, reference = loaded("sentencepiece_bpe")
    text = "the  é"
    given = reference.encode(text, out_type="offset_mapping")
    assert given["pieces"] == ["\u2581t", "he", "\u2581", "<0xC3>", "<0xA9>"]
    assert given["offsets"] == [(0, 1), (1, 3), (3, 5), (5, 5), (5, 6)]
    _, starts, ends = ours.encode(text, spans=True)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [(0, 1), (1, 3), (3, 4), (5, 6), (5, 6)]
