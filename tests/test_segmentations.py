"""N-best lists, sampling and scores where stages stand before a Unigram model, or another file gives the ids."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

import numba_nlp as nlp
from numba_nlp.errors import InvalidTextError, UnknownTokenError, UnsupportedFeatureError
from tests.made_tokenizers import gpt2
from tests.random_sentencepiece import model_content, random_model
from tests.renumbered_models import renumbered
from tests.shared_data import shared

SPACE = "\u2581"
#: Dyadic scores, so that sums are exact whatever their order.
SCORES = {"<unk>": 0.0, "</s>": 0.0, SPACE: -1.5, "a": -2.25, "b": -2.5, "ab": -3.0, f"{SPACE}a": -2.0, "bb": -4.0}
UNKNOWN_SCORE = min(SCORES.values()) - 10


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> nlp.Tokenizer:
    made = Tokenizer(models.Unigram(list(SCORES.items()), 0, False))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(["</s>"])
    path = tmp_path_factory.mktemp("staged") / "tokenizer.json"
    made.save(str(path))
    return nlp.load_tokenizer(path)


def ways(word: str) -> list[tuple[tuple[str, ...], float]]:
    """All ways to cut a word, unknown characters one by one, by listing them."""
    if not word:
        return [((), 0.0)]
    found = []
    for end in range(1, len(word) + 1):
        piece = word[:end]
        score = SCORES.get(piece, UNKNOWN_SCORE if end == 1 else None)
        if score is not None:
            found += [((piece, *rest), score + other) for rest, other in ways(word[end:])]
    return found


def expected(words: list[str]) -> list[tuple[list[str], float]]:
    combined = [
        ([piece for cut, _ in parts for piece in cut], sum(score for _, score in parts))
        for parts in product(*map(ways, words))
    ]
    return sorted(combined, key=lambda one: -one[1])


def spelled(tok: nlp.Tokenizer, found: list[tuple[Any, float]]) -> list[tuple[list[str], float]]:
    return [([tok.id_to_token(i) for i in ids.tolist()], score) for ids, score in found]


def test_all_ways_through_all_words_are_listed_in_order(staged: nlp.Tokenizer) -> None:
    words = [f"{SPACE}abb", f"{SPACE}bab"]
    listed = spelled(staged, staged.nbest("ABB bab", 500))
    theory = expected(words)
    assert [score for _, score in listed] == [score for _, score in theory]
    assert sorted(map(str, listed)) == sorted(map(str, theory))
    for ids, score in staged.nbest("ABB bab", 500):
        assert staged.score("abb bab", ids) == score
    assert staged.nbest("ABB bab", 1)[0][0].tolist() == staged.encode("ABB bab").tolist()
    assert staged.nbest("ABB bab", 1)[0][1] == 0


def test_unknown_characters_of_two_words_are_two_tokens(staged: nlp.Tokenizer) -> None:
    (ids, score), *_ = staged.nbest("xy z", 9)
    assert [staged.id_to_token(i) for i in ids] == [SPACE, "<unk>", SPACE, "<unk>"]
    assert score == 2 * SCORES[SPACE] + 3 * UNKNOWN_SCORE
    assert ids.tolist() == staged.encode("xy z").tolist()


def test_special_tokens_in_the_text_are_their_ids_and_score_nothing(staged: nlp.Tokenizer) -> None:
    listed = spelled(staged, staged.nbest("a</s>b", 9))
    assert listed == [
        ([f"{SPACE}a", "</s>", SPACE, "b"], SCORES[f"{SPACE}a"] + SCORES[SPACE] + SCORES["b"]),
        ([SPACE, "a", "</s>", SPACE, "b"], 2 * SCORES[SPACE] + SCORES["a"] + SCORES["b"]),
    ]
    for ids, score in staged.nbest("a</s>b", 9):
        assert staged.score("a</s>b", ids) == score
        with pytest.raises(UnknownTokenError):
            staged.score("a b", ids)
    assert spelled(staged, staged.nbest("</s>", 2)) == [(["</s>"], 0.0)]


def test_tokens_over_the_end_of_a_word_have_no_score(staged: nlp.Tokenizer) -> None:
    with pytest.raises(UnknownTokenError, match="do not spell"):
        staged.score("x y", [staged.token_to_id(SPACE), 0])


def test_nothing_has_one_way(staged: nlp.Tokenizer) -> None:
    assert [(ids.tolist(), score) for ids, score in staged.nbest("", 5)] == [([], 0.0)]
    assert [ids.tolist() for ids, _ in staged.sample("", n_samples=2)] == [[], []]
    assert staged.score("", []) == 0


@pytest.mark.parametrize("nbest_size", [-1, 6])
def test_samples_come_as_often_as_their_scores_say(staged: nlp.Tokenizer, nbest_size: int) -> None:
    n, alpha = 4000, 0.5
    drawn = spelled(staged, staged.sample("abb ab", alpha=alpha, nbest_size=nbest_size, n_samples=n, seed=3))
    theory = expected([f"{SPACE}abb", f"{SPACE}ab"])[: nbest_size if nbest_size > 0 else None]
    whole = sum(math.exp(alpha * score) for _, score in theory)
    for pieces, score in theory:
        share = math.exp(alpha * score) / whole
        count = sum(one == (pieces, score) for one in drawn)
        assert abs(count - n * share) < 5 * math.sqrt(n * share) + 1
    assert all(one in theory for one in drawn)
    best = staged.sample("abb ab", nbest_size=1, n_samples=2)
    assert [ids.tolist() for ids, _ in best] == [staged.encode("abb ab").tolist()] * 2


@pytest.mark.parametrize(("seed", "usual"), [(0, True), (1, False), (4, True)])
def test_other_ids_have_the_scores_of_the_model(seed: int, usual: bool) -> None:
    ours, ids = renumbered(seed, "unigram", usual)
    reference = sentencepiece.SentencePieceProcessor(model_proto=model_content(seed, "unigram", usual=usual))
    unknown = reference.unk_id()
    for text in ("abab ab", "a x\u00e9 b", "", "abba\U0001f600"):
        for size in (2, 20):
            listed = reference.nbest_encode(text, nbest_size=size, return_type="proto").nbests
            theirs = [
                (
                    [
                        ids.get(piece.piece if piece.id == unknown else reference.id_to_piece(piece.id), ids["<unk>"])
                        for piece in one.pieces
                    ],
                    one.score,
                )
                for one in listed
            ]
            found = ours.nbest(text, size)
            assert [(one.tolist(), score) for one, score in found] == theirs
        assert ours.nbest(text, 1)[0][0].tolist() == ours.encode(text).tolist()


def test_ids_of_several_pieces_have_no_score_of_their_own() -> None:
    ours, ids = renumbered(0, "unigram", True)
    with pytest.raises(UnsupportedFeatureError, match=r"loaded by itself has an id for each piece"):
        ours.score("\u00e9", [ids["<unk>"]])


@pytest.mark.parametrize(
    ("source", "options", "model"),
    [
        ("t5/flan_t5_tokenizer.json", {"ignore": ("truncation", "padding")}, "t5/spiece.model"),
        ("xlnet/tokenizer.json", {}, "xlnet/spiece.model"),
    ],
)
@pytest.mark.slow
def test_lists_of_published_files_are_those_of_their_models(source: str, options: dict[str, Any], model: str) -> None:
    tok = nlp.load_tokenizer(shared(f"vocab/{source}"), **options)
    reference = sentencepiece.SentencePieceProcessor(str(shared(f"vocab/{model}")))
    for text in ("Hello world, this is a test", "internationalization of things", "a"):
        for size in (1, 2, 50):
            listed = reference.nbest_encode(text, nbest_size=size, return_type="proto").nbests
            theirs = [([piece.id for piece in one.pieces], one.score) for one in listed]
            assert [(ids.tolist(), score) for ids, score in tok.nbest(text, size)] == theirs


def test_prefixes_of_a_text(staged: nlp.Tokenizer) -> None:
    assert [token for _, token in staged.common_prefix_search(f"{SPACE}abc")] == [SPACE, f"{SPACE}a"]
    assert staged.common_prefix_search("abc") == [(3, "a"), (5, "ab")]
    assert staged.common_prefix_search(b"zz") == []
    ours, ids = renumbered(0, "unigram", True)
    known = ours.id_to_token(next(number for number in ours.encode("abab ab").tolist() if number != ids["<unk>"]))
    assert ours.common_prefix_search(known)[-1] == (ids[known], known)
    with pytest.raises(UnsupportedFeatureError, match="this is byte-level BPE"):
        gpt2().ours.common_prefix_search("a")


def test_invalid_text_may_be_replaced(staged: nlp.Tokenizer) -> None:
    with pytest.raises(InvalidTextError, match="pass errors='replace'"):
        staged.nbest("a\ud800", 2)
    (ids, score), *_ = staged.nbest("a\ud800", 2, errors="replace")
    assert staged.score("a\ufffd", ids) == score == staged.score("a\ud800", ids, errors="replace")
    assert staged.sample("\ud800", errors="replace", n_samples=1)


@pytest.mark.parametrize("call", [lambda t: t.nbest("a", 2), lambda t: t.sample("a"), lambda t: t.score("a", [1])])
def test_refusals_name_what_users_know(call: Any) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"Unigram models.*byte-level BPE; it has dropout= of encode"):
        call(gpt2().ours)
    with pytest.raises(UnsupportedFeatureError, match=r"this is a word model of SentencePiece$"):
        call(random_model(0, "word").ours)


def test_the_padding_piece_of_a_model_pads(tmp_path: Path) -> None:
    path = shared("vocab/t5/spiece.model")
    tok = nlp.load_tokenizer(path)
    reference = sentencepiece.SentencePieceProcessor(str(path))
    assert tok.input_settings.pad_id == reference.pad_id() == 0
    padded = tok(["a", "b c d"], padding=True)
    assert padded.input_ids[0, -1] == 0
    assert padded.attention_mask[0, -1] == 0
    without = random_model(3, usual=True).ours
    assert without.input_settings.pad_id is None
    with pytest.raises(ValueError, match="no padding token"):
        without(["a", "b c"], padding=True)
    assert isinstance(padded.input_ids, np.ndarray)
