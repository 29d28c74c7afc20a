"""Normalisation rules by name against sentencepiece's, and tables of one's own."""

from __future__ import annotations

import io

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import SourceFormatError
from tests.shared_data import shared
from vocab_tools.formats.charsmap import join_charsmap
from vocab_tools.formats.normalization_rules import (
    RULE_NAMES,
    charsmap_by_name,
    charsmap_of,
    compile_by_name,
    read_rules,
    rules_by_name,
)
from vocab_tools.formats.sentencepiece_pb2 import ModelProto, NormalizerSpec

NAMES = [name for name in RULE_NAMES if name != "identity"]


def reference(name: str) -> dict[bytes, bytes]:
    """The rules that sentencepiece writes into a model that it trains with a name."""
    from vocab_tools.formats.charsmap import decode_charsmap

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world"]), model_writer=model, vocab_size=20, hard_vocab_limit=False,
        normalization_rule_name=name, minloglevel=2,
    )  # fmt: skip
    return decode_charsmap(ModelProto.FromString(model.getvalue()).normalizer_spec.precompiled_charsmap).rules()


@pytest.mark.parametrize("name", NAMES)
def test_rules_are_those_of_sentencepiece(name):
    """All 225,000 of them, so that every code point and sequence is normalised alike."""
    charsmap = charsmap_by_name(name)
    assert charsmap is not None
    assert charsmap.rules() == reference(name)


@pytest.mark.slow
def test_shipped_charsmaps_are_compiled_from_the_rules():
    charsmap = charsmap_by_name("nmt_nfkc_cf")
    assert charsmap is not None
    assert join_charsmap(charsmap) == compile_by_name("nmt_nfkc_cf")
    assert {key.encode(): text.encode() for key, text in rules_by_name("nfkc").items()} == reference("nfkc")


@pytest.fixture(scope="module")
def normalizers():
    """Our charsmap in sentencepiece, and sentencepiece's own of that name."""
    charsmap = charsmap_by_name("nmt_nfkc")
    message = NormalizerSpec(precompiled_charsmap=join_charsmap(charsmap), name=b"ours")
    ours = sentencepiece.SentencePieceNormalizer(normalizer_spec=message.SerializeToString())
    return ours, sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")


@given(text=st.text(max_size=30))
def test_sentencepiece_takes_our_charsmap(normalizers, text):
    ours, theirs = normalizers
    assert ours.normalize(text) == theirs.normalize(text)


def test_sequences_in_sentencepiece(normalizers):
    ours, theirs = normalizers
    for file in ("udhr_all_languages.txt", "utf8_sequence_0x10ffff.txt"):
        text = shared(f"text/{file}").read_text(encoding="utf-8", errors="replace")[:400_000].replace("\0", "")
        assert ours.normalize(text) == theirs.normalize(text)


def test_identity_and_unknown_names():
    assert charsmap_by_name("identity") is None
    assert rules_by_name("identity") == {}
    for lookup in (charsmap_by_name, rules_by_name):
        with pytest.raises(ValueError, match="`normalization_rule_name` is 'nfd', known are nmt_nfkc, nfkc"):
            lookup("nfd")


def test_rules_of_a_table(tmp_path):
    path = tmp_path / "rules.tsv"
    path.write_text("41 302 300\t1EA6\n# a comment\n\nE9\t65\t# é => e\nU+00AD\t\n7F\n", encoding="utf-8")
    rules = read_rules(path)
    assert rules == {"A\u0302\u0300": "\u1ea6", "é": "e", "\u00ad": "", "\x7f": ""}
    charsmap = charsmap_of(rules)
    assert charsmap is not None
    message = NormalizerSpec(
        precompiled_charsmap=join_charsmap(charsmap), add_dummy_prefix=False, escape_whitespaces=False
    )
    normalizer = sentencepiece.SentencePieceNormalizer(normalizer_spec=message.SerializeToString())
    assert normalizer.normalize("A\u0302\u0300 caf\xe9 soft\xadhyphen") == "\u1ea6 cafe softhyphen"
    assert charsmap_of({}) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("41\t42\n41\t43\n", r"rules.tsv:2: a second rule for 41"),
        ("zz\t42\n", r"rules.tsv:1: 'zz' is no code point in hexadecimal"),
        ("41\tD800\n", r"rules.tsv:1: 'D800' is no code point"),
        ("41\t110000\n", r"rules.tsv:1: '110000' is no code point"),
        ("0\t41\n", r"rules.tsv:1: '0' is no code point"),
        ("\t41\n", r"rules.tsv:1: no code points before the tab"),
        (b"41\t\xff", r"rules.tsv: byte 3 is not valid UTF-8"),
        ("\n".join("41 " * n + "\t42" for n in range(1, 40)), "more than 32 of its keys begin one another"),
    ],
)
def test_broken_tables(tmp_path, content, message):
    path = tmp_path / "rules.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SourceFormatError, match=message):
        read_rules(path)


def test_scripts_of_characters():
    from vocab_tools.formats.unicode_facts import scripts

    numbers, names = scripts()
    assert numbers.size == 0x110000
    assert not numbers.flags.writeable
    expected = {"a": "Latin", "я": "Cyrillic", "α": "Greek", "語": "Han", "か": "Hiragana", "カ": "Katakana"}
    expected |= {"ก": "Thai", "\u0301": "Inherited", "1": "Common", "한": "Hangul", "\U0010ffff": "Common"}
    assert {character: names[numbers[ord(character)]] for character in expected} == expected
    assert np.unique(numbers).size == len(names)
