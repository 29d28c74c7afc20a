"""Readers of the stages of ``tokenizer.json``."""

from __future__ import annotations

import base64
import json
import struct

import pytest

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.shared_data import shared
from vocab_tools.compiler.stages import compile_normalizers, compile_pre_tokenizers
from vocab_tools.formats.stages import decoders, normalizers, post_processors, pre_tokenizers
from vocab_tools.formats.stages.patterns import Pattern
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, PostProcessor, Template
from vocab_tools.formats.stages.stage import Stage

TEXT = -1
METASPACE = pre_tokenizers.Metaspace("\u2581", "always", True)
DECODES_METASPACE = decoders.Metaspace("\u2581", keeps_first=False)
BERT_TEMPLATE = PostProcessor(
    Template((101, TEXT, 102), (0, 0, 0)),
    Template((101, TEXT, 102, PAIR_PLACE, 102), (0, 0, 0, 1, 1)),
    adds_tokens=True,
)


def read(reader, value, name="stage"):
    return reader(Stage("file.json", name, value))


#: File -> normalizers, pre-tokenizers, post-processor, decoders; a type stands for any value of it.
FILES = {
    "barthez/tokenizer.json": (
        [normalizers.Precompiled],
        [pre_tokenizers.WhitespaceSplit(), METASPACE],
        PostProcessor(
            Template((0, TEXT, 2), (0,) * 3), Template((0, TEXT, 2, 2, PAIR_PLACE, 2), (0,) * 6), adds_tokens=True
        ),
        [DECODES_METASPACE],
    ),
    "bert/bert_base_cased.json": (
        [normalizers.BertNormalizer(True, True, None, False)],
        [pre_tokenizers.BertPreTokenizer()],
        BERT_TEMPLATE,
        [decoders.WordPiece("##", cleanup=True)],
    ),
    "bert/minilm_uncased_tokenizer.json": (
        [normalizers.BertNormalizer(True, True, None, True)],
        [pre_tokenizers.BertPreTokenizer()],
        BERT_TEMPLATE,
        [decoders.WordPiece("##", cleanup=True)],
    ),
    "clip/tokenizer.json": (
        [
            normalizers.NormalForm("NFC"),
            normalizers.Replace(Pattern(r"\s+", is_regex=True), " "),
            normalizers.CharacterMap("lowercase"),
        ],
        [pre_tokenizers.Split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)],
        PostProcessor(
            Template((49406, TEXT, 49407), (0,) * 3),
            Template((49406, TEXT, 49407, 49407, PAIR_PLACE, 49407), (0,) * 6),
            adds_tokens=True,
        ),
        [decoders.ByteLevel()],
    ),
    "gpt2/tokenizer.json": (
        [],
        [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)],
        PostProcessor(),
        [decoders.ByteLevel()],
    ),
    "mistral/mistral03.json": (
        [],
        [pre_tokenizers.Metaspace("\u2581", "first", split=False)],
        PostProcessor(Template((1, TEXT), (0, 0)), Template((1, TEXT, 1, PAIR_PLACE), (0, 0, 1, 1)), adds_tokens=True),
        [
            decoders.Replace(Pattern("\u2581"), " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ],
    ),
    "t5/flan_t5_tokenizer.json": (
        [normalizers.Precompiled, normalizers.Replace(Pattern(" {2,}", is_regex=True), " ")],
        [METASPACE],
        PostProcessor(Template((TEXT, 1), (0, 0)), Template((TEXT, 1, PAIR_PLACE, 1), (0,) * 4), adds_tokens=True),
        [DECODES_METASPACE],
    ),
    "xlnet/tokenizer.json": (
        [
            normalizers.Replace(Pattern("``"), '"'),
            normalizers.Replace(Pattern("''"), '"'),
            normalizers.NormalForm("NFKD"),
            normalizers.CharacterMap("strip_accents"),
            normalizers.Precompiled,
        ],
        [pre_tokenizers.WhitespaceSplit(), METASPACE],
        PostProcessor(
            Template((TEXT, 4, 3), (0, 0, 2)), Template((TEXT, 4, PAIR_PLACE, 4, 3), (0, 0, 1, 1, 2)), adds_tokens=True
        ),
        [DECODES_METASPACE],
    ),
}


def assert_described(found, expected):
    assert len(found) == len(expected)
    for one, wanted in zip(found, expected, strict=True):
        assert isinstance(one, wanted) if isinstance(wanted, type) else one == wanted


@pytest.mark.parametrize("file", FILES)
def test_files(file):
    content = json.loads(shared(f"vocab/{file}").read_text(encoding="utf-8"))
    of_normalizers, of_pre_tokenizers, of_post, of_decoders = FILES[file]
    assert_described(read(normalizers.read_normalizers, content["normalizer"]), of_normalizers)
    assert_described(read(pre_tokenizers.read_pre_tokenizers, content["pre_tokenizer"]), of_pre_tokenizers)
    assert read(post_processors.read_post_processors, content["post_processor"]) == of_post
    assert_described(read(decoders.read_decoders, content["decoder"]), of_decoders)


def stage(kind, **fields):
    return {"type": kind, **fields}


def sequence(field, *stages):
    return {"type": "Sequence", field: list(stages)}


STRING = {"String": "a"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ()),
        (sequence("normalizers"), ()),
        (sequence("normalizers", stage("NFD"), sequence("normalizers", stage("Nmt"))),
         (normalizers.NormalForm("NFD"), normalizers.CharacterMap("nmt"))),
        (stage("Strip", strip_left=True, strip_right=False), (normalizers.Strip(True, False),)),
        (stage("Prepend", prepend="x"), (normalizers.Prepend("x"),)),
        (stage("ByteLevel"), (normalizers.ByteLevel(),)),
        (stage("Replace", pattern=STRING, content="b"), (normalizers.Replace(Pattern("a"), "b"),)),
    ],
)  # fmt: skip
def test_normalizers(value, expected):
    assert read(normalizers.read_normalizers, value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ()),
        (sequence("pretokenizers", stage("Whitespace"), stage("Digits", individual_digits=True)),
         (pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True))),
        (stage("Punctuation"), (pre_tokenizers.Punctuation("Isolated"),)),
        (stage("Punctuation", behavior="Contiguous"), (pre_tokenizers.Punctuation("Contiguous"),)),
        (stage("CharDelimiterSplit", delimiter="|"), (pre_tokenizers.CharDelimiterSplit("|"),)),
        (stage("ByteLevel", add_prefix_space=True, trim_offsets=True), (pre_tokenizers.ByteLevel(True, True),)),
        (stage("Metaspace", replacement="_", add_prefix_space=False),
         (pre_tokenizers.Metaspace("_", "never", True),)),
        (stage("Metaspace", replacement="_", prepend_scheme="first", split=False),
         (pre_tokenizers.Metaspace("_", "first", False),)),
        (stage("Split", pattern=STRING, behavior="Removed", invert=True),
         (pre_tokenizers.Split(Pattern("a"), "Removed", True),)),
    ],
)  # fmt: skip
def test_pre_tokenizers(value, expected):
    assert read(pre_tokenizers.read_pre_tokenizers, value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ()),
        (stage("BPEDecoder", suffix="</w>"), (decoders.BPEDecoder("</w>"),)),
        (stage("Metaspace", replacement="_", prepend_scheme="never"), (decoders.Metaspace("_", True),)),
        (sequence("decoders", stage("Fuse"), stage("ByteFallback")), (decoders.Fuse(), decoders.ByteFallback())),
        (stage("ByteLevel", add_prefix_space=True, trim_offsets=True), (decoders.ByteLevel(),)),
    ],
)
def test_decoders(value, expected):
    assert read(decoders.read_decoders, value) == expected


