from __future__ import annotations

import json
import re

import numpy as np
import pytest
from tokenizers import Tokenizer

from numba_nlp.byte_alphabet import bytes_of
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.vocab_tools.sources import (
    BYTE_LEVEL,
    BYTES,
    PADDING,
    added,
    tokenizer_file,
    vocabulary,
    write_json,
)
from vocab_tools.formats import tokenizer_json
from vocab_tools.formats.model_inputs import InputSettings

SPLIT = {
    "type": "Split",
    "pattern": {"Regex": r"[a-z]+|\d"},
    "behavior": "Isolated",
    "invert": False,
}
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
NO_CUT = {**BYTE_LEVEL, "use_regex": False}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    ],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [256], "tokens": ["<s>"]},
        "</s>": {"id": "</s>", "ids": [257, 256], "tokens": ["</s>", "<s>"]},
    },
}
ROBERTA = {
    "type": "RobertaProcessing",
    "sep": ["</s>", 257],
    "cls": ["<s>", 256],
    "trim_offsets": True,
    "add_prefix_space": False,
}
BERT = {"type": "BertProcessing", "sep": ["</s>", 257], "cls": ["<s>", 256]}
SPECIALS = [added("<s>", 256), added("</s>", 257)]


def trim(**options):
    return {**BYTE_LEVEL, "trim_offsets": True, "add_prefix_space": True, **options}


def sequence(name, *stages):
    return {"type": "Sequence", name: list(stages)}


def read(tmp_path, value, **options):
    return tokenizer_json.read(write_json(tmp_path / "toy.json", value), **options)


def peer(value):
    return Tokenizer.from_str(json.dumps(value))


def test_both_forms_of_merges(tmp_path):
    vocab = vocabulary("th", "the")
    expected = [[vocab["t"], vocab["h"], 256], [256, vocab["e"], 257]]
    for merges in (["t h", "th e"], [["t", "h"], ["th", "e"]]):
        assert read(tmp_path, tokenizer_file(vocab, merges)).merges.tolist() == expected


@pytest.mark.parametrize("merge", ["t", "t h e", "t  h", ["t"], ["t", 1], ["t", ""], 7, None])
def test_bad_merges(tmp_path, merge):
    with pytest.raises(SourceFormatError, match=r"toy\.json: model\.merges\[1\]: a merge is two pieces, got "):
        read(tmp_path, tokenizer_file(vocabulary("th"), ["t h", merge]))


