"""Reader of ``.model`` files: what it gives, and what it refuses, at least what sentencepiece refuses."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest
import sentencepiece

from numba_nlp.errors import SourceFormatError
from tests.sentencepiece_cases import model_of
from vocab_tools.formats import sentencepiece_model
from vocab_tools.formats.charsmap import encode_charsmap
from vocab_tools.formats.sentencepiece_pb2 import ModelProto
from vocab_tools.formats.sentencepiece_self_test import check_self_test

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
PIECES = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("▁a", NORMAL), ("b", UNUSED), ("[x]", USER_DEFINED)]
BYTES = [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]


def parse(model):
    return sentencepiece_model.parse(model.SerializeToString(), name="made")


def reference_takes(content):
    """Whether sentencepiece loads a model, so that only what it takes may be taken here."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(content)
    except RuntimeError:
        return False
    return True


def refuse(model, message, *, stricter=False):
    """Assert that a model is refused here, and by the reference unless we are stricter on purpose."""
    content = model if isinstance(model, bytes) else model.SerializeToString()
    with pytest.raises(SourceFormatError, match=message) as caught:
        sentencepiece_model.parse(content, name="made", where="made.model")
    assert str(caught.value).startswith("made.model: ")
    assert reference_takes(content) == stricter


def test_what_a_model_states():
    model = model_of(PIECES)
    model.normalizer_spec.precompiled_charsmap = encode_charsmap({b"A": b"a"})
    model.normalizer_spec.name = b"mine"
    model.normalizer_spec.remove_extra_whitespaces = False
    model.trainer_spec.treat_whitespace_as_suffix = True
    model.self_test_data.samples.add(input=b"a", expected="▁a".encode())
    made = parse(model)
    assert (made.name, made.model_type, len(made.source_digest)) == ("made", "unigram", 64)
    assert made.pieces == tuple(piece.encode() for piece, _ in PIECES)
    assert made.kinds.tolist() == [1, 2, 2, 0, 4, 3]
    assert made.kinds.dtype == np.uint8
    assert made.scores.tolist() == [0.0, -1.0, -2.0, -3.0, -4.0, -5.0]
    assert made.scores.dtype == np.float32
    assert not made.scores.flags.writeable
    assert (made.unk_id, made.bos_id, made.eos_id, made.pad_id) == (0, 1, 2, -1)
    assert (made.unk_piece, made.bos_piece, made.eos_piece, made.pad_piece) == ("<unk>", "<s>", "</s>", "<pad>")
    assert made.unk_surface == " ⁇ ".encode()
    assert made.user_defined() == [b"[x]"]
    spec = made.normalizer
    assert (spec.name, spec.add_dummy_prefix, spec.remove_extra_whitespaces) == ("mine", True, False)
    assert (spec.escape_whitespaces, spec.whitespace_as_suffix) == (True, True)
    assert spec.charsmap.rules() == {b"A": b"a"}
    assert made.denormalizer is None
    assert made.self_test == ((b"a", "▁a".encode()),)
    assert not made.byte_fallback


@pytest.mark.parametrize(("number", "name"), [(1, "unigram"), (2, "bpe"), (3, "word"), (4, "char")])
def test_model_types(number, name):
    model = model_of(PIECES)
    model.trainer_spec.model_type = number
    assert parse(model).model_type == name


def test_names_of_special_pieces():
    model = model_of(PIECES)
    model.trainer_spec.bos_piece = b"</s>"
    model.trainer_spec.eos_piece = "▁a".encode()  # no control piece
    model.trainer_spec.pad_piece = b""  # means the default
    model.trainer_spec.unk_surface = b""
    made = parse(model)
    reference = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    assert (made.bos_id, made.eos_id, made.pad_id) == (2, -1, -1)
    assert (made.bos_id, made.eos_id, made.pad_id) == (reference.bos_id(), reference.eos_id(), reference.pad_id())
    assert made.pad_piece == "<pad>"
    assert made.unk_surface == b""


def test_denormalizer():
    model = model_of(PIECES)
    model.denormalizer_spec.name = b"no rules"
    assert parse(model).denormalizer is None
    model.denormalizer_spec.precompiled_charsmap = encode_charsmap({b"a": b"A"})
    model.denormalizer_spec.add_dummy_prefix = False
    made = parse(model).denormalizer
    assert made.charsmap.rules() == {b"a": b"A"}
    assert not made.add_dummy_prefix


