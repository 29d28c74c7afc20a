"""The arrays of normalizers, which vocabularies of several algorithms may have.

All of them are there when the vocabulary normalizes text, else none. Tables that no step of the program needs are
empty. The metadata then has ``normalizer_regexes``, a list of regular expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import ArrayField, Arrays, fail

__all__ = ["NORMALIZER_ARRAYS", "check_normalizer", "check_utf8"]

_CODE_POINTS = 0x110000
_BLOCKS = _CODE_POINTS >> 7

NORMALIZER_ARRAYS = (
    ArrayField("normalizer_program", "int32"),
    ArrayField("normalizer_ascii_stays", "int64", length=1, low=0, high=2),
    ArrayField("normalizer_strings", "uint8"),
    ArrayField("normalizer_string_offsets", "int64"),
    ArrayField("form_pages", "uint16"),
    ArrayField("form_blocks", "uint16"),
    ArrayField("form_flags", "uint8", low=0, high=16),
    ArrayField("form_classes", "uint8"),
    ArrayField("form_offsets", "int32"),
    ArrayField("form_parts", "int32", low=0, high=_CODE_POINTS),
    ArrayField("form_pairs", "int64"),
    ArrayField("form_composed", "int32", low=0, high=_CODE_POINTS),
    ArrayField("map_pages", "uint16"),
    ArrayField("map_blocks", "uint16"),
    ArrayField("map_offsets", "int32"),
    ArrayField("map_text", "uint8"),
    ArrayField("charsmap_units", "uint32"),
    ArrayField("charsmap_text", "uint8"),
    ArrayField("cluster_pages", "uint16"),
    ArrayField("cluster_blocks", "uint8", low=0, high=15),
)


def check_normalizer(file: str, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    """Check what keeps the kernels of normalizers inside their arrays, and the text that they write UTF-8.

    Parameters
    ----------
    file : str
        Named in errors.
    arrays : mapping of str to ndarray
        Those of a vocabulary; nothing is checked when it has no normalizer.
    metadata : mapping

    Raises
    ------
    VocabularyFormatError
    """
    if "normalizer_program" not in arrays:
        return
    # here, since vocabularies without a normalizer are read without Numba
    from numba_nlp.kernels.segment.normalize_forms import MAX_PARTS

    for offsets, target in (
        ("normalizer_string_offsets", "normalizer_strings"),
        ("form_offsets", "form_parts"),
        ("map_offsets", "map_text"),
    ):
        _check_offsets(file, offsets, arrays[offsets], target, arrays[target].size)
    _check_table(file, arrays, "form", arrays["form_flags"].size, 1)
    _check_table(file, arrays, "map", arrays["map_offsets"].size - 1, arrays["map_pages"].size // _BLOCKS)
    _check_table(file, arrays, "cluster", 15, 1)
    entries = arrays["form_flags"].size
    for name, size in (("form_classes", entries), ("form_offsets", 2 * entries + 1)):
        if arrays[name].size != size:
            fail(file, f"array `{name}` has length {arrays[name].size}, expected {size}")
    longest = int(np.diff(arrays["form_offsets"]).max(initial=0))
    if longest > MAX_PARTS:
        fail(file, f"array `form_offsets` has a decomposition of {longest} characters, expected at most {MAX_PARTS}")
    if arrays["form_composed"].size != arrays["form_pairs"].size:
        sizes = f"{arrays['form_pairs'].size} and {arrays['form_composed'].size}"
        fail(file, f"arrays `form_pairs` and `form_composed` have lengths {sizes}, expected equal ones")
    _check_surrogates(file, arrays)
    check_utf8(file, arrays, "normalizer_strings", arrays["normalizer_string_offsets"])
    check_utf8(file, arrays, "map_text", arrays["map_offsets"])
    places = arrays["charsmap_units"]
    places = (places[places >> 31 != 0] & 0x7FFFFFFF).astype(np.int64)
    check_utf8(file, arrays, "charsmap_text", places[places < arrays["charsmap_text"].size])
    _check_program(file, arrays, metadata)


def _check_offsets(file: str, name: str, offsets: NDArray[Any], target: str, end: int) -> None:
    if not offsets.size or offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        fail(file, f"array `{name}` does not rise from 0 to {end}, the length of `{target}`")


def _check_table(file: str, arrays: Arrays, prefix: str, entries: int, tables: int) -> None:
    """Two-stage tables: all index entries are blocks, all entries of blocks are known; or empty."""
    index, blocks = arrays[f"{prefix}_pages"], arrays[f"{prefix}_blocks"]
    if index.size not in (0, tables * _BLOCKS) or blocks.size % 128:
        fail(file, f"arrays `{prefix}_pages` and `{prefix}_blocks` have lengths {index.size} and {blocks.size}, not "
             f"{tables * _BLOCKS} and a multiple of 128")  # fmt: skip
    if index.size and int(index.max()) >= blocks.size // 128:
        fail(file, f"array `{prefix}_pages` holds {int(index.max())}, expected less than {blocks.size // 128}")
    if blocks.size and int(blocks.max()) >= entries:
        fail(file, f"array `{prefix}_blocks` holds {int(blocks.max())}, expected less than {entries}")


def _check_surrogates(file: str, arrays: Arrays) -> None:
    for name in ("form_parts", "form_composed"):
        found = arrays[name] & ~0x7FF == 0xD800
        if found.any():
            fail(file, f"array `{name}` holds {int(arrays[name][np.argmax(found)]):#x}, a surrogate")


def check_utf8(file: str, arrays: Arrays, name: str, places: NDArray[Any]) -> None:
    """Text is UTF-8 as a whole, and every place in it is the start of a character."""
    text = arrays[name]
    try:
        text.tobytes().decode()
    except UnicodeDecodeError as error:
        fail(file, f"array `{name}` is not UTF-8 at {error.start}")
    inside = places[places < text.size]
    if (text[inside] & 0xC0 == 0x80).any():
        fail(file, f"array `{name}` is cut inside a character")


def _check_program(file: str, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    from numba_nlp.kernels.segment import normalize_program as operations

    program = arrays["normalizer_program"]
    if program.size % operations.STEP:
        fail(file, f"array `normalizer_program` has length {program.size}, expected a multiple of {operations.STEP}")
    regexes = metadata.get("normalizer_regexes")
    if not isinstance(regexes, (list, tuple)) or not all(isinstance(regex, str) for regex in regexes):
        fail(file, "metadata `normalizer_regexes` is missing or no list of strings")
    n_strings = arrays["normalizer_string_offsets"].size - 1
    has = {name: arrays[f"{name}_pages"].size > 0 for name in ("form", "cluster")}
    op_regex = operations.OPERATIONS  # no kernel knows it
    for step in program.reshape(-1, operations.STEP).tolist():
        operation, first, second, third = step
        strings = {
            operations.OP_PREPEND: [first],
            operations.OP_REPLACE: [first, second],
            operations.OP_REPLACE_RUNS: [third],
            operations.OP_SURROUND: [second],
            op_regex: [second],
        }
        is_known = 0 <= operation <= op_regex and all(0 <= n < n_strings for n in strings.get(operation, ()))
        if operation == operations.OP_FORM:
            is_known &= 0 <= first < 4 and has["form"]
        elif operation in (operations.OP_MAP, operations.OP_SURROUND):
            is_known &= 0 <= first < arrays["map_pages"].size // _BLOCKS
        elif operation == operations.OP_CHARSMAP:
            is_known &= has["cluster"]
        elif operation == operations.OP_REPLACE and is_known:
            offsets = arrays["normalizer_string_offsets"]
            is_known = bool(offsets[first] < offsets[first + 1])
        elif operation == op_regex:
            is_known &= 0 <= first < len(regexes)
        if not is_known:
            fail(file, f"array `normalizer_program` holds the step {step}, which this vocabulary cannot do")
    _check_pairs(file, arrays["form_pairs"])


def _check_pairs(file: str, pairs: NDArray[Any]) -> None:
    if pairs.size and (int(pairs[0]) < 0 or any(a >= b for a, b in pairwise(pairs.tolist()))):
        fail(file, "array `form_pairs` does not rise")
