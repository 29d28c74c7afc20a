"""Whether two descriptions are one vocabulary: they are when they compile to the same arrays and settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from vocab_tools.compiler.api import AnyDescription, build_arrays

__all__ = ["IGNORABLE", "differences"]

#: What ``ignore=`` of a conversion may name beside what readers take -> metadata entries.
IGNORABLE = {
    "template": ("templates", "template_single"),
    "padding": ("pad", "pad_type_id", "padding_side"),
    "truncation": ("truncation_side", "model_max_length"),
    "spans": ("trim_offsets", "trim_keeps_prefix_space"),
}
#: Entries that say where a vocabulary comes from, or follow from whose results are reproduced.
_OF_FORMATS = frozenset(
    (
        "name", "source_format", "source_digest", "reference", "special_policy", "special_search", "unicode_version",
        "normalizer_unicode_version", "pattern_regex", "model_input_names", "source_files", "source_options",
        "source_is_folder",
    )
)  # fmt: skip
#: What an entry that is missing says.
_DEFAULTS: dict[str, Any] = {
    "templates": {"single": [["A", 0]], "pair": [["A", 0], ["B", 1]]},
    "pad": None,
    "pad_type_id": 0,
    "padding_side": "right",
    "truncation_side": "right",
    "model_max_length": None,
    "clean_up": False,
}
#: Character classes are those of the reference's own Unicode version.
_OF_REFERENCES = ("class_index", "class_blocks")
_NORMALIZED = 16
#: Beginnings of names -> what they are, for people.
_WORDS = {
    "piece_bytes": "pieces or their ids",
    "piece_offsets": "pieces or their ids",
    "piece_kinds": "kinds of pieces (special, added, absent)",
    "piece_lookup": "pieces of the model",
    "piece_scores": "scores",
    "decoded_": "what ids decode to",
    "symbol_ids": "merges, or their order",
    "pair_merges": "merges, or their order",
    "merge_": "merges, or their order",
    "part_": "merges, or their order",
    "character_": "pieces of one character",
    "final_ids": "pieces that end words",
    "special_": "special or added tokens and their options",
    "template": "the template of model inputs",
    "normalizer": "normalizers",
    "normal_": "the preparation of text",
    "form_": "normalizers",
    "map_": "normalizers",
    "charsmap_": "normalizers",
    "cluster_": "normalizers",
    "cut_": "pre-tokenizers",
    "decoder": "the decoder",
    "cleanup": "the decoder",
    "prefix": "the mark of pieces that go on in a word",
    "pattern": "the pre-token pattern",
    "whole_pieces": "pre-tokens that are pieces without being merged (ignore_merges)",
    "add_prefix_space": "the space put before a text",
    "trim_": "the trimming of spans",
    "pad": "padding",
    "wordpiece": "the unknown token, or the longest word",
    "flags": "the unknown token, or the rule of words",
    "clean_text": "the clean-up of text",
    "words": "what a word is",
}


def differences(before: AnyDescription, after: AnyDescription, ignore: Collection[str] = ()) -> list[str]:
    """What differs in two descriptions, in words; nothing for one vocabulary.

    Parameters
    ----------
    before, after : Description or another that a compiler takes
    ignore : collection of str
        Of :data:`IGNORABLE`.

    Returns
    -------
    list of str
        Each difference once, with the names of arrays and settings.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        A description cannot be compiled.
    """
    if type(before) is not type(after):
        return [f"the algorithm: {type(before).__name__} became {type(after).__name__}"]
    first, second = (_compiled(description) for description in (before, after))
    left_out = {name for key in ignore for name in IGNORABLE.get(key, ())} | _OF_FORMATS
    found: dict[str, list[str]] = {}
    for name in sorted(first.keys() | second.keys()):
        if name in left_out or _equal(first.get(name), second.get(name)):
            continue
        if name in _OF_REFERENCES and first["reference"] != second["reference"]:
            continue
        found.setdefault(_in_words(name), []).append(name)
    return [f"{words} ({', '.join(names)})" for words, names in found.items()]


def _compiled(description: AnyDescription) -> dict[str, Any]:
    arrays, metadata = build_arrays(description)
    flags = arrays["special_flags"]
    if "normalizer_program" not in arrays and (flags & _NORMALIZED).all():
        # without normalizers all are looked for in the text as it is, in one search
        arrays["special_flags"] = flags & ~np.uint8(_NORMALIZED)
    return {**_DEFAULTS, **metadata, **arrays}


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and first.tobytes() == second.tobytes()
    return bool(_plain(first) == _plain(second))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _in_words(name: str) -> str:
    return next((words for start, words in _WORDS.items() if name.startswith(start)), name)