def test_byte_fallback():
    model = model_of(PIECES + BYTES)
    model.trainer_spec.byte_fallback = True
    made = parse(model)
    assert made.byte_fallback
    assert made.kinds[6:].tolist() == [5] * 256
    model.pieces.add(piece=b"\0", type=NORMAL)
    assert parse(model).kinds[-1] == 4
    assert reference_takes(model.SerializeToString())


WHOLE = model_of(PIECES).SerializeToString()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"{}", "neither a whole SentencePiece model nor"),
        (b"hello, this is no model", "neither a whole SentencePiece model nor"),
        (b"\x00" * 100, "neither a whole SentencePiece model nor"),
        (WHOLE[:-1], "neither a whole SentencePiece model nor"),
        (WHOLE[:20], "neither a whole SentencePiece model nor"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "this is a pointer of Git LFS"),
        (b"\x98\x06\x01", "holds no pieces"),
    ],
)
def test_other_files(content, message):
    refuse(content, message)


def test_every_cut_is_noticed():
    """Also one between two fields, which makes another model of the same pieces."""
    for stop in range(1, len(WHOLE)):
        with pytest.raises(SourceFormatError, match=r"is cut|neither a whole|holds no pieces|unknown piece"):
            sentencepiece_model.parse(WHOLE[:stop], name="made")


def test_random_changes_are_refused_or_give_a_checked_model():
    generator = np.random.default_rng(5)
    content = np.frombuffer(WHOLE, np.uint8)
    for _ in range(2000):
        changed = content.copy()
        changed[generator.integers(0, changed.size, 3)] = generator.integers(0, 256, 3)
        try:
            made = sentencepiece_model.parse(changed.tobytes(), name="made")
        except SourceFormatError:
            continue
        assert len(made.pieces) == made.kinds.size == made.scores.size
        b"".join(made.pieces).decode()
        assert (made.kinds == 1).sum() == 1


def change(i, *, pieces=PIECES, bytes_on=False, model_type=1, **fields):
    model = model_of(pieces)
    model.trainer_spec.byte_fallback = bytes_on
    model.trainer_spec.model_type = model_type
    for key, value in fields.items():
        setattr(model.pieces[i], key, value)
    return model


ALL = PIECES + BYTES


@pytest.mark.parametrize(
    ("model", "message", "stricter"),
    [
        (change(3, piece=b""), r"pieces\[3\] \(''\): the piece is empty", False),
        (change(3, piece=b"a" * 8000), r"pieces\[3\] .*: the piece has 8,000 bytes, 7,999 is the most", False),
        (change(3, piece=b"a\0b"), r"pieces\[3\] .*: the piece holds the character U\+0000", False),
        (change(3, piece=b"\0"), r"pieces\[3\] .*: the piece holds the character U\+0000", False),
        (change(3, piece=b"a\xff"), r"pieces\[3\] \('a\\\\xff'\): byte 1 is not valid UTF-8", True),
        (change(3, piece=b"b"), r"pieces\[4\] \('b'\): the same piece as pieces\[3\]", False),
        (change(2, piece=b"<s>"), r"pieces\[2\] \('<s>'\): the same piece as pieces\[1\]", False),
        (change(3, piece=b"<s>", model_type=2), r"pieces\[3\] \('<s>'\): the same piece as pieces\[1\]", False),
        (change(3, score=float("nan")), r"pieces\[3\] \('▁a'\): the score is nan", False),
        (change(3, score=float("-inf")), r"pieces\[3\] \('▁a'\): the score is -inf", False),
        (change(3, type=7), r"pieces\[3\] \('▁a'\): the type is 7, known are 1 to 6", True),
        (change(3, type=0), r"pieces\[3\] \('▁a'\): the type is 0", True),
        (change(0, type=CONTROL), "no piece is the unknown piece", False),
        (change(1, type=UNKNOWN), r"pieces\[1\] \('<s>'\): a second unknown piece", False),
        (change(3, type=BYTE), r"pieces\[3\] \('▁a'\): a byte piece \(type 6\), although", False),
        (change(3, bytes_on=True), "256 of the 256 byte pieces are missing, the first is <0x00>", False),
        (change(3, pieces=ALL, bytes_on=True, type=BYTE), r"pieces\[3\] .* must be written <0x00> to <0xFF>", False),
        (change(16, pieces=ALL, bytes_on=True, piece=b"<0x0a>"), r"'<0x0a>'\): a byte piece .* must be written", False),
        (change(9, pieces=ALL, bytes_on=True, type=NORMAL), "1 of the 256 byte pieces are missing, .* <0x03>", False),
        (change(0, model_type=9), "trainer_spec.model_type is 9, known are 1 .unigram., 2 .bpe.", True),
    ],
)
def test_models_that_do_not_work(model, message, stricter):
    refuse(model, message, stricter=stricter)