def test_merges_are_checked_against_the_vocabulary(tmp_path):
    with pytest.raises(SourceFormatError, match=r"model\.merges\[1\]: the product 'thx' .* is no piece"):
        read(tmp_path, tokenizer_file(vocabulary("th"), ["t h", "th x"]))
    with pytest.raises(SourceFormatError, match=r"model\.merges\[1\]: the merge 't h' is already listed"):
        read(tmp_path, tokenizer_file(vocabulary("th"), ["t h", "t h"]))
    with pytest.raises(SourceFormatError, match=r"holds '日', which is outside the byte alphabet"):
        read(tmp_path, tokenizer_file(vocabulary("日", "日t"), ["日 t"]))


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"normalizer": {"type": "Novel"}}, 'normalizer = {"type": "Novel"}: the normalizer \'Novel\''),
        (
            {"normalizer": sequence("normalizers", {"type": "NFC", "novel": 1})},
            "normalizer.normalizers[0].novel = ",
        ),
        ({"normalizer": {"type": "BertNormalizer"}}, 'normalizer = {"type": "BertNormalizer"}: '),
        ({"pre_tokenizer": None}, "pre_tokenizer = null: "),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer = "),
        ({"pre_tokenizer": NO_CUT}, "pre_tokenizer = "),
        ({"pre_tokenizer": {**BYTE_LEVEL, "novel": 1}}, "pre_tokenizer.novel = 1: "),
        ({"pre_tokenizer": sequence("pretokenizers")}, "pre_tokenizer = "),
        ({"pre_tokenizer": sequence("pretokenizers", SPLIT)}, "pre_tokenizer.pretokenizers[0] = "),
        ({"pre_tokenizer": sequence("pretokenizers", SPLIT, BYTE_LEVEL)}, "pre_tokenizer.pretokenizers[1] = "),
        (
            {"pre_tokenizer": sequence("pretokenizers", SPLIT, {**NO_CUT, "add_prefix_space": True})},
            "pre_tokenizer.pretokenizers[1] = ",
        ),
        (
            {"pre_tokenizer": sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, BYTE_LEVEL)},
            "[0] = ",
        ),
        ({"pre_tokenizer": sequence("pretokenizers", SPLIT, SPLIT, NO_CUT)}, "pre_tokenizer = "),
        (
            {"pre_tokenizer": sequence("pretokenizers", {**SPLIT, "behavior": "Removed"}, NO_CUT)},
            'pre_tokenizer.pretokenizers[0].behavior = "Removed": ',
        ),
        ({"pre_tokenizer": sequence("pretokenizers", {**SPLIT, "invert": True}, NO_CUT)}, "[0].invert = true: "),
        (
            {"pre_tokenizer": sequence("pretokenizers", {**SPLIT, "pattern": {"String": " "}}, NO_CUT)},
            '[0].pattern = {"String": " "}: ',
        ),
        ({"post_processor": {"type": "Novel"}}, "post_processor = "),
        ({"post_processor": sequence("processors", trim(), trim())}, "post_processor.processors[1] = "),
        ({"post_processor": sequence("processors", TEMPLATE, trim())}, "post_processor.processors[1] = "),
        ({"post_processor": sequence("processors", TEMPLATE, TEMPLATE)}, "post_processor.processors[1] = "),
        ({"decoder": None}, "decoder = null: without a decoder"),
        ({"decoder": {"type": "Metaspace"}}, "decoder = "),
        ({"decoder": sequence("decoders", BYTE_LEVEL, BYTE_LEVEL)}, "decoder = "),
        ({"truncation": {"max_length": 8}}, 'truncation = {"max_length": 8}: '),
        ({"padding": {"length": 8}}, 'padding = {"length": 8}: '),
        ({"version": "2.0"}, 'version = "2.0": '),
        ({"novel_stage": None}, "novel_stage = null: this field is not known"),
        ({"model": {"type": "WordLevel", "vocab": {}}}, 'model.type = "WordLevel": '),
        ({"added_tokens": [{**added("<s>", 256), "novel": 1}]}, "added_tokens[0].novel = 1: "),
    ],
)
def test_stages_that_are_not_reproduced_are_refused_by_name(tmp_path, changes, where):
    with pytest.raises(UnsupportedFeatureError, match=re.escape(where)) as caught:
        read(tmp_path, {**tokenizer_file(added_tokens=SPECIALS), **changes})
    assert "toy.json" in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("dropout", 0.1),
        ("novel_option", False),
    ],
)
def test_model_options_that_are_not_reproduced(tmp_path, option, value):
    with pytest.raises(UnsupportedFeatureError, match=rf"model\.{option} = {json.dumps(value)}: "):
        read(tmp_path, tokenizer_file(model={option: value}))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("dropout", 0.0),
        ("unk_token", "a"),
        ("unk_token", "not in the vocabulary"),
        ("fuse_unk", True),
        ("byte_fallback", True),
        ("continuing_subword_prefix", ""),
        ("end_of_word_suffix", ""),
    ],
)
def test_model_options_without_effect_are_accepted(tmp_path, option, value):
    source = tokenizer_file(vocabulary("th"), ["t h"], model={option: value})
    text = "the é日\x00"
    assert peer(source).encode(text).ids == peer(tokenizer_file(vocabulary("th"), ["t h"])).encode(text).ids
    assert read(tmp_path, source).merges.tolist() == [[BYTES["t"], BYTES["h"], 256]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, "model: expected an object, got null"),
        ({"model": {"type": "BPE", "merges": []}}, "model: the field 'vocab' is missing"),
        ({"model": {"type": "BPE", "vocab": BYTES}}, "model: the field 'merges' is missing"),
        ({"pre_tokenizer": {"type": "ByteLevel", "trim_offsets": True}}, "the field 'add_prefix_space' is missing"),
        ({"pre_tokenizer": {**BYTE_LEVEL, "trim_offsets": 1}}, "trim_offsets: expected true or false, got 1"),
        ({"pre_tokenizer": {}}, "pre_tokenizer: the field 'type' is missing"),
        ({"normalizer": "NFC"}, 'normalizer: expected an object, got "NFC"'),
        # tokenizers takes this one for BertProcessing, which never trims
        ({"post_processor": {key: ROBERTA[key] for key in ("type", "sep", "cls")}}, "'trim_offsets' is missing"),
        ({"post_processor": {**ROBERTA, "sep": ["</s>"]}}, r"sep: expected a token and its id"),
        ({"post_processor": {**ROBERTA, "sep": ["</s>", 999]}}, "the id 999 belongs to no piece"),
        ({"post_processor": {**ROBERTA, "sep": ["</s>", -1]}}, r"sep\[1\]: expected an id, got -1"),
        ({"added_tokens": [{"id": 256, "content": "<s>"}]}, r"added_tokens\[0\]: the field 'special' is missing"),
        ({"added_tokens": [added("", 256)]}, r"added_tokens\[0\]: the content is empty"),
        ({"added_tokens": [added("<s>", 256)] * 2}, r"added_tokens\[1\]: the token '<s>' is already listed"),
        ({"added_tokens": {}}, "added_tokens: expected an array"),
    ],
)
def test_files_that_break_the_format(tmp_path, changes, message):
    with pytest.raises(SourceFormatError, match=message):
        read(tmp_path, {**tokenizer_file(added_tokens=SPECIALS), **changes})


