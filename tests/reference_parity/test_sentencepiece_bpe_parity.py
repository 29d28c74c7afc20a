"""BPE over characters gives sentencepiece's ids: made vocabularies with every kind of piece, and real ones."""

from __future__ import annotations

import base64
import json
import random

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2 as schema

from numba_nlp.kernels.segment.sentencepiece_bpe import segment, segment_raw
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import new_scratch
from tests.sentencepiece_models import (
    BYTE,
    CHARACTERS,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Model,
    random_model,
    tokens,
)
from tests.shared_data import shared

KINDS = {1: NORMAL, 2: UNKNOWN, 3: CONTROL, 4: USER_DEFINED, 5: UNUSED, 6: BYTE}
BPE = 2
REAL = (
    "mistral/mistral01.model",
    "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "barthez/sentencepiece.bpe.model",
    "sentencepiece/amr_sentencepiece.bpe.model",
    "sentencepiece/blingfire_bpe_example.model",
    "sentencepiece/hf_test_sentencepiece_bpe.model",
)
TEXTS = ("hamlet.txt", "botchan.txt", "json/twitter.json", "udhr/jpn.txt", "udhr/tha.txt", "udhr_all_languages.txt")


def without_normaliser(proto):
    """The same vocabulary over text that is normalised already."""
    changed = schema.ModelProto()
    changed.CopyFrom(proto)
    changed.normalizer_spec.Clear()
    changed.normalizer_spec.name = "identity"
    changed.normalizer_spec.add_dummy_prefix = False
    changed.normalizer_spec.remove_extra_whitespaces = False
    changed.normalizer_spec.escape_whitespaces = False
    return changed


def processor(proto):
    made = sentencepiece.SentencePieceProcessor()
    made.LoadFromSerializedProto(proto.SerializeToString())
    return made


def proto_of(model: Model):
    proto = schema.ModelProto()
    proto.trainer_spec.model_type = BPE
    proto.trainer_spec.byte_fallback = model.byte_fallback
    numbers = {kind: number for number, kind in KINDS.items()}
    for piece, score, kind in zip(model.pieces, model.scores, model.kinds, strict=True):
        proto.pieces.add(piece=piece, score=score, type=numbers[kind])
    return proto


def model_of_proto(proto) -> Model:
    columns = zip(*((piece.piece, piece.score, KINDS[piece.type]) for piece in proto.pieces), strict=True)
    return Model(*(list(column) for column in columns), proto.trainer_spec.byte_fallback)


def ids_of(function, tables, scratch, text: str) -> list[int]:
    data = np.frombuffer(text.encode(), np.uint8)
    ids = np.empty(data.size + 4, np.int32)
    return ids[: function(tables, data, 0, data.size, scratch, ids, np.empty(0, np.int64), 0)].tolist()


@given(model=st.integers(0, 119).map(random_model), text=st.text(CHARACTERS, max_size=80))
def test_made_vocabularies(model, text):
    reference = processor(without_normaliser(proto_of(model)))
    assert [number for number, _ in tokens(model.tables(), text)] == reference.encode(text)


def real_texts(rng: random.Random) -> list[str]:
    texts = [
        "",
        "\u2581" * 100,
        "a" * 5000,
        "\u65e5" * 5000,
        "\u2581" * 9000,
        base64.b64encode(rng.randbytes(9000)).decode(),
    ]
    for name in TEXTS:
        content = shared(f"text/{name}").read_text(encoding="utf-8").replace("\0", "")
        starts = [rng.randrange(max(1, len(content) - 3000)) for _ in range(4)]
        texts += [content[start : start + size] for start, size in zip(starts, (60, 300, 300, 3000), strict=True)]
    texts += json.loads(shared("text/blns.json").read_text(encoding="utf-8"))
    characters = "abcdeghilnorstuy     ee,.'\"-()[]_#\u00e9\u65e5\u672c\n\t0123456789ABC\U0001f600\u0436\u00a0"
    texts += ["".join(rng.choices(characters, k=rng.randint(1, 200))) for _ in range(200)]
    texts += ["".join(rng.choices(rng.sample(characters, 3), k=rng.randint(1, 200))) for _ in range(100)]
    return texts


@pytest.mark.parametrize("name", REAL)
def test_real_vocabularies(name):
    proto = schema.ModelProto()
    proto.ParseFromString(shared(f"vocab/{name}").read_bytes())
    reference = processor(without_normaliser(proto))
    tables, scratch = model_of_proto(proto).tables(), new_scratch()
    for text in real_texts(random.Random(name)):
        escaped = text.replace(" ", "\u2581")
        assert ids_of(segment, tables, scratch, escaped) == reference.encode(escaped), escaped[:200]


@pytest.mark.parametrize("name", REAL[:2])
def test_raw_text(name):
    proto = schema.ModelProto()
    proto.ParseFromString(shared(f"vocab/{name}").read_bytes())
    reference = processor(proto)
    tables = model_of_proto(proto).tables(escape_whitespaces=True, add_dummy_prefix=True)
    scratch = new_scratch()
    for text in [*real_texts(random.Random(name)), "\u2581 \u2581", " ", "  a", "[REFERENCE_DOC_19][REFERENCE_DOC_1"]:
        assert ids_of(segment_raw, tables, scratch, text) == reference.encode(text), text[:200]


@pytest.mark.parametrize("name", REAL)
def test_every_code_point(name):
    proto = schema.ModelProto()
    proto.ParseFromString(shared(f"vocab/{name}").read_bytes())
    reference = processor(without_normaliser(proto))
    tables, scratch = model_of_proto(proto).tables(), new_scratch()
    characters = [chr(code_point) for code_point in range(1, 0x110000) if not 0xD800 <= code_point < 0xE000]
    for joint in ("", "\u2581", "a"):
        for first in range(0, len(characters), 1 << 16):
            text = joint.join(characters[first : first + (1 << 16)]).replace(" ", "\u2581")
            assert ids_of(segment, tables, scratch, text) == reference.encode(text)