@pytest.mark.parametrize("model_type", [1, 3, 4])
def test_a_control_piece_may_be_spelled_like_a_normal_one(model_type):
    model = change(3, piece=b"<s>", model_type=model_type)
    made = parse(model)
    assert made.ids()[b"<s>"] == 1
    assert reference_takes(model.SerializeToString())


@pytest.mark.parametrize("key", ["trainer_spec", "normalizer_spec"])
def test_settings_must_be_there(key):
    model = model_of(PIECES)
    model.ClearField(key)
    refuse(model, f"6 pieces, but no {key}: the file is cut", stricter=True)


def test_broken_settings_name_their_field():
    model = model_of(PIECES)
    model.normalizer_spec.precompiled_charsmap = b"abc"
    refuse(model, "normalizer_spec.precompiled_charsmap: 3 bytes have no room")
    model = model_of(PIECES)
    model.denormalizer_spec.precompiled_charsmap = b"abc"
    with pytest.raises(SourceFormatError, match=r"made: denormalizer_spec\.precompiled_charsmap: 3 bytes"):
        sentencepiece_model.parse(model.SerializeToString(), name="made", where="made")
    for field in ("unk_surface", "bos_piece"):
        model = model_of(PIECES)
        setattr(model.trainer_spec, field, b"\xff")
        with pytest.raises(SourceFormatError, match=f"trainer_spec.{field}: byte 0 of .* is not valid UTF-8"):
            parse(model)


def test_files(tmp_path):
    (tmp_path / "spiece.model").write_bytes(WHOLE)
    (tmp_path / "other.model").write_bytes(WHOLE)
    assert sentencepiece_model.read(tmp_path / "spiece.model").name == tmp_path.name
    assert sentencepiece_model.read(str(tmp_path / "other.model")).name == "other"
    assert sentencepiece_model.read(tmp_path / "other.model", name="mine").name == "mine"
    with pytest.raises(FileNotFoundError, match=r"missing\.model: does not exist"):
        sentencepiece_model.read(tmp_path / "missing.model")


@pytest.mark.parametrize(
    ("given", "same_score"),
    [
        ("ab [x] ?", True),
        ("a b [x] ?", True),  # -2 - 1 instead of -3
        ("ab [x] !", True),  # another unknown piece
        ("a [x] ?", False),
        ("ab ? ?", False),
        ("ab [x]", False),
    ],
)
def test_self_test(given, same_score):
    """Pieces of the same score pass in unigram models, as in sentencepiece; in others they must be the same."""
    model = model_of([("<unk>", UNKNOWN), ("b", NORMAL), ("a", NORMAL), ("ab", NORMAL), ("[x]", USER_DEFINED)])
    model.self_test_data.samples.add(input=b"ab[x]?", expected=b"ab [x] ?")
    failure = [f"'ab[x]?': expected 'ab [x] ?', got {given!r}"]
    encode = {"ab[x]?": given.split()}.__getitem__
    assert check_self_test(parse(model), encode) == ([] if same_score else failure)
    model.trainer_spec.model_type = 2
    assert check_self_test(parse(model), encode) == ([] if given == "ab [x] ?" else failure)


def test_messages_live_beside_those_of_sentencepiece():
    """One process, both packages, in both orders; and reading costs no import of protobuf before it is needed."""
    try:
        import sentencepiece.sentencepiece_model_pb2 as theirs
    except Exception as error:  # it refuses runtimes of protobuf that are older than its generator
        pytest.skip(f"sentencepiece's own messages do not load: {error}")

    proto = theirs.ModelProto.FromString(WHOLE)
    assert [piece.piece for piece in proto.pieces] == [piece for piece, _ in PIECES]
    assert copy.deepcopy(ModelProto.FromString(WHOLE)).SerializeToString() == WHOLE
    code = (
        "import sys, vocab_tools.formats.sentencepiece_model as reader\n"
        "assert 'google.protobuf' not in sys.modules\n"
        "import vocab_tools.formats.sentencepiece_pb2, sentencepiece.sentencepiece_model_pb2\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_generated_messages_need_no_particular_runtime():
    """From protoc 27 on the generated code refuses older runtimes and those two major versions newer."""
    import vocab_tools.formats.sentencepiece_pb2 as messages

    with open(messages.__file__, encoding="utf-8") as file:
        content = file.read()
    assert "ValidateProtobufRuntimeVersion" not in content