BYTE_LEVEL = stage("ByteLevel", add_prefix_space=True, trim_offsets=True)
BERT = stage("BertProcessing", sep=["[SEP]", 102], cls=["[CLS]", 101])
ROBERTA = stage("RobertaProcessing", sep=["</s>", 2], cls=["<s>", 0], trim_offsets=True, add_prefix_space=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, PostProcessor()),
        (BERT, BERT_TEMPLATE),
        (ROBERTA, PostProcessor(
            Template((0, TEXT, 2), (0,) * 3), Template((0, TEXT, 2, 2, PAIR_PLACE, 2), (0,) * 6), True, True, False)),
        (BYTE_LEVEL, PostProcessor(trim_offsets=True, trim_keeps_prefix_space=True)),
        (sequence("processors", BYTE_LEVEL, BERT),
         PostProcessor(BERT_TEMPLATE.single, BERT_TEMPLATE.pair, True, True, True)),
    ],
)  # fmt: skip
def test_post_processors(value, expected):
    assert read(post_processors.read_post_processors, value) == expected


def template(single, pair, **tokens):
    def described(part):
        if part[0] == "$":
            return {"Sequence": {"id": part[1:], "type_id": 1}}
        return {"SpecialToken": {"id": part, "type_id": 2}}

    def parts(text):
        return [described(part) for part in text.split()]

    known = {name: {"id": name, "ids": ids, "tokens": [name] * len(ids)} for name, ids in tokens.items()}
    return stage("TemplateProcessing", single=parts(single), pair=parts(pair), special_tokens=known)


def test_templates():
    found = read(post_processors.read_post_processors, template("s $A", "$B s $A", s=[7, 8]))
    assert found.single == Template((7, 8, TEXT), (2, 2, 1))
    assert found.pair == Template((PAIR_PLACE, 7, 8, TEXT), (1, 2, 2, 1))
    assert found.adds_tokens


