"""The arrays of normalizers in a vocabulary: there together or not at all, and checked one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from numba_nlp._schemas.normalizer import NORMALIZER_ARRAYS
from numba_nlp.errors import VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from tests.toy_vocabulary import toy_arrays, toy_metadata
from vocab_tools.compiler.stages import compile_normalizers
from vocab_tools.formats.stages import normalizers
from vocab_tools.formats.stages.patterns import Pattern

STAGES = [
    normalizers.NormalForm("NFKC"),
    normalizers.CharacterMap("lowercase"),
    normalizers.Prepend("\u2581"),
    normalizers.Replace(Pattern("``"), '"'),
    normalizers.Replace(Pattern("a|b", is_regex=True), "x"),
    normalizers.Replace(Pattern(r"\s+", is_regex=True), " "),
    normalizers.Precompiled(np.array([0, 1 << 31], "<u4").tobytes(), "\u00e9\0".encode()),
]
FORM, MAP, PREPEND, REPLACE, REGEX, RUNS, CHARSMAP = range(7)


def parts() -> tuple[dict[str, Any], dict[str, Any]]:
    compiled = compile_normalizers(STAGES)
    return {**toy_arrays(), **compiled.arrays}, toy_metadata(normalizer_regexes=list(compiled.regexes))


def test_they_are_kept(tmp_path):
    arrays, metadata = parts()
    vocabulary = Vocabulary(arrays, metadata)
    names = [field.name for field in NORMALIZER_ARRAYS]
    assert list(vocabulary)[-len(names) :] == names
    vocabulary.save(tmp_path / "a.safetensors")
    again = Vocabulary.load(tmp_path / "a.safetensors")
    assert again == vocabulary
    assert list(again) == list(vocabulary)
    assert Vocabulary.from_bytes(vocabulary.to_bytes()) == vocabulary


def test_without_them_nothing_is_asked_for():
    assert "normalizer_program" not in Vocabulary(toy_arrays(), toy_metadata())


@pytest.mark.parametrize("field", NORMALIZER_ARRAYS, ids=lambda field: field.name)
def test_one_alone_is_missing(field):
    arrays, metadata = parts()
    del arrays[field.name]
    with pytest.raises(VocabularyFormatError, match=f"array `{field.name}` is missing"):
        Vocabulary(arrays, metadata)


def changed(name, place, value):
    def change(arrays, metadata):
        array = arrays[name].copy()
        array[place] = value
        arrays[name] = array

    return change


def replaced(name, value, dtype):
    def change(arrays, metadata):
        arrays[name] = np.array(value, dtype)

    return change


def step(number, place, value):
    return changed("normalizer_program", 4 * number + place, value)


def without_regexes(arrays, metadata):
    metadata["normalizer_regexes"] = [1]


def without_flags(arrays, metadata):
    arrays["form_classes"] = arrays["form_classes"][:-1]


def without_composed(arrays, metadata):
    arrays["form_composed"] = arrays["form_composed"][:-1]


def with_long_decomposition(arrays, metadata):
    """The first decompositions are joined."""
    offsets = arrays["form_offsets"].copy()
    far = int(np.searchsorted(offsets, 100))
    offsets[1:far] = 0
    arrays["form_offsets"] = offsets


DAMAGES = [
    (step(FORM, 1, 4), "holds the step"),
    (step(FORM, 0, 9), "holds the step"),
    (step(FORM, 0, -1), "holds the step"),
    (step(MAP, 1, 1), "holds the step"),
    (step(MAP, 1, -1), "holds the step"),
    (step(PREPEND, 1, 99), "holds the step"),
    (step(REPLACE, 2, -1), "holds the step"),
    (step(REGEX, 1, 1), "holds the step"),
    (step(REGEX, 2, 77), "holds the step"),
    (step(RUNS, 3, 99), "holds the step"),
    (replaced("normalizer_program", [0, 0, 0], np.int32), "expected a multiple of 4"),
    (replaced("normalizer_ascii_stays", [2], np.int64), "normalizer_ascii_stays"),
    (without_regexes, "normalizer_regexes"),
    (changed("normalizer_strings", 1, 0xFF), "`normalizer_strings` is not UTF-8"),
    (changed("normalizer_string_offsets", 1, 1), "`normalizer_strings` is cut inside a character"),
    (changed("normalizer_string_offsets", 0, 1), "does not rise from 0"),
    (changed("form_pages", 5, 60000), "`form_pages` holds 60000"),
    (changed("form_blocks", 5, 60000), "`form_blocks` holds 60000"),
    (replaced("form_pages", [0], np.uint16), "have lengths 1 and"),
    (replaced("form_pages", [], np.uint16), "holds the step"),
    (without_flags, "`form_classes` has length"),
    (without_composed, "expected equal ones"),
    (with_long_decomposition, "expected at most 18"),
    (changed("form_parts", 3, 0x110000), "form_parts"),
    (changed("form_parts", 3, 0xD800), "a surrogate"),
    (changed("form_pairs", 0, 1 << 60), "does not rise"),
    (changed("map_pages", 5, 60000), "`map_pages` holds 60000"),
    (changed("map_blocks", 5, 60000), "`map_blocks` holds 60000"),
    (changed("map_offsets", 2, 10**6), "does not rise"),
    (changed("map_text", 0, 0x80), "`map_text` is not UTF-8"),
    (changed("charsmap_units", 1, 1 << 31 | 1), "`charsmap_text` is cut inside a character"),
    (changed("charsmap_text", 0, 0xFF), "`charsmap_text` is not UTF-8"),
    (changed("cluster_pages", 5, 60000), "`cluster_pages` holds 60000"),
    (changed("cluster_blocks", 5, 15), "cluster_blocks"),
    (replaced("cluster_pages", [], np.uint16), "holds the step"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[str(number) for number in range(len(DAMAGES))])
def test_damages_are_named(damage, message):
    arrays, metadata = parts()
    damage(arrays, metadata)
    with pytest.raises(VocabularyFormatError, match=message):
        Vocabulary(arrays, metadata)
