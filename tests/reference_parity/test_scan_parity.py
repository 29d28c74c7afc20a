"""Pieces of the scanners against tiktoken and tokenizers themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import numpy as np
import pytest
from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Sequence, Split

from numba_nlp.kernels.segment import scan
from numba_nlp.kernels.segment.characters import LETTERS
from tests.reference_parity.boundaries import check_tiktoken, check_tokenizers
from tests.scan_texts import fuzzed
from tests.shared_data import shared
from vocab_tools.compiler.classes import class_tables, classes_of_all
from vocab_tools.compiler.patterns import BYTE_LEVEL_REGEX, known_variants

#: Around the code point X.
CONTEXTS = ("{}", " a{}", "{}1", "'{}", "{}\n", " {}", "{}a", "{}\u0301A", "{} ", "!{}", "\x00{}", "'l{}")
TEXTS = ("udhr_all_languages.txt", "botchan.txt", "wikinews_k2-18b.txt", "blns.json", "json/twitter.json")

every_code_point = pytest.mark.skipif(
    os.environ.get("NUMBA_NLP_TEST_FULL") != "1", reason="takes an hour; NUMBA_NLP_TEST_FULL=1 runs it"
)


def scanner_pieces(name: str, reference: str) -> Callable[[str], list[str]]:
    next_end = getattr(scan, f"next_end_{name}")
    class_index, class_blocks, _ = class_tables(reference)

    def pieces(text: str) -> list[str]:
        content = text.encode()
        data = np.frombuffer(content, dtype=np.uint8)
        position, found = 0, []
        while position < data.size:
            end = next_end(class_index, class_blocks, data, position, data.size)
            found.append(content[position:end].decode())
            position = end
        return found

    return pieces


def split_sequence(regexes: tuple[str, ...]) -> PreTokenizer:
    return Sequence([Split(Regex(regex), "isolated") for regex in regexes])


def label(variant: tuple[str, tuple[str, ...]]) -> str:
    return variant[0]


tokenizers_variants = pytest.mark.parametrize("variant", known_variants("tokenizers"), ids=label)
tiktoken_variants = pytest.mark.parametrize("variant", known_variants("tiktoken"), ids=label)


@tokenizers_variants
def test_fuzzed_texts_cut_as_by_tokenizers(variant):
    name, regexes = variant
    check_tokenizers(split_sequence(regexes), scanner_pieces(name, "tokenizers"), fuzzed(4000, seed=1))


@tiktoken_variants
def test_fuzzed_texts_cut_as_by_tiktoken(variant):
    name, (regex,) = variant
    check_tiktoken(regex, scanner_pieces(name, "tiktoken"), fuzzed(4000, seed=2))


def test_fuzzed_texts_cut_as_by_byte_level():
    check_tokenizers(
        ByteLevel(add_prefix_space=False, use_regex=True), scanner_pieces("gpt2", "tokenizers"), fuzzed(4000, seed=3)
    )
    assert ("gpt2", (BYTE_LEVEL_REGEX,)) in known_variants("tokenizers")


def telling_code_points(reference: str, step: int) -> list[int]:
    """Code points of every class, every ``step``-th of each, and all those that a pattern mentions."""
    class_index, class_blocks, _ = class_tables(reference)
    classes = classes_of_all(class_index, class_blocks).astype(int)
    classes[0xD800:0xE000] = -1
    chosen = set(range(0x250)) | {
        0x212A,
        0x200D,
        *range(0x2000, 0x2070),
        *range(0x3000, 0x3100),
        *range(0xFB00, 0xFB07),
    }
    for number in range(10):
        members = np.flatnonzero(classes == number)
        # the unassigned are 15 times as many as all others together, and all alike
        chosen.update(members[:: step * 17 if number == 0 else step].tolist())
    return sorted(chosen)


@tokenizers_variants
def test_code_points_in_context_cut_as_by_tokenizers(variant):
    name, regexes = variant
    points = telling_code_points("tokenizers", 211)
    check_tokenizers(
        split_sequence(regexes),
        scanner_pieces(name, "tokenizers"),
        (c.format(chr(cp)) for c in CONTEXTS for cp in points),
    )


@tiktoken_variants
def test_code_points_in_context_cut_as_by_tiktoken(variant):
    name, (regex,) = variant
    points = telling_code_points("tiktoken", 211)
    check_tiktoken(regex, scanner_pieces(name, "tiktoken"), [c.format(chr(cp)) for c in CONTEXTS for cp in points])


@every_code_point
@pytest.mark.parametrize("context", CONTEXTS[:5])
@tokenizers_variants
def test_every_assigned_code_point_in_context_cuts_as_by_tokenizers(variant, context):
    name, regexes = variant
    # Joined by a line end, a word and a line end, over which no pattern's match reaches.
    filled = [context.format(chr(cp)) + "\nz\n" for cp in telling_code_points("tokenizers", 1)]
    texts = ["".join(filled[i : i + 1000]) for i in range(0, len(filled), 1000)]
    check_tokenizers(split_sequence(regexes), scanner_pieces(name, "tokenizers"), texts)


@every_code_point
@pytest.mark.parametrize("context", CONTEXTS[:5])
@tiktoken_variants
def test_every_assigned_code_point_in_context_cuts_as_by_tiktoken(variant, context):
    name, (regex,) = variant
    check_tiktoken(
        regex, scanner_pieces(name, "tiktoken"), [context.format(chr(cp)) for cp in telling_code_points("tiktoken", 1)]
    )


@pytest.mark.parametrize("file", TEXTS)
@tokenizers_variants
def test_real_texts_cut_as_by_tokenizers(variant, file):
    name, regexes = variant
    check_tokenizers(split_sequence(regexes), scanner_pieces(name, "tokenizers"), [real_text(file)[:300_000]])


@pytest.mark.parametrize("file", TEXTS)
@tiktoken_variants
def test_real_texts_cut_as_by_tiktoken(variant, file):
    name, (regex,) = variant
    text = real_text(file)
    # short texts, since their concatenations are many
    check_tiktoken(
        regex, scanner_pieces(name, "tiktoken"), [text[i : i + 60] for i in range(0, len(text), 60 + len(text) // 4000)]
    )


def real_text(file: str) -> str:
    text = shared(f"text/{file}").read_bytes().decode()
    return "\n".join(json.loads(text)) if file == "blns.json" else text


@pytest.mark.parametrize("reference", ["tiktoken", "tokenizers"])
def test_letters_are_those_of_known_scripts(reference):
    class_index, class_blocks, version = class_tables(reference)
    classes = classes_of_all(class_index, class_blocks)
    assert all(LETTERS >> int(classes[ord(c)]) & 1 for c in "aZ\u00e9\u0416\u05d0\u0905\u4e00\uac00\U00010400")
    assert tuple(map(int, version.split("."))) >= (15, 0)
