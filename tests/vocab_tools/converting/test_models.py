"""SentencePiece models as ``tokenizer.json`` and back, by what sentencepiece and tokenizers make of texts."""

from __future__ import annotations

import dataclasses
import json
from functools import lru_cache
from pathlib import Path

import pytest
import sentencepiece
from tokenizers import Tokenizer

import vocab_tools
from numba_nlp.errors import ConversionError
from tests.made_tokenizers import HAMLET, TEXTS
from tests.spm_folders import trained
from tests.vocab_tools.sources import added
from vocab_tools.converting.score_merges import merges_by_score, scores_by_merges
from vocab_tools.formats.sentencepiece_model import parse

#: Kinds of models that convert.
KINDS = ("unigram", "unigram_t5", "unigram_albert", "unigram_plain", "bpe", "bpe_llama", "bpe_plain")
#: Kinds that do not, and what the message names.
LOST = {
    "unigram_xlnet": r"'<eop>' is kept as it is written, but without that a rule .* '>\\u0338'",
    "unigram_spaces": "a text of characters that are deleted, such as '.x01', would lose its space",
    "bpe_user": "3 user-defined pieces, such as '<br>', would be merged like others",
}


@lru_cache(maxsize=1)
def lines() -> list[str]:
    spaces = ["a  b", " a", "a ", "   ", "\u2581", "a\u2581b \u2581", "x\u2581\u2581", "\u3000wide\u3000", "\ttab\t"]
    # tokenizers looks rules up by grapheme cluster, which shows where a letter and its accents are apart
    made = [text for text in TEXTS if "\u0301" not in text]
    return [*made, *spaces, *HAMLET.read_text(encoding="utf-8").splitlines()[2000:2400]]


def written(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.model"
    path.write_bytes(trained(kind))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_there_and_back_encodes_alike(tmp_path, kind):
    source = written(tmp_path, kind)
    made = vocab_tools.convert(source, tmp_path / "tokenizer.json")
    assert (made.source, made.target, made.options) == ("sentencepiece", "tokenizer.json", {})
    expected = sentencepiece.SentencePieceProcessor(model_file=str(source)).encode(lines())
    reference = Tokenizer.from_file(str(made.paths[0]))
    assert [found.ids for found in reference.encode_batch(lines(), add_special_tokens=False)] == expected

    back = vocab_tools.convert(made.paths[0], tmp_path / "back.model")
    assert sentencepiece.SentencePieceProcessor(model_file=str(back.paths[0])).encode(lines()) == expected
    before, after = parse(trained(kind), name="before"), parse(back.paths[0].read_bytes(), name="after")
    assert before.pieces == after.pieces
    assert before.byte_fallback == after.byte_fallback
    # the name of the rules is no part of a tokenizer.json
    assert dataclasses.replace(before.normalizer, name="", charsmap=None) == dataclasses.replace(
        after.normalizer, name="", charsmap=None
    )
    if before.model_type == "unigram" and kind != "unigram_albert":
        assert before.scores.tobytes() == after.scores.tobytes()
        assert before.kinds.tolist() == after.kinds.tolist()


@pytest.mark.parametrize("kind", LOST)
def test_a_model_that_would_lose_something_says_what(tmp_path, kind):
    with pytest.raises(ConversionError, match=LOST[kind]):
        vocab_tools.convert(written(tmp_path, kind), tmp_path / "tokenizer.json")
    assert not (tmp_path / "tokenizer.json").exists()


def changed(folder: Path, kind: str, **changes: object) -> Path:
    """The ``tokenizer.json`` of a model, with some sections changed."""
    made = vocab_tools.convert(written(folder, kind), folder / "made.json")
    document = json.loads(made.paths[0].read_text(encoding="utf-8"))
    document.update(changes)
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "tokenizer.json"


METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}


WORDS = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}
CUT_OFF = {**added("[x]", 420), "special": False}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalizer": {"type": "NFKC"}}, r"the normalizers NormalForm\(form='NFKC'\) would be lost"),
        ({"pre_tokenizer": METASPACE}, "Metaspace puts no U\\+2581 before a text that begins with a space"),
        ({"normalizer": None, "pre_tokenizer": WORDS}, "the charsmap leaves U\\+0009 in the text"),
        ({"added_tokens": [CUT_OFF]}, r"the added token '\[x\]', which is not special"),
    ],
)
def test_stages_that_a_model_cannot_say_are_refused(tmp_path, changes, message):
    document = changed(tmp_path, "unigram", **changes)
    size = len(json.loads(document.read_text(encoding="utf-8"))["model"]["vocab"])
    document.write_text(document.read_text(encoding="utf-8").replace('"id": 420', f'"id": {size}'), encoding="utf-8")
    with pytest.raises(ConversionError, match=message):
        vocab_tools.convert(document, tmp_path / "back.model")


def test_a_template_is_lost_only_when_asked_for(tmp_path):
    template = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}},
    }
    document = changed(tmp_path, "unigram", post_processor=template)
    with pytest.raises(ConversionError, match=r'ignore=\("template",\)'):
        vocab_tools.convert(document, tmp_path / "back.model")
    assert vocab_tools.convert(document, tmp_path / "back.model", ignore=("template",)).paths[0].exists()


def test_scores_of_more_bits_are_not_rounded_away(tmp_path):
    document = changed(tmp_path, "unigram")
    content = json.loads(document.read_text(encoding="utf-8"))
    content["model"]["vocab"][5][1] = -3.00000000001
    document.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ConversionError, match=r"model\.vocab\[5\].*more digits than the float32"):
        vocab_tools.convert(document, tmp_path / "back.model")


def test_pieces_of_one_score_are_ranked_only_when_that_is_the_same():
    """Runs of one character are, if a search shows it; others are not."""
    model = parse(trained("bpe_llama"), name="made")
    ids = {piece.decode(): i for i, piece in enumerate(model.pieces)}
    multiple = [i for piece, i in ids.items() if model.kinds[i] == 0 and len(piece) > 1]
    scores = model.scores.copy()
    scores[multiple[:2]] = -1.0
    with pytest.raises(ConversionError, match="pieces have the score -1"):
        merges_by_score(dataclasses.replace(model, scores=scores), "made")


def test_merges_that_are_mixed_have_no_scores():
    vocab = {piece: i for i, piece in enumerate(("a", "b", "ab", "ba", "aba", "bab"))}
    in_blocks = [("a", "b"), ("b", "a"), ("ab", "a"), ("a", "ba"), ("ba", "b"), ("b", "ab")]
    assert scores_by_merges(vocab, in_blocks, "made")["aba"] == -2.0
    mixed = [*in_blocks[:2], ("ab", "a"), ("ba", "b"), ("a", "ba"), ("b", "ab")]
    with pytest.raises(ConversionError, match="'aba' and 'bab' are mixed in rank"):
        scores_by_merges(vocab, mixed, "made")
    with pytest.raises(ConversionError, match="'a' and 'ba' are pieces, and so is 'aba'"):
        scores_by_merges(vocab, [merge for merge in in_blocks if merge != ("a", "ba")], "made")
