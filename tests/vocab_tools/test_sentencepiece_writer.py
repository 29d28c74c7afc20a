"""The writer of ``.model`` files: what it writes is read back, and sentencepiece loads it and encodes the same."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
import sentencepiece

from tests.python_checkpoints import HAMLET
from vocab_tools.compiler.sentencepiece_samples import with_self_test
from vocab_tools.formats.sentencepiece_model import parse
from vocab_tools.formats.sentencepiece_pb2 import ModelProto
from vocab_tools.formats.sentencepiece_writer import serialize, write_model

TEXTS = ["To be, or not to be", "  naïve ﬁancé  ", "zzz ⅷ \u3000 日本語", "", "▁▁ <sep> x"]


def trained(**options) -> bytes:
    """A model that sentencepiece trains on a part of Hamlet."""
    writer = io.BytesIO()
    settings = {
        "vocab_size": 300, "hard_vocab_limit": False, "minloglevel": 2, "control_symbols": ["<cls>"],
        "user_defined_symbols": ["<sep>", "Hamlet"], "pad_id": 3, **options,
    }  # fmt: skip
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(HAMLET[:800]), model_writer=writer, **settings)
    return writer.getvalue()


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "word", "char"])
@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 600, "byte_fallback": True},
        {"treat_whitespace_as_suffix": True, "normalization_rule_name": "nfkc_cf"},
        {"normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False},
    ],
)
def test_written_models_encode_as_their_source(model_type, options):
    content = trained(model_type=model_type, **options)
    model = parse(content, name="made")
    written = serialize(model)
    again = parse(written, name="made")
    assert replace(again, source_digest="", normalizer=model.normalizer, scores=model.scores, kinds=model.kinds) == (
        replace(model, source_digest="")
    )
    np.testing.assert_array_equal(again.scores, model.scores)
    np.testing.assert_array_equal(again.kinds, model.kinds)
    assert (again.normalizer.charsmap is None) == (model.normalizer.charsmap is None)
    assert serialize(again) == written

    ours, theirs = (sentencepiece.SentencePieceProcessor(model_proto=proto) for proto in (written, content))
    lines = HAMLET[800:1000] + TEXTS
    assert ours.encode(lines) == theirs.encode(lines)
    ids = theirs.encode(lines)
    assert ours.decode(ids) == theirs.decode(ids)
    for key in ("unk_id", "bos_id", "eos_id", "pad_id", "vocab_size"):
        assert getattr(ours, key)() == getattr(theirs, key)()


def test_settings_are_recorded_as_sentencepiece_does():
    content = trained(split_digits=True, character_coverage=0.999, required_chars="éz", max_sentencepiece_length=7)
    settings = {
        "split_digits": True, "character_coverage": 0.999, "required_chars": "éz", "max_sentencepiece_length": 7,
        "control_symbols": ["<cls>"], "user_defined_symbols": ["<sep>", "Hamlet"], "hard_vocab_limit": False,
        "normalization_rule_name": "nmt_nfkc", "model_type": "bpe",
    }  # fmt: skip
    ours = ModelProto.FromString(serialize(parse(content, name="made"), settings)).trainer_spec
    theirs = ModelProto.FromString(content).trainer_spec
    assert theirs.unk_surface == b""  # left to its default, which we write
    for field in ours.DESCRIPTOR.fields:
        if field.name == "unk_surface":
            continue
        assert getattr(ours, field.name) == getattr(theirs, field.name), field.name


def test_samples_hold_in_sentencepiece():
    model = with_self_test(parse(trained(), name="made"), [text for text in TEXTS if text])
    expected = dict(model.self_test)
    reference = sentencepiece.SentencePieceProcessor(model_proto=serialize(model))
    for text, pieces in expected.items():
        assert " ".join(reference.encode(text.decode(), out_type=str)).encode() == pieces
    with pytest.raises(ValueError, match="holds U\\+0000 or a lone surrogate"):
        with_self_test(model, ["a\0b"])


def test_what_cannot_be_written(tmp_path):
    model = parse(trained(), name="made")
    scores = model.scores.copy()
    scores[3] = np.nan
    with pytest.raises(ValueError, match=r"pieces\[3\] \('<pad>'\): the score is nan, not a number"):
        serialize(replace(model, scores=scores))
    with pytest.raises(ValueError, match="kind 255 is none of"):
        serialize(replace(model, kinds=np.full(len(model.pieces), 255, np.uint8)))
    with pytest.raises(ValueError, match="the model type is 'other', known are unigram, bpe, word, char"):
        serialize(replace(model, model_type="other"))
    path = tmp_path / "made.model"
    write_model(path, model)
    assert path.read_bytes() == serialize(model)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_model(tmp_path / "none" / "made.model", model)
