"""Word models behind general stages: pieces as their plain twins cut them."""

from __future__ import annotations

import json
from functools import lru_cache

from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.reference.segment import character_bpe, staged_word_models, wordpiece
from tests.kernels.test_staged_models import model
from tests.staged_tokenizers import staged

words = st.lists(
    st.sampled_from(["the", "to", "ti", "question", "##", "##er", "a", "b", "x", "\u00e9", "\u0416", "</w>", "."]),
    min_size=1,
    max_size=8,
).map("".join)


@lru_cache(maxsize=1)
def pieces() -> wordpiece.Pieces:
    ids = staged("wordpiece").reference.get_vocab(with_added_tokens=False)
    further = {piece[2:].encode(): number for piece, number in ids.items() if piece.startswith("##") and piece != "##"}
    return wordpiece.Pieces({piece.encode(): number for piece, number in ids.items()}, further, ids["<unk>"], 12)


@given(piece=words)
def test_wordpiece(piece: str) -> None:
    found = model("wordpiece").segment(piece.encode())
    assert found == staged_word_models.segment_wordpiece(pieces(), piece.encode())
    assert staged_word_models.solve_wordpiece(pieces(), piece.encode()) == [number for number, _ in found]


@lru_cache(maxsize=4)
def plan(name: str) -> character_bpe.Plan:
    """The plan of a vocabulary with one mark, from what tokenizers saves."""
    saved = json.loads(staged(name).reference.to_str())["model"]
    ids, prefix, suffix = (
        saved["vocab"],
        *(saved[key] or "" for key in ("continuing_subword_prefix", "end_of_word_suffix")),
    )
    characters = {}
    for character in {piece.removeprefix(prefix).removesuffix(suffix) for piece in ids}:
        forms = (character, prefix + character, character + suffix, prefix + character + suffix)
        characters[character] = tuple(form if form in ids else None for form in forms)
    merges = {(left, right): (rank, left + right[len(prefix) :]) for rank, (left, right) in enumerate(saved["merges"])}
    return character_bpe.Plan(characters, merges, ids, ids, None, ids["<unk>"], saved["fuse_unk"])


@given(name=st.sampled_from(["marked fused", "marked bert whole", "marked prefix"]), piece=words)
def test_marked_bpe(name: str, piece: str) -> None:
    used = model(name)
    found = used.segment(piece.encode())
    assert found == staged_word_models.segment_marked(plan(name), used.whole, piece.encode())
    assert staged_word_models.solve_marked(plan(name), used.whole, piece.encode()) == [number for number, _ in found]
