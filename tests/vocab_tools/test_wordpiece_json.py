"""``tokenizer.json`` with a WordPiece model: read exactly, or refused with the path of what is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import vocab_tools
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.compiler import describe_source
from vocab_tools.formats.description import KIND_ABSENT, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED, TEXT_PLACE

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "ab", ".")
NORMALIZER = {
    "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": False, "strip_accents": None,
    "lowercase": True,
}  # fmt: skip
BERT_POST = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
TEMPLATE_POST: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ],
    "pair": [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
    ],
    "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in (("[CLS]", 2), ("[SEP]", 3))},
}
MODEL: dict[str, Any] = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
    "vocab": {piece: number for number, piece in enumerate(PIECES)},
}


def added(content: str, number: int, **options: bool) -> dict[str, Any]:
    off = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    return {"id": number, "content": content, "special": True, **off, **options}


def source(**changes: Any) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(piece, number) for number, piece in enumerate(PIECES[:5])],
        "normalizer": NORMALIZER,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": BERT_POST,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": MODEL,
        **changes,
    }


def write(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "toy.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def read(folder: Path, **changes: Any) -> Any:
    return describe_source(write(folder, source(**changes)))


def test_what_the_file_says(tmp_path: Path) -> None:
    description = read(tmp_path)
    assert description.pieces == list(PIECES)
    assert description.kinds.tolist() == [KIND_CONTROL] * 5 + [KIND_NORMAL] * 4
    assert (description.name, description.source_format, description.reference) == (
        "toy", "tokenizer.json", "tokenizers",
    )  # fmt: skip
    assert (description.unknown, description.prefix, description.max_input_chars_per_word) == (1, "##", 100)
    options = description.clean_text, description.handle_chinese_chars, description.strip_accents, description.lowercase
    assert options == (True, False, None, True)
    assert (description.decoder_prefix, description.cleanup, description.special_policy) == ("##", False, "match")
    assert description.template_single == (2, TEXT_PLACE, 3)
    assert vocab_tools.compile(write(tmp_path, source()), special="plain").metadata["special_policy"] == "plain"


@pytest.mark.parametrize(
    "changes",
    [
        {"post_processor": TEMPLATE_POST},
        {"post_processor": {"type": "Sequence", "processors": [BERT_POST]}},
        {"normalizer": {"type": "Sequence", "normalizers": [NORMALIZER]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}]}},
        {"decoder": {"type": "Sequence", "decoders": [{"type": "WordPiece", "prefix": "##", "cleanup": False}]}},
        {"model": {key: value for key, value in MODEL.items() if key != "type"}},
        {"normalizer": {key: value for key, value in NORMALIZER.items() if key != "strip_accents"}},
    ],
    ids=["template", "post", "normalizer", "pre", "decoder", "no type", "no strip_accents"],
)
def test_other_ways_to_say_the_same(tmp_path: Path, changes: dict[str, Any]) -> None:
    first, second = (
        vocab_tools.compile(write(tmp_path, source(**given)), name="x", keep_source=False) for given in ({}, changes)
    )
    assert {**first.metadata, **dict.fromkeys(("source_digest", "metadata_digest"))} == {
        **second.metadata, **dict.fromkeys(("source_digest", "metadata_digest")),
    }  # fmt: skip


def test_no_normalizer_and_no_post_processor(tmp_path: Path) -> None:
    description = read(tmp_path, normalizer=None, post_processor=None)
    options = description.clean_text, description.handle_chinese_chars, description.strip_accents, description.lowercase
    assert options == (False, False, False, False)
    assert description.template_single == ()


def test_added_tokens_beside_the_model(tmp_path: Path) -> None:
    tokens = [added("[UNK]", 1), added("ab", 7, special=False, lstrip=True), added("<new>", 9, single_word=True)]
    description = read(tmp_path, added_tokens=tokens)
    assert description.pieces == [*PIECES, None]
    assert description.kinds[[1, 7, 9]].tolist() == [KIND_CONTROL, KIND_USER_DEFINED, KIND_CONTROL]
    assert [token.content for token in description.added_tokens] == ["[UNK]", "ab", "<new>"]


def test_gaps(tmp_path: Path) -> None:
    model = {**MODEL, "vocab": {**MODEL["vocab"], "z": 12}}
    with pytest.raises(SourceFormatError, match=r"3 of the ids below 13 belong to no piece: 9, 10, 11; .*allow_gaps"):
        read(tmp_path, model=model)
    description = describe_source(write(tmp_path, source(model=model)), allow_gaps=True)
    assert description.kinds[9:].tolist() == [KIND_ABSENT] * 3 + [KIND_NORMAL]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"normalizer": {**NORMALIZER, "novel": 1}}, "normalizer.novel = 1: this field is not known"),
        ({"pre_tokenizer": {"type": "BertPreTokenizer", "novel": 0}}, "pre_tokenizer.novel = 0: "),
        ({"decoder": {"type": "CTC"}}, 'decoder = {"type": "CTC"}: '),
        (
            {
                "post_processor": {
                    **BERT_POST,
                    "type": "RobertaProcessing",
                    "trim_offsets": True,
                    "add_prefix_space": True,
                }
            },
            "post_processor = ",
        ),
        ({"post_processor": {**BERT_POST, "novel": 0}}, "post_processor.novel = 0: "),
        ({"post_processor": {"type": "Sequence", "processors": [BERT_POST, BERT_POST]}}, "processors[1] = "),
        ({"model": {**MODEL, "novel": 0}}, "model.novel = 0: "),
        ({"truncation": {"max_length": 8}}, 'truncation = {"max_length": 8}: '),
    ],
)
def test_what_is_not_reproduced_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], where: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=re.escape(where)) as caught:
        read(tmp_path, **changes)
    assert "toy.json" in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"type": "Sequence", "normalizers": [NORMALIZER, NORMALIZER]}},
        {"pre_tokenizer": None},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"decoder": None},
        {"decoder": {"type": "Fuse"}},
        {"added_tokens": [added("[UNK]", 1), added("new", 9, special=False, normalized=True)]},
    ],
)
def test_other_stages_than_those_of_bert(tmp_path: Path, changes: dict[str, Any]) -> None:
    description = read(tmp_path, **changes)
    assert (description.model, description.prefix, description.max_characters) == ("wordpiece", "##", 100)
    metadata = vocab_tools.compile(write(tmp_path, source(**changes))).metadata
    assert (metadata["algorithm"], metadata["unknown_id"], metadata["prefix"]) == ("staged_wordpiece", 1, "##")


def test_tokens_in_normalized_text_need_no_stages_where_nothing_normalizes(tmp_path: Path) -> None:
    tokens = [added("[UNK]", 1), added("new", 9, special=False, normalized=True)]
    path = write(tmp_path, source(normalizer=None, added_tokens=tokens))
    assert vocab_tools.compile(path).metadata["algorithm"] == "wordpiece"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {**MODEL, "unk_token": "<unk>"}}, r"model\.unk_token: '<unk>' is no piece of model\.vocab"),
        ({"model": {**MODEL, "unk_token": None}}, r"model\.unk_token: expected a token, got null"),
        ({"model": {**MODEL, "max_input_chars_per_word": -1}}, "expected 0 or more, got -1"),
        ({"model": {**MODEL, "max_input_chars_per_word": 1.5}}, "expected a number of characters, got 1.5"),
        ({"model": {**MODEL, "vocab": {}}}, r"model\.vocab: expected an object of pieces"),
        ({"model": {"type": "WordPiece", "vocab": MODEL["vocab"]}}, "the field 'unk_token' is missing"),
        ({"normalizer": {"type": "BertNormalizer", "clean_text": True}}, "'handle_chinese_chars' is missing"),
        ({"normalizer": {**NORMALIZER, "strip_accents": 1}}, "strip_accents: expected true, false or null, got 1"),
        ({"decoder": {"type": "WordPiece", "prefix": "##"}}, "decoder: the field 'cleanup' is missing"),
        ({"post_processor": {**BERT_POST, "sep": ["[SEP]", 99]}}, "the id 99 belongs to no piece"),
        ({"added_tokens": [added("[UNK]", 5)]}, r"'\[UNK\]' has the id 5 here, but tokenizers gives it 1"),
    ],
)
def test_files_that_break_the_format(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceFormatError, match=message):
        read(tmp_path, **changes)


@pytest.mark.parametrize("changes", [{}, {"post_processor": TEMPLATE_POST}, {"normalizer": None}])
def test_the_reference_reads_the_same(tmp_path: Path, changes: dict[str, Any]) -> None:
    from tokenizers import Tokenizer

    import numba_nlp as nlp

    path = write(tmp_path, source(**changes))
    ours, reference = nlp.load_tokenizer(path), Tokenizer.from_file(str(path))
    for text in ("ab a.b Ab [MASK] AB", "", "[CLS]a"):
        expected = reference.encode(text)
        assert ours.encode(text, add_special_tokens=True).tolist() == expected.ids
        assert ours.decode(expected.ids) == reference.decode(expected.ids, skip_special_tokens=False)
