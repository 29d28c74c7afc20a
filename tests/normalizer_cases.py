"""Normalizers for tests: the shipped tables as plain rules, texts that find their faults, and what tokenizers does."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tokenizers import PreTokenizedString

from numba_nlp.reference.segment.normalize_forms import FormRules
from numba_nlp.reference.segment.normalize_text import Character
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.normalization import normalization_tables
from vocab_tools.compiler.stages import compile_normalizers, compile_pre_tokenizers
from vocab_tools.formats.stages.normalizers import read_normalizers
from vocab_tools.formats.stages.pre_tokenizers import read_pre_tokenizers
from vocab_tools.formats.stages.stage import Stage

#: What normal forms, clusters and cuts trip over.
TRICKY = (
    "\u00e9\u00c5\u0130\ufb01\u00bd\ufdfa\u3316\u0344\u0958\u2126\U0001d15e\u01d6\u1e69\uff9e"  # decompose
    "\u0301\u0323\u0345\u0334\u0308\u3099\u0f71\u0f72\u0f74\u093c\u094d\u05b0"  # marks of many classes
    "\u1100\u1161\u11a8\u11a7\uac00\uac01\ud7a3"  # Hangul
    "\u0600\u0915\u0937\u200c\u200d\u0903\u00a9\U0001f468\U0001f1e6\r\n\x00\x0b\x7f"  # clusters
    " \u00a0\u3000\u2028\t\u2581_,.-!\u00bf\u3002\u0663\u00b212"  # spaces, punctuation, numbers
)
characters = st.one_of(
    st.sampled_from(TRICKY),
    st.sampled_from("abcdefgh ABC  ``''"),
    st.characters(exclude_categories=["Cs"]),
)
texts = st.lists(characters, max_size=24).map("".join)
#: Few different ones, so that they meet.
marked_texts = st.lists(
    st.sampled_from("ae\u0301\u0323\u0345\u0334\u0308\u3099\u1100\u1161\u11a8\uac00\u00e9\u1e69\u0344"), max_size=40
).map("".join)


def frozen(array: Any) -> Any:
    """A read-only array."""
    array.flags.writeable = False
    return array


@lru_cache(maxsize=1)
def form_rules() -> FormRules:
    """The shipped normal forms as dicts."""
    shipped = normalization_tables().arrays
    numbers = shipped["form_blocks"].reshape(-1, 128)[shipped["form_pages"]].reshape(-1)
    n, offsets = shipped["form_flags"].size, shipped["form_offsets"].tolist()
    parts = shipped["form_parts"].tolist()

    def text(entry: int) -> str:
        return "".join(map(chr, parts[offsets[entry] : offsets[entry + 1]]))

    there = [(chr(c), int(numbers[c])) for c in np.flatnonzero(numbers).tolist()]
    return FormRules(
        canonical={c: text(entry) for c, entry in there if text(entry)},
        compatible={c: text(entry + n) for c, entry in there if text(entry + n)},
        classes={c: int(shipped["form_classes"][entry]) for c, entry in there if shipped["form_classes"][entry]},
        pairs={
            (chr(pair >> 21), chr(pair & 0x1FFFFF)): chr(composed)
            for pair, composed in zip(shipped["form_pairs"].tolist(), shipped["form_composed"].tolist(), strict=True)
        },
    )


@lru_cache(maxsize=8)
def character_map(name: str) -> dict[str, str]:
    """A shipped character map as a dict."""
    shipped = normalization_tables().arrays
    numbers = shipped[f"{name}_blocks"].reshape(-1, 128)[shipped[f"{name}_pages"]].reshape(-1)
    offsets, text = shipped[f"{name}_offsets"].tolist(), shipped[f"{name}_text"].tobytes()
    return {
        chr(c): text[offsets[int(numbers[c])] : offsets[int(numbers[c]) + 1]].decode()
        for c in np.flatnonzero(numbers).tolist()
    }


def two_stage_value(prefix: str, character: str) -> int:
    """Entry of a character in one of the shipped two-stage tables."""
    shipped = normalization_tables().arrays
    code_point = ord(character)
    return int(shipped[f"{prefix}_blocks"][int(shipped[f"{prefix}_pages"][code_point >> 7]) << 7 | code_point & 127])


def compiled_normalizers(peer: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Arrays and regular expressions of what does the same as a normalizer of tokenizers."""
    compiled = compile_normalizers(read_normalizers(Stage("peer", "normalizer", json.loads(peer.__getstate__()))))
    classes = class_tables("tokenizers")
    arrays = {name: frozen(array.copy()) for name, array in compiled.arrays.items()}
    return {**arrays, "class_index": classes.class_index, "class_blocks": classes.class_blocks}, compiled.regexes


def compiled_pre_tokenizers(peer: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Arrays and regular expressions of what does the same as a pre-tokenizer of tokenizers."""
    stage = Stage("peer", "pre_tokenizer", json.loads(peer.__getstate__()))
    compiled = compile_pre_tokenizers(read_pre_tokenizers(stage))
    return {name: frozen(array.copy()) for name, array in compiled.arrays.items()}, compiled.regexes


def rows_of(rows: list[str]) -> tuple[Any, Any, Any]:
    """Texts as bytes with the range of each row, read-only."""
    content = [row.encode() for row in rows]
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in content]))).astype(np.int64)
    data = np.frombuffer(b"".join(content) or b" ", np.uint8)
    return data, frozen(offsets[:-1].copy()), frozen(offsets[1:].copy())


def characters_of(source: Any, start: int, end: int) -> list[Character]:
    """Characters of an aligned buffer with their ranges, which all bytes of a character must have alike."""
    found: list[Character] = []
    place = int(start)
    for text in source.text[start:end].tobytes().decode():
        behind = place + len(text.encode())
        ranges = set(zip(source.starts[place:behind].tolist(), source.ends[place:behind].tolist(), strict=True))
        assert len(ranges) == 1, f"the bytes of {text!r} come from {ranges}"
        found.append(Character(text, *ranges.pop()))
        place = behind
    return found


def peer_normalized(peer: Any, text: str) -> list[Character]:
    """Characters and their ranges as tokenizers has them: every character is split off, and asked for its offsets."""
    whole = PreTokenizedString(text)
    whole.normalize(peer.normalize)
    whole.split(lambda _, normalized: [normalized[k : k + 1] for k in range(len(normalized.normalized))])
    splits = whole.get_splits(offset_referential="original", offset_type="byte")
    return [Character(text, *offsets) for text, offsets, _ in splits]


def peer_pieces(peer: Any, text: str) -> list[tuple[str, tuple[int, int]]]:
    """Pieces and their byte ranges as a pre-tokenizer of tokenizers gives them."""
    whole = PreTokenizedString(text)
    peer.pre_tokenize(whole)
    return [
        (piece, offsets) for piece, offsets, _ in whole.get_splits(offset_referential="original", offset_type="byte")
    ]
