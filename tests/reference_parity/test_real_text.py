"""Ids equal those of tiktoken and of Hugging Face tokenizers on real text, recorded goldens and every code point."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.shared_data import shared
from tools.files import shared_file
from tools.fuzz_parity import load_ours
from tools.references import VOCABULARIES, hf_tokenizer, tiktoken_encoding

PAIRS = [
    ("gpt2", "tiktoken"),
    ("cl100k", "tiktoken"),
    ("o200k", "tiktoken"),
    ("gpt2", "tokenizers"),
    ("roberta", "tokenizers"),
]
#: A file is also encoded as one text up to this size; its lines are encoded at any size.
WHOLE_BYTES = 1_200_000
#: Compare everything, not only what a CI run has time for.
FULL = os.environ.get("NUMBA_NLP_TEST_FULL") == "1"


@cache
def ours(vocabulary: str, reference: str) -> Any:
    try:
        return load_ours(vocabulary, reference)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def expected(vocabulary: str, reference: str, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The reference's ids, and the offsets of the rows."""
    if reference == "tiktoken":
        name = VOCABULARIES[vocabulary]
        assert name is not None
        # its batch call hands every text to a thread pool, which takes longer than a short text does
        encode = tiktoken_encoding(name).encode_ordinary
        rows = [encode(text) for text in texts]
    else:
        rows = [row.ids for row in hf_tokenizer(vocabulary).encode_batch_fast(texts, add_special_tokens=False)]
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    values = np.fromiter((number for row in rows for number in row), dtype=np.int32, count=int(offsets[-1]))
    return values, offsets


def assert_same(vocabulary: str, reference: str, texts: list[str]) -> None:
    """Compare all rows at once; name the first row that differs."""
    special = "plain" if reference == "tiktoken" else "match"
    got = ours(vocabulary, reference).encode_batch(texts, special=special)
    values, offsets = expected(vocabulary, reference, texts)
    if np.array_equal(got.offsets, offsets) and np.array_equal(got.values, values):
        return
    for row, text in enumerate(texts):
        mine = got.values[got.offsets[row] : got.offsets[row + 1]].tolist()
        right = values[offsets[row] : offsets[row + 1]].tolist()
        assert mine == right, f"row {row}: {text[:200]!r}"


def text_files() -> list[str]:
    folder = shared_file("text")
    if folder is None:
        return []
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in (".txt", ".json"))


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


@pytest.mark.parametrize(("vocabulary", "reference"), PAIRS)
@pytest.mark.parametrize("name", text_files() or ["hamlet.txt"])
def test_files_line_by_line_and_whole(name: str, vocabulary: str, reference: str) -> None:
    text = read(shared(f"text/{name}"))
    texts = text.split("\n")
    if len(text) > WHOLE_BYTES and not FULL:
        # the references read 1 and 5 MB a second; recorded runs and NUMBA_NLP_TEST_FULL=1 take all
        texts = texts[:: 16 if reference == "tokenizers" else 4]
    if len(text.encode()) <= WHOLE_BYTES:
        texts.append(text)
    assert_same(vocabulary, reference, texts)


@pytest.mark.parametrize("golden", ["mixed", "utf8"])
@pytest.mark.parametrize(
    ("vocabulary", "reference", "name"),
    [
        ("cl100k", "tiktoken", "cl100k_base"),
        ("o200k", "tiktoken", "o200k_base"),
        ("p50k", "tiktoken", "p50k_base"),
        ("gpt2", "tokenizers", "gpt2"),
    ],
)
def test_recorded_goldens(golden: str, vocabulary: str, reference: str, name: str) -> None:
    """``mixed`` holds one line of ids per line of text, ``utf8`` one line for the whole text."""
    text = read(shared(f"goldens/kitoken/{golden}_input.txt"))
    recorded = read(shared(f"goldens/kitoken/{reference}/{golden}_tokens_{name}.txt")).split("\n")
    texts = text.split("\n") if golden == "mixed" else [text]
    assert len(recorded) == len(texts)
    got = ours(vocabulary, reference).encode_batch(texts, special="plain")
    for row, line in enumerate(recorded):
        ids = [int(number) for number in line.split(",")] if line.strip() else []
        assert got[row].tolist() == ids, f"line {row + 1}: {texts[row][:200]!r}"


def code_points(form: str, vocabulary: str) -> list[str]:
    """Every code point; in contexts, and but for two vocabularies, one of 17 unless ``NUMBA_NLP_TEST_FULL=1``."""
    step = 1 if FULL or (form == "{}" and vocabulary in ("o200k", "roberta")) else 17
    return [form.format(chr(point)) for point in range(0, 0x110000, step) if not 0xD800 <= point < 0xE000]


@pytest.mark.parametrize("form", ["{}", " {}", "a{}", "{}1", "'{}", "{}{}", "\n{} a"])
@pytest.mark.parametrize(("vocabulary", "reference"), PAIRS)
def test_every_code_point_alone_and_in_context(form: str, vocabulary: str, reference: str) -> None:
    if form == "{}{}":
        form = "{0}{0}"
    assert_same(vocabulary, reference, code_points(form, vocabulary))


@pytest.mark.parametrize(("vocabulary", "reference"), PAIRS)
def test_decoding_gives_the_text_back(vocabulary: str, reference: str) -> None:
    tokenizer = ours(vocabulary, reference)
    for name in ("udhr/tha.txt", "json/twitter.json", "hamlet.txt"):
        text = read(shared(f"text/{name}"))
        assert tokenizer.decode(tokenizer.encode(text, special="plain")) == text
