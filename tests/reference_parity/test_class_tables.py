"""The shipped class tables against the installed references."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tools import generate_class_tables as generator
from vocab_tools.compiler.classes import (
    REFERENCES,
    class_tables,
    classes_of_all,
    recorded_library_version,
    two_stage,
    unpack_arrays,
)


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_code_point_has_the_class_of_the_installed_reference(reference):
    installed = generator.read_classes(generator.ENGINES[reference])
    shipped = class_tables(reference)
    expanded = classes_of_all(shipped.class_index, shipped.class_blocks)
    different = np.flatnonzero(expanded != installed)
    listed = ", ".join(f"U+{cp:04X} {expanded[cp]} != {installed[cp]}" for cp in different[:20])
    assert not different.size, (
        f"{different.size} code points differ: {listed}. Tables: {reference} {recorded_library_version(reference)}, "
        f"Unicode {shipped.unicode_version}; installed: {version(reference)}, Unicode "
        f"{generator.unicode_version(installed)}. Run tools/generate_class_tables.py with the version to follow."
    )
    assert generator.unicode_version(installed) == shipped.unicode_version
    if version(reference) == recorded_library_version(reference):
        class_index, class_blocks = two_stage(installed)
        np.testing.assert_array_equal(class_index, shipped.class_index)
        np.testing.assert_array_equal(class_blocks, shipped.class_blocks)


@pytest.mark.parametrize("reference", REFERENCES)
def test_tables_are_read_only_and_block_0_is_ascii(reference):
    tables = class_tables(reference)
    for array, dtype in ((tables.class_index, np.uint16), (tables.class_blocks, np.uint8)):
        assert array.dtype == dtype
        assert not array.flags.writeable
    assert tables.class_index[0] == 0
    assert [tables.class_blocks[ord(c)] for c in "\x00!$Aa0 \n\r\x1c"] == [0, 1, 2, 3, 4, 7, 8, 9, 9, 0]


def test_two_stage_inverts_expansion():
    classes = np.random.default_rng(0).integers(0, 3, 0x110000, dtype=np.uint8)
    classes[0x2000:] = 5
    class_index, class_blocks = two_stage(classes)
    np.testing.assert_array_equal(classes_of_all(class_index, class_blocks), classes)


def test_unknown_reference_is_named():
    with pytest.raises(UnsupportedFeatureError, match="'sentencepiece' has no class tables"):
        class_tables("sentencepiece")


def test_packed_arrays_come_back_and_damage_is_named():
    content = generator.pack({"a": np.arange(3, dtype=np.uint8), "b": np.arange(2, dtype=np.uint16)}, {"k": "v"})
    arrays, metadata = unpack_arrays(content)
    assert metadata == {"k": "v"}
    assert arrays["a"].tolist() == [0, 1, 2]
    assert arrays["b"].tolist() == [0, 1]
    with pytest.raises(SourceFormatError, match="class table 'a'"):
        unpack_arrays(content[:-1])


def test_mixed_unicode_versions_are_refused():
    classes = classes_of_all(*class_tables("tiktoken")[:2]).copy()
    classes[0x1E6C0] = 5  # one character of Unicode 17
    with pytest.raises(SystemExit, match=r"17\.0"):
        generator.unicode_version(classes)
