"""The BPE models of tokenizer.json whose symbols are characters give the ids of ``tokenizers``."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.segment.sentencepiece_bpe import segment
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import new_scratch
from tests.reference_parity.test_sentencepiece_bpe_parity import ids_of, real_texts
from tests.sentencepiece_models import CHARACTERS, tokens
from tests.shared_data import shared
from vocab_tools.compiler.sentencepiece_bpe import build_listed_arrays, tables_of

BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def made_model(seed: int):
    """Merges of characters and of products in random order; several may give one token."""
    rng = random.Random(seed)
    characters = rng.sample(CHARACTERS, rng.randint(1, len(CHARACTERS)))
    byte_fallback = seed % 3 == 0
    pieces = ["<unk>", *(BYTE_TOKENS if byte_fallback else ()), *characters]
    found = list(characters)
    merges = []
    for _ in range(rng.choice((0, 5, 40))):
        pair = (rng.choice(found), rng.choice(found))
        if len("".join(pair)) <= 10:
            merges.append(pair)
            if "".join(pair) not in pieces:
                pieces.append("".join(pair))
                found.append("".join(pair))
    if seed % 2:
        rng.shuffle(merges)
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    return vocabulary, merges, {"fuse_unk": seed % 5 < 3, "byte_fallback": byte_fallback}


def compiled(vocabulary, merges, *, fuse_unk, byte_fallback, unk_token: str | None = "<unk>"):
    return tables_of(
        build_listed_arrays(vocabulary, merges, unknown=unk_token, fuse_unknown=fuse_unk, byte_fallback=byte_fallback)
    )


def byte_ends(text: str, offsets: list[tuple[int, int]]) -> list[int]:
    return [len(text[:end].encode()) for _, end in offsets]


@given(seed=st.integers(0, 99), text=st.text(CHARACTERS, max_size=80))
def test_made_vocabularies(seed, text):
    vocabulary, merges, options = made_model(seed)
    reference = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", **options)).encode(text)
    got = tokens(compiled(vocabulary, merges, **options), text)
    assert [number for number, _ in got] == reference.ids
    if not options["byte_fallback"]:
        assert [end for _, end in got] == byte_ends(text, reference.offsets)


@pytest.mark.parametrize("name", ["mistral/mistral03.json", "barthez/tokenizer.json"])
def test_real_vocabularies(name):
    model = json.loads(shared(f"vocab/{name}").read_text(encoding="utf-8"))["model"]
    merges = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in model["merges"]]
    options = {"fuse_unk": model["fuse_unk"], "byte_fallback": model.get("byte_fallback", False)}
    reference = Tokenizer(models.BPE(vocab=model["vocab"], merges=merges, unk_token=model["unk_token"], **options))
    tables, scratch = compiled(model["vocab"], merges, unk_token=model["unk_token"], **options), new_scratch()
    for text in real_texts(random.Random(name)):
        escaped = text.replace(" ", "\u2581")
        assert ids_of(segment, tables, scratch, escaped) == reference.encode(escaped).ids, escaped[:200]


def test_where_listed_merges_and_scores_differ():
    """A pair that is not listed does not merge; of equal scores the list makes an order."""
    pieces = {"<unk>": 0, "a": 1, "aa": 2, "aaa": 3}
    assert tokens(compiled(pieces, [("a", "aa")], fuse_unk=True, byte_fallback=False), "aaa") == [
        (1, 1),
        (1, 2),
        (1, 3),
    ]
    listed = compiled(pieces, [("a", "a"), ("a", "aa")], fuse_unk=True, byte_fallback=False)
    assert tokens(listed, "aaa") == [(2, 2), (1, 3)]


def test_a_pair_that_is_listed_twice_has_the_later_rank():
    vocabulary = {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "ba": 4}
    merges = [("a", "b"), ("b", "a"), ("a", "b")]
    reference = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>"))
    got = [number for number, _ in tokens(compiled(vocabulary, merges, fuse_unk=False, byte_fallback=False), "aba")]
    assert got == reference.encode("aba").ids == [1, 4]


def test_what_is_refused():
    vocabulary = {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "<unk>a": 4}
    with pytest.raises(SourceFormatError, match="needs 'ba'"):
        compiled(vocabulary, [("b", "a")], fuse_unk=True, byte_fallback=False)
    with pytest.raises(UnsupportedFeatureError, match="stands for unknown text"):
        compiled(vocabulary, [("<unk>", "a")], fuse_unk=True, byte_fallback=False)
    with pytest.raises(UnsupportedFeatureError, match="lacks '<0x00>'"):
        compiled(vocabulary, [("a", "b")], fuse_unk=True, byte_fallback=True)
    with pytest.raises(UnsupportedFeatureError, match="vanish"):
        compiled(vocabulary, [], fuse_unk=True, byte_fallback=False, unk_token=None)
    with pytest.raises(SourceFormatError, match=r"'\[UNK\]' is not in the vocabulary"):
        compiled(vocabulary, [], fuse_unk=True, byte_fallback=False, unk_token="[UNK]")


def test_without_unknown_token_every_character_has_bytes():
    vocabulary = {piece: number for number, piece in enumerate([*BYTE_TOKENS, "a"])}
    reference = Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True))
    tables = compiled(vocabulary, [], fuse_unk=False, byte_fallback=True, unk_token=None)
    assert ids_of(segment, tables, new_scratch(), "a\u00e9a") == reference.encode("a\u00e9a").ids
    assert tables.merge_pairs.dtype == np.uint64
