"""The arrays of pre-tokenizers and of decoders, which vocabularies of several algorithms may have.

With pre-tokenizers the metadata has ``cut_regexes``, a list of regular expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from numba_nlp._schemas.fields import ArrayField, Arrays, fail
from numba_nlp._schemas.normalizer import check_utf8

__all__ = ["CUT_ARRAYS", "DECODER_ARRAYS", "check_cutter", "check_decoder"]

_BLOCKS = 0x110000 >> 7
_BEHAVIORS = 5

CUT_ARRAYS = (
    ArrayField("cut_program", "int32"),
    ArrayField("cut_strings", "uint8"),
    ArrayField("cut_string_offsets", "int64", offsets_into="cut_strings"),
    ArrayField("cut_pages", "uint16", length=_BLOCKS, low=0, high="cut_blocks"),
    ArrayField("cut_blocks", "uint8", low=0, high=16),
)
DECODER_ARRAYS = (
    ArrayField("decoder_program", "int32"),
    ArrayField("decoder_strings", "uint8"),
    ArrayField("decoder_string_offsets", "int64", offsets_into="decoder_strings"),
)


def check_cutter(file: str, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    """Check what keeps the kernels of pre-tokenizers inside their arrays.

    Parameters
    ----------
    file : str
        Named in errors.
    arrays : mapping of str to ndarray
    metadata : mapping

    Raises
    ------
    VocabularyFormatError
    """
    from numba_nlp.kernels.segment import cut_program as operations

    if arrays["cut_blocks"].size % 128:
        fail(file, f"array `cut_blocks` has length {arrays['cut_blocks'].size}, expected a multiple of 128")
    program = arrays["cut_program"]
    if program.size % operations.CUT_STEP:
        fail(file, f"array `cut_program` has length {program.size}, expected a multiple of {operations.CUT_STEP}")
    regexes = metadata.get("cut_regexes")
    if not isinstance(regexes, (list, tuple)) or not all(isinstance(regex, str) for regex in regexes):
        fail(file, "metadata `cut_regexes` is missing or no list of strings")
    filled = _filled_strings(file, arrays, "cut")
    for step in program.reshape(-1, operations.CUT_STEP).tolist():
        operation, first, second, third = step
        is_known = 0 <= operation <= operations.CUT_OPERATIONS and 0 <= third < 2
        if operation in (operations.CUT_STRING, operations.CUT_METASPACE):
            is_known &= 0 <= first < len(filled) and filled[first]
        if operation == operations.CUT_METASPACE:
            is_known &= 0 <= second < 3
        elif operation in (operations.CUT_CLASS, operations.CUT_STRING, operations.CUT_OPERATIONS):
            is_known &= 0 <= second < _BEHAVIORS
        if operation == operations.CUT_OPERATIONS:  # a regular expression, which no kernel knows
            is_known &= 0 <= first < len(regexes)
        if not is_known:
            fail(file, f"array `cut_program` holds the step {step}, which this vocabulary cannot do")


def check_decoder(file: str, arrays: Arrays) -> None:
    """Check what keeps the kernels of decoders inside their arrays.

    Parameters
    ----------
    file : str
        Named in errors.
    arrays : mapping of str to ndarray

    Raises
    ------
    VocabularyFormatError
    """
    from numba_nlp.kernels.segment import decode_tokens as operations

    program = arrays["decoder_program"]
    if program.size % operations.DECODE_STEP:
        fail(
            file,
            f"array `decoder_program` has length {program.size}, expected a multiple of {operations.DECODE_STEP}",
        )
    filled = _filled_strings(file, arrays, "decoder")
    n_strings = len(filled)
    for step in program.reshape(-1, operations.DECODE_STEP).tolist():
        operation, first, second, third, fourth = step
        is_known = 0 <= operation < operations.DECODE_OPERATIONS and first < n_strings
        if operation == operations.DECODE_REPLACE:
            is_known &= 0 <= first < n_strings and filled[first]
            is_known &= all(0 <= number < n_strings for number in (second, third, fourth))
        elif operation == operations.DECODE_JOIN:
            is_known &= 0 <= second < n_strings
        elif operation == operations.DECODE_STRIP:
            is_known &= 0 <= first < n_strings and filled[first]
        if not is_known:
            fail(file, f"array `decoder_program` holds the step {step}, which this vocabulary cannot do")


def _filled_strings(file: str, arrays: Arrays, prefix: str) -> list[bool]:
    """Whether each string has bytes; all are UTF-8."""
    text, offsets = arrays[f"{prefix}_strings"], arrays[f"{prefix}_string_offsets"]
    check_utf8(file, arrays, f"{prefix}_strings", offsets)
    assert offsets[-1] == text.size, "checked by the field"
    return (np.diff(offsets) > 0).tolist()  # type: ignore[no-any-return]
