"""Small checkpoint folders, with vocabularies made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numba_nlp.byte_alphabet import BYTE_CHARACTERS

_WORDS = ("the", "read", "quick", "brown", "fox", "'", "s", "t", "don", ".", ",", "?", "!", "a", "b")
BERT_LINES = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS, *(f"##{word}" for word in ("s", "er", "ing", "a", "b")),
)  # fmt: skip
_BYTES = {character: number for number, character in enumerate(sorted(BYTE_CHARACTERS))}
_MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("in", "g"), ("Ġ", "q")]
TEXTS = (
    "the quick brown fox 's don ' t read . The Über fox?",
    "  two  spaces\n\ttabs, <mask> [MASK] </s> <|endoftext|> thing <extra> b",
    "a",
    "",
)


def byte_level(*specials: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Tokens of a byte-level vocabulary, special ones first, and its merges."""
    tokens = [*specials, *_BYTES, *(left + right for left, right in _MERGES)]
    return {token: number for number, token in enumerate(tokens)}, _MERGES


def end_of_word(*specials: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Tokens of a vocabulary with ``</w>``, special ones behind, and its merges."""
    merges = [("t", "h"), ("th", "e</w>"), ("i", "n"), ("in", "g</w>")]
    tokens = [*_BYTES, *(f"{token}</w>" for token in _BYTES), *(left + right for left, right in merges), *specials]
    return {token: number for number, token in enumerate(tokens)}, merges


def write_folder(folder: Path, files: dict[str, Any]) -> Path:
    """Write files, ``.json`` ones from values, others from text."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def merged_files(vocabulary: tuple[dict[str, int], list[tuple[str, str]]]) -> dict[str, Any]:
    """``vocab.json`` and ``merges.txt``."""
    vocab, merges = vocabulary
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
    return {"vocab.json": vocab, "merges.txt": "\n".join(lines) + "\n"}


def bert_files() -> dict[str, Any]:
    """``vocab.txt``."""
    return {"vocab.txt": "\n".join(BERT_LINES) + "\n"}