@pytest.mark.parametrize(
    ("reader", "value", "message"),
    [
        (normalizers.read_normalizers, stage("Novel"), "stage = .*: the normalizer 'Novel' is not supported"),
        (normalizers.read_normalizers, stage("NFC", novel=1), "stage.novel = 1: this field is not known"),
        (normalizers.read_normalizers, stage("Replace", pattern={"String": ""}, content=""), "empty pattern"),
        (normalizers.read_normalizers, stage("Replace", pattern={"Novel": "a"}, content=""), "'String' and 'Regex'"),
        (pre_tokenizers.read_pre_tokenizers, stage("UnicodeScripts"), "the pre-tokenizer 'UnicodeScripts'"),
        (pre_tokenizers.read_pre_tokenizers, stage("Punctuation", behavior="Novel"), "known behaviors are Removed"),
        (pre_tokenizers.read_pre_tokenizers, stage("Metaspace", replacement="_", prepend_scheme="last"), "schemes"),
        (decoders.read_decoders, stage("CTC"), "the decoder 'CTC' is not supported"),
        (post_processors.read_post_processors, stage("Novel"), "known are BertProcessing, ByteLevel"),
        (post_processors.read_post_processors, sequence("processors", BERT, BERT), r"\[1\] = .* two post-processors"),
        (post_processors.read_post_processors, sequence("processors", ROBERTA, BYTE_LEVEL), "spans are trimmed after"),
        (post_processors.read_post_processors, template("$A", "$A", s=[1]), r"must hold \$A and \$B"),
        (post_processors.read_post_processors, template("$A $A", "$A $B", s=[1]), r"must hold \$A, each exactly"),
        (post_processors.read_post_processors, template("$B", "$A $B", s=[1]), r"must hold \$A, each exactly"),
    ],
)
def test_what_is_refused(reader, value, message):
    with pytest.raises(UnsupportedFeatureError, match=message):
        read(reader, value)


def charsmap(content):
    return stage("Precompiled", precompiled_charsmap=base64.b64encode(content).decode())


@pytest.mark.parametrize(
    ("reader", "value", "message"),
    [
        (normalizers.read_normalizers, stage("Strip", strip_left=True), "the field 'strip_right' is missing"),
        (normalizers.read_normalizers, stage("Prepend", prepend=1), "expected a string, got 1"),
        (normalizers.read_normalizers, stage("Precompiled", precompiled_charsmap="?"), "is not base64"),
        (normalizers.read_normalizers, charsmap(b"ab"), "has at least 4 bytes, got 2"),
        (normalizers.read_normalizers, charsmap(struct.pack("<I", 8) + b"abcd"), "its trie has 8 bytes, but 4 follow"),
        (normalizers.read_normalizers, charsmap(struct.pack("<I", 4) + b"abcd\xff"), "are not UTF-8"),
        (pre_tokenizers.read_pre_tokenizers, stage("CharDelimiterSplit", delimiter="ab"), "expected one character"),
        (pre_tokenizers.read_pre_tokenizers,
         stage("Metaspace", replacement="_", add_prefix_space=False, prepend_scheme="first"), "contradicts"),
        (decoders.read_decoders, stage("Strip", content="ab", start=1, stop=0), "expected one character, got 'ab'"),
        (decoders.read_decoders, stage("Strip", content="a", start=-1, stop=0), "at least 0, got -1"),
        (post_processors.read_post_processors, stage("BertProcessing", sep=["a"], cls=["a", 1]), "a token and its id"),
        (post_processors.read_post_processors, template("x $A", "$A $B", s=[1]), "'x' is not among"),
        (post_processors.read_post_processors, template("s $A", "$A $B", s=[-1]), "expected an id, got -1"),
    ],
)  # fmt: skip
def test_what_breaks_the_format(reader, value, message):
    with pytest.raises(SourceFormatError, match=message):
        read(reader, value)


def test_what_belongs_to_other_models_is_not_compiled():
    with pytest.raises(UnsupportedFeatureError, match="add_prefix_space"):
        compile_pre_tokenizers([pre_tokenizers.ByteLevel(True, True)])
    one = normalizers.Precompiled(bytes(4), b"a\0")
    assert compile_normalizers([one, one]).arrays["charsmap_text"].tobytes() == b"a\0"
    with pytest.raises(UnsupportedFeatureError, match="two different Precompiled"):
        compile_normalizers([one, normalizers.Precompiled(bytes(4), b"b\0")])


@pytest.mark.parametrize(
    ("regex", "is_kernel"),
    [(r"\s+", True), (r" {2,}", True), ("a", True), ("-+", True), (r"\s", False), ("a|b", False), (" {2,3}", False)],
)
def test_simple_expressions_need_no_library(regex, is_kernel):
    compiled = compile_normalizers([normalizers.Replace(Pattern(regex, is_regex=True), "x")])
    assert compiled.regexes == (() if is_kernel else (regex,))


def test_expressions_that_differ_are_refused_when_compiled():
    for stages, compiler in (
        ([normalizers.Replace(Pattern(r"\d+x", is_regex=True), "x")], compile_normalizers),
        ([pre_tokenizers.Split(Pattern(r"\d+x", is_regex=True), "Isolated", False)], compile_pre_tokenizers),
    ):
        with pytest.raises(UnsupportedFeatureError, match="cannot be reproduced as tokenizers runs it"):
            compiler(stages)