def test_not_a_tokenizer_json(tmp_path):
    with pytest.raises(SourceFormatError, match="the field 'model' is missing"):
        read(tmp_path, {"hidden_size": 768})
    with pytest.raises(SourceFormatError, match="expected an object"):
        read(tmp_path, [])


def test_truncation_and_padding_can_be_left_out(tmp_path):
    source = tokenizer_file(truncation={"max_length": 8}, padding=PADDING)
    with pytest.raises(UnsupportedFeatureError, match=r'padding = .*pass ignore=\("padding",\)'):
        read(tmp_path, source, ignore=("truncation",))
    left_out = read(tmp_path, source, ignore=("truncation", "padding"))
    assert left_out.template_single == ()
    # how the file pads is not applied by itself, but it is what padding= does
    assert left_out.inputs == InputSettings(pad_id=3, pad_type_id=2, padding_side="left")
    with pytest.raises(SourceFormatError, match="ignore= takes 'truncation' and 'padding', got 'normalizer'"):
        read(tmp_path, source, ignore=("normalizer",))


def test_cutting(tmp_path):
    plain = read(tmp_path, tokenizer_file())
    assert (plain.pattern, plain.add_prefix_space) == ("gpt2", False)
    prefixed = read(tmp_path, tokenizer_file(pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": True}))
    assert prefixed.add_prefix_space
    old = {key: BYTE_LEVEL[key] for key in ("type", "add_prefix_space", "trim_offsets")}
    assert read(tmp_path, tokenizer_file(pre_tokenizer=old)).pattern == "gpt2"
    alone = sequence("pretokenizers", BYTE_LEVEL)
    assert read(tmp_path, tokenizer_file(pre_tokenizer=alone)).pattern == "gpt2"
    unknown = read(tmp_path, tokenizer_file(pre_tokenizer=sequence("pretokenizers", SPLIT, NO_CUT)))
    assert (unknown.pattern, unknown.pattern_regex) == ("regex", r"[a-z]+|\d")
    split = {**SPLIT, "pattern": {"Regex": LLAMA3}}
    known = read(tmp_path, tokenizer_file(pre_tokenizer=sequence("pretokenizers", split, NO_CUT)))
    assert (known.pattern, known.pattern_regex) == ("llama3", LLAMA3)


@pytest.mark.parametrize(
    ("stage", "trims", "keeps", "template"),
    [
        (None, False, False, ()),
        (trim(trim_offsets=False), False, False, ()),
        (trim(), True, True, ()),
        (trim(add_prefix_space=False), True, False, ()),
        (ROBERTA, True, False, (256, -1, 257)),
        (BERT, False, False, (256, -1, 257)),
        ({**ROBERTA, "add_prefix_space": True}, True, True, (256, -1, 257)),
        ({**ROBERTA, "trim_offsets": False}, False, False, (256, -1, 257)),
        (TEMPLATE, False, False, (256, -1, 257, 256)),
        (sequence("processors", trim(), TEMPLATE), True, True, (256, -1, 257, 256)),
        (sequence("processors", TEMPLATE, trim(trim_offsets=False)), False, False, (256, -1, 257, 256)),
        (sequence("processors"), False, False, ()),
        ({**TEMPLATE, "single": TEMPLATE["single"][1:2]}, False, False, ()),
    ],
)
def test_post_processors(tmp_path, stage, trims, keeps, template):
    source = tokenizer_file(added_tokens=SPECIALS, post_processor=stage)
    description = read(tmp_path, source)
    assert (description.trim_offsets, description.trim_keeps_prefix_space) == (trims, keeps)
    assert description.template_single == template
    text = "ab"
    ids = [BYTES["a"], BYTES["b"]]
    expected = [number for part in template for number in (ids if part < 0 else [part])] or ids
    assert peer(source).encode(text).ids == expected
    # what the two flags say about spans: only spaces are trimmed, one at the start may be kept
    encoding = peer(source).encode("  \n")
    spans = [span for span, number in zip(encoding.offsets, encoding.ids, strict=True) if number < 256]
    first, second = ((0, 1), (1, 2)) if not trims else ((0, 0) if keeps else (1, 1), (2, 2))
    assert spans == [first, second, (2, 3)]


@pytest.mark.parametrize(
    "single",
    [
        [],
        TEMPLATE["single"][:1],
        TEMPLATE["single"][1:2] * 2,
        [{"Sequence": {"id": "B", "type_id": 0}}],
        [{"Novel": {}}],
    ],
)
def test_templates_that_are_not_reproduced(tmp_path, single):
    with pytest.raises(UnsupportedFeatureError, match=r"post_processor\.single"):
        read(tmp_path, tokenizer_file(added_tokens=SPECIALS, post_processor={**TEMPLATE, "single": single}))


def test_template_with_a_token_that_it_does_not_define(tmp_path):
    single = [{"SpecialToken": {"id": "<x>", "type_id": 0}}, TEMPLATE["single"][1]]
    with pytest.raises(
        SourceFormatError, match=r"single\[0\]\.SpecialToken: '<x>' is not among post_processor\.special"
    ):
        read(tmp_path, tokenizer_file(added_tokens=SPECIALS, post_processor={**TEMPLATE, "single": single}))


ADDED_CONTENTS = ["<x>", "é", "Ġa", "a b", "日本", "Ā", "\xa0", "aĀ日", "th", "\n", "q"]


def test_added_tokens_have_the_ids_and_decode_as_in_tokenizers(tmp_path):
    vocab, entries = vocabulary("th"), []
    following = len(vocab)
    for content in ADDED_CONTENTS:
        number = vocab.get(content, following)
        following += number == following
        entries.append(added(content, number, special=content != "日本", lstrip=content == "<x>"))
    source = tokenizer_file(vocab, ["t h"], entries)
    description, reference = read(tmp_path, source), peer(source)
    assert len(description.decoded) == reference.get_vocab_size()
    for number, decoded in enumerate(description.decoded):
        expected = reference.decode([number], skip_special_tokens=False)
        assert decoded.decode(errors="replace") == expected, number
    for token in description.added_tokens:
        assert reference.token_to_id(token.content) == token.id
        assert description.kinds[token.id] == (2 if token.special else 3)
        assert description.pieces[token.id] == (bytes_of(token.content) if token.content in vocab else None)
    assert description.added_tokens[0].lstrip


@pytest.mark.parametrize("ids", [(300,), (256, 400), (258, 257), (5,)])
def test_added_tokens_whose_ids_tokenizers_would_change(tmp_path, ids):
    source = tokenizer_file(added_tokens=[added(f"<{number}>", number) for number in ids])
    assert [peer(source).token_to_id(f"<{number}>") for number in ids] == [256, 257][: len(ids)]
    with pytest.raises(SourceFormatError, match="but tokenizers gives it 25"):
        read(tmp_path, source)


def test_added_token_whose_id_a_gap_lets_collide(tmp_path):
    source = tokenizer_file({**BYTES, "th": 257}, added_tokens=[added("<x>", 257)])
    with pytest.raises(SourceFormatError, match="the id 257 of '<x>' is taken by 'th'"):
        read(tmp_path, source, allow_gaps=True)


def test_gaps_need_a_word(tmp_path):
    source = tokenizer_file({**BYTES, "th": 258})
    with pytest.raises(SourceFormatError, match=r"model\.vocab: 2 of the ids below 259 belong to no piece: 256, 257"):
        read(tmp_path, source)
    assert np.flatnonzero(read(tmp_path, source, allow_gaps=True).kinds == 255).tolist() == [256, 257]


def test_pieces_outside_the_byte_alphabet_cannot_be_reached(tmp_path):
    description = read(tmp_path, tokenizer_file(vocabulary("a b", "日")))
    assert description.pieces[256:] == [None, None]
    assert description.decoded[256:] == [b"a b", "日".encode()]


def test_ignore_merges_with_a_single_word_token_of_the_model(tmp_path):
    vocab = vocabulary("th")
    with pytest.raises(UnsupportedFeatureError, match=r"model\.ignore_merges = true: .*'th', which is single_word"):
        read(tmp_path, tokenizer_file(vocab, [], [added("th", 256, single_word=True)], {"ignore_merges": True}))
    assert read(tmp_path, tokenizer_file(vocab, [], [added("th", 256)], {"ignore_merges": True})).ignore_merges


def test_name(tmp_path):
    assert read(tmp_path, tokenizer_file()).name == "toy"
    assert read(tmp_path, tokenizer_file(), name="mine").name == "mine"
    folder = tmp_path / "some-model"
    folder.mkdir()
    assert tokenizer_json.read(write_json(folder / "tokenizer.json", tokenizer_file())).name == "some-model"
