"""No damage to the arrays of a SentencePiece vocabulary leads a kernel astray: refused, or harmless to encode with."""

from __future__ import annotations

import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.errors import NumbaNlpError, VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from tests.random_sentencepiece import random_model, random_texts
from tests.renumbered_models import renumbered

SEEDS = (1, 3)
CONTENTS = [random_model(seed, usual=True).ours.vocabulary.to_bytes() for seed in SEEDS]
CONTENTS += [random_model(seed, "bpe", usual=True).ours.vocabulary.to_bytes() for seed in (0, 1, 9)]
CONTENTS += [renumbered(seed, kind, True)[0].vocabulary.to_bytes() for seed, kind in ((0, "unigram"), (2, "bpe"))]
TEXTS = [*random_texts(1, 20), "ab " * 50]


def body_start(content: bytes) -> int:
    return 8 + int(struct.unpack("<Q", content[:8])[0])


def use(vocabulary: Vocabulary) -> None:
    """Encode and decode; the ids may be wrong, and a vocabulary that lies about its growth may be found out."""
    tok = nlp.Tokenizer(vocabulary)
    for call in (
        lambda: tok.encode_batch(TEXTS, num_threads=1),
        lambda: tok.encode_batch(TEXTS, spans=True, num_threads=1),
        lambda: tok.decode_batch(tok.encode_batch(TEXTS, num_threads=1)),
    ):
        with suppress(NumbaNlpError, ValueError, AssertionError):
            call()


@given(st.integers(0, len(CONTENTS) - 1), st.data())
def test_flipped_bits_of_arrays(which, data):
    content = bytearray(CONTENTS[which])
    start = body_start(bytes(content))
    header = json.loads(bytes(content[8:start]))
    # every array alike, else the fuzz is of the charsmap nearly always
    name = data.draw(
        st.sampled_from(sorted(key for key, entry in header.items() if key != "__metadata__" and entry["shape"][0]))
    )
    low, high = header[name]["data_offsets"]
    content[start + data.draw(st.integers(low, high - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        vocabulary = Vocabulary.from_bytes(bytes(content), verify=False)
    except VocabularyFormatError:
        return
    use(vocabulary)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("growth", 0),
        ("ids_per_byte", 10**9),
        ("normalizer_flags", 16),
        ("denormalizer_flags", -1),
        ("pattern", "other"),
        ("unk_surface", 3),
        ("algorithm", "sentencepiece_bp"),
    ],
)
def test_metadata_out_of_range(key, value):
    vocabulary = random_model(3, usual=True).ours.vocabulary
    with pytest.raises(VocabularyFormatError, match=key):
        Vocabulary(vocabulary.arrays, {**vocabulary.metadata, key: value})


def test_word_models_are_not_cut():
    vocabulary = random_model(3, "word").ours.vocabulary
    with pytest.raises(VocabularyFormatError, match="pattern"):
        Vocabulary(vocabulary.arrays, {**vocabulary.metadata, "pattern": "spaced"})


@pytest.mark.parametrize("lie", [1, 2])
def test_a_vocabulary_that_lies_about_its_growth_is_found_out(lie):
    vocabulary = random_model(1, usual=True).ours.vocabulary
    use(Vocabulary(vocabulary.arrays, {**vocabulary.metadata, "ids_per_byte": lie, "growth": lie}))
