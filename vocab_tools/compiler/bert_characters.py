"""What BERT's normaliser and pre-tokeniser do with each character, for one choice of options: one table.

``BertNormalizer`` works in four stages, each on single characters: clean-up, white space around Chinese characters,
canonical decomposition without the nonspacing marks, lower case. The facts of each stage are read out of tokenizers by
``tools/generate_bert_tables.py`` and shipped as ``vocab_tools/data/bert_characters.safetensors``; here they are put
together to the units that :mod:`numba_nlp.kernels.segment.normalize_bert` reads.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.normalize_bert import (
    CHINESE_WORD,
    DELETED,
    ITSELF,
    LETTER,
    MIXED,
    NO_CLASS,
    PUNCTUATION_WORD,
    SEVERAL,
    SPACE,
)
from vocab_tools.compiler.classes import N_CODE_POINTS, classes_of_all, unpack_arrays

__all__ = [
    "BertCharacters",
    "BertFacts",
    "bert_characters",
    "bert_facts",
    "hangul_parts",
    "recorded_library_version",
    "strip_option",
]

#: Bits of the shipped flags of a code point.
REMOVED, TO_SPACE, CHINESE, NONSPACING, WHITE_SPACE, PUNCTUATION, DECOMPOSES, LOWERCASES = (1 << i for i in range(8))
#: Code points in one block of the table.
BLOCK = 128
_HANGUL_FIRST, _HANGUL_LAST = 0xAC00, 0xD7A3


class BertCharacters(NamedTuple):
    """Table of one choice of options.

    Attributes
    ----------
    normal_index : uint16[0x110000 >> 7]
        Code point >> 7 -> block number.
    normal_blocks : uint32[blocks * 128]
        ``normal_blocks[normal_index[cp >> 7] << 7 | (cp & 127)]`` is the unit of code point ``cp``, see
        :mod:`numba_nlp.kernels.segment.normalize_bert`.
    normal_several : uint32[m]
        Units of the characters that one character becomes, where it becomes several.
    pair_kinds : uint8[4096]
        For the lower six bits of the first byte of a character beyond ASCII, and of its second: ``LETTER`` where all
        characters with these are parts of words or deleted, ``SPACE``, ``PUNCTUATION_WORD`` or ``CHINESE_WORD`` where
        all are that, else ``MIXED``.
    """

    normal_index: NDArray[np.uint16]
    normal_blocks: NDArray[np.uint32]
    normal_several: NDArray[np.uint32]
    pair_kinds: NDArray[np.uint8]


class BertFacts(NamedTuple):
    """What the shipped file says of every code point."""

    flags: NDArray[np.uint8]
    combining: NDArray[np.uint8]
    decompositions: dict[int, str]
    lowercase: dict[int, str]


@lru_cache(maxsize=1)
def _shipped() -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    content = resources.files("vocab_tools").joinpath("data/bert_characters.safetensors").read_bytes()
    arrays, metadata = unpack_arrays(content)
    return arrays, dict(metadata)


def recorded_library_version() -> str:
    """Version of tokenizers that the shipped facts were read from."""
    return _shipped()[1]["tokenizers_library_version"]


@lru_cache(maxsize=1)
def bert_facts() -> BertFacts:
    """The shipped facts."""
    arrays, _ = _shipped()

    def mapping(name: str) -> dict[int, str]:
        return {ord(line[0]): line[1:] for line in arrays[name].tobytes().decode().split("\n") if line}

    return BertFacts(
        classes_of_all(arrays["flags_index"], arrays["flags_blocks"]),
        classes_of_all(arrays["combining_index"], arrays["combining_blocks"]),
        mapping("decompositions"),
        mapping("lowercase"),
    )


def hangul_parts(point: int) -> tuple[int, ...]:
    """Decomposition of a Hangul syllable by the formula of the Unicode standard (3.12); empty for others."""
    if not _HANGUL_FIRST <= point <= _HANGUL_LAST:
        return ()
    first, rest = divmod(point - _HANGUL_FIRST, 588)
    second, third = divmod(rest, 28)
    parts = (0x1100 + first, 0x1161 + second)
    return (*parts, 0x11A7 + third) if third else parts


def strip_option(strip_accents: bool | None, lowercase: bool) -> bool:
    """Whether accents are stripped: as told, else together with lower case."""
    return lowercase if strip_accents is None else strip_accents


def bert_characters(
    *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool | None, lowercase: bool
) -> BertCharacters:
    """Build the table of one choice of options.

    Parameters
    ----------
    clean_text, handle_chinese_chars, strip_accents, lowercase : bool
        As of tokenizers' ``BertNormalizer``; ``strip_accents`` None means as ``lowercase``.

    Returns
    -------
    BertCharacters
        Read-only arrays.
    """
    facts = bert_facts()
    flags = facts.flags
    strips = strip_option(strip_accents, lowercase)
    points = np.arange(N_CODE_POINTS, dtype=np.uint32)
    # What each character becomes when it stays one character; the exceptions follow.
    images = points.copy()
    several: dict[int, list[int]] = {}
    deleted = np.zeros(N_CODE_POINTS, bool)
    if strips:
        deleted |= flags & NONSPACING != 0
        for point in np.flatnonzero(flags & DECOMPOSES).tolist():
            whole = hangul_parts(point) or tuple(map(ord, facts.decompositions[point]))
            several[point] = [part for part in whole if not flags[part] & NONSPACING]
    if lowercase:
        single = {point: ord(image) for point, image in facts.lowercase.items() if len(image) == 1}
        images[list(single)] = list(single.values())
        for point, parts in several.items():
            several[point] = [part for old in parts for part in map(ord, facts.lowercase.get(old, chr(old)))]
        for point, image in facts.lowercase.items():
            if len(image) > 1 and point not in several:
                several[point] = list(map(ord, image))
    for point in [point for point, parts in several.items() if len(parts) < 2]:
        parts = several.pop(point)
        deleted[point] = not parts
        if parts:
            images[point] = parts[0]

    kinds = np.full(N_CODE_POINTS, LETTER, np.uint32)
    kinds[flags[images] & PUNCTUATION != 0] = PUNCTUATION_WORD
    kinds[flags[images] & WHITE_SPACE != 0] = SPACE
    # Marks are put into order by decomposition only.
    classes = facts.combining.astype(np.uint32) if strips else np.zeros(N_CODE_POINTS, np.uint32)
    if handle_chinese_chars:
        kinds[flags & CHINESE != 0] = CHINESE_WORD
    if clean_text:
        kinds[flags & TO_SPACE != 0] = SPACE
        images[flags & TO_SPACE != 0] = ord(" ")
        # These go before marks are put into order, so that they do not part marks.
        is_removed = flags & REMOVED != 0
        classes[is_removed] = NO_CLASS
        deleted |= is_removed
    for point in np.flatnonzero(deleted & (flags & DECOMPOSES != 0)).tolist():
        # Marks around it stay in one run only if every mark of it would.
        if classes[[ord(part) for part in facts.decompositions[point]]].all():
            classes[point] = NO_CLASS
    kinds[deleted] = DELETED
    images[images == points] = ITSELF
    units = kinds | images << np.uint32(3) | classes << np.uint32(24)

    pool: list[int] = []
    for point, parts in several.items():
        if deleted[point]:
            continue
        units[point] = SEVERAL | len(pool) << 3 | len(parts) << 24
        pool.extend(int(kinds[part] | part << 3 | int(classes[part]) << 24) for part in parts)
    index, blocks = _two_stage(units)
    made = BertCharacters(index, blocks, np.array(pool, np.uint32), _pair_kinds((units & 7).astype(np.uint8)))
    for array in made:
        array.flags.writeable = False
    return made


def _pair_kinds(kinds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Kind that all characters share whose UTF-8 begins with the same two bytes."""
    points = np.arange(0x80, N_CODE_POINTS)
    # first and second byte, without the bits that all of them have
    first = np.select([points < 0x800, points < 0x10000], [points >> 6, 0x20 | points >> 12], 0x30 | points >> 18)
    second = np.select([points < 0x800, points < 0x10000], [points, points >> 6], points >> 12) & 63
    shared = np.where(np.isin(kinds, [DELETED, SEVERAL]), LETTER, kinds)[0x80:]
    pairs = first << 6 | second
    lowest, highest = np.full(4096, MIXED, np.uint8), np.zeros(4096, np.uint8)
    np.minimum.at(lowest, pairs, shared)
    np.maximum.at(highest, pairs, shared)
    return np.where(lowest == highest, lowest, MIXED).astype(np.uint8)


def _two_stage(units: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Blocks of 128 units in which equal blocks are kept once; block 0 holds ASCII."""
    numbers: dict[bytes, int] = {}
    rows = units.reshape(-1, BLOCK)
    index = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.uint16)
    return index, np.frombuffer(b"".join(numbers), dtype=np.uint32).copy()
