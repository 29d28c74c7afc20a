"""Read what tokenizers does to every code point out of the library itself; write the package's normalization tables.

The normalizers of tokenizers follow Unicode versions of their own (normal forms and combining marks another one than
lower case and clusters), so Python's ``unicodedata`` would be wrong for thousands of characters. Everything here is
asked of the library:

normal forms
    The full decomposition of every character is what ``NFD`` and ``NFKD`` make of it. That a character has a combining
    class shows where ``NFD`` moves it across U+0345 (class 240) or U+0334 (class 1); its class is then found by the
    marks of known class that it trades places with. The pairs that ``NFC`` composes are found by taking the last
    character off the decomposition of every character that ``NFC`` leaves alone. Hangul is arithmetic.
character maps
    ``Lowercase``, ``StripAccents`` and ``Nmt`` work character by character.
classes of pre-tokenizers
    ``Whitespace``, ``Digits`` and ``Punctuation`` cut at characters of a class; what they cut off is in it.
grapheme clusters
    ``Precompiled`` looks clusters of fewer than six bytes up as one. With a map that has a rule for every byte a
    character may begin with, each look-up shows as one ``Z``, so the number of ``Z`` tells where clusters end.

Usage: ``python tools/generate_normalization_tables.py [--check]``
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import struct
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from vocab_tools.compiler.classes import N_CODE_POINTS, two_stage

TARGET = Path(__file__).parents[1] / "vocab_tools" / "data" / "normalization.npz"

HANGUL = range(0xAC00, 0xD7A4)
#: Unicode version -> marks with a combining class, all extending clusters, that it was the first to assign.
FIRST_MARKS = {
    "17.0": (0x1ACF, 0x1AE0),
    "16.0": (0x0897, 0x10D69),
    "15.0": (0x11F42, 0x1E4EC),
    "14.0": (0x0898, 0x10F82),
    "13.0": (0x1ABF, 0x1193E),
    "12.0": (0x0EBA, 0x119E0),
    "11.0": (0x07FD, 0x08D3),
    "10.0": (0x1DF6, 0x11A34),
    "9.0": (0x1DFB, 0x1E94A),
    "8.0": (0x08E3, 0x111CA),
}
#: Unicode version -> capital letters that it was the first to assign.
FIRST_CAPITALS = {
    "17.0": (0xA7CE, 0x16EA0),
    "16.0": (0xA7CB, 0x10D50),
    "14.0": (0x2C2F, 0x10570),
    "13.0": (0xA7C7, 0xA7F5),
    "12.0": (0xA7BA, 0xA7C2),
    "11.0": (0x1C90, 0x16E40),
}

#: Unicode version -> punctuation and numbers that it was the first to assign.
FIRST_PUNCTUATION = {
    "16.0": (0x1B4E, 0x1B4F),
    "14.0": (0x061D, 0x2E53),
    "10.0": (0x2E45, 0x11A3F),
    "9.0": (0x2E43, 0x1E95E),
    "8.0": (0x111DB, 0x1DA87),
    "7.0": (0x2E33, 0x11174),
}
FIRST_DIGITS = {
    "17.0": (0x11DE0, 0x11DE1),
    "16.0": (0x10D40, 0x1CCF0),
    "15.0": (0x11F50, 0x1E4F0),
    "13.0": (0x11950, 0x1FBF0),
    "12.0": (0x1E140, 0x1E2F0),
}
#: Jamo that compose with what stands before them.
SECOND_JAMO = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))
#: Normal forms in the order of their flags, see numba_nlp/kernels/segment/normalize_forms.py
FORMS = (normalizers.NFD(), normalizers.NFKD(), normalizers.NFC(), normalizers.NFKC())

#: Cluster classes, see numba_nlp/kernels/segment/graphemes.py
(OTHER, CONTROL, EXTEND, LINKER, JOINER, SPACING, PREPEND, HANGUL_L, HANGUL_V, HANGUL_T, HANGUL_LV, HANGUL_LVT,
 CONSONANT, PICTOGRAPH, EXTEND_ALONE) = range(15)  # fmt: skip


def code_points() -> list[int]:
    """All code points that text may hold, without the line feed, which separates questions."""
    return [c for c in (*range(0xD800), *range(0xE000, N_CODE_POINTS)) if c != 0x0A]


def ask(normalizer: normalizers.Normalizer, texts: Sequence[str]) -> list[str]:
    """Normalize many short texts, thousands in one call; texts must not begin with a mark or hold line feeds."""
    answers: list[str] = []
    for first in range(0, len(texts), 4096):
        part = texts[first : first + 4096]
        found = normalizer.normalize_str("\n".join(part)).split("\n")
        assert len(found) == len(part)
        answers += found
    return answers


def ask_alone(normalizer: normalizers.Normalizer) -> list[str]:
    """What becomes of every character, by itself; surrogates stay."""
    return [chr(c) if 0xD800 <= c < 0xE000 else normalizer.normalize_str(chr(c)) for c in range(N_CODE_POINTS)]


# --- normal forms ----------------------------------------------------------------------------------------------------


def combining_classes(decomposed: Sequence[str]) -> dict[int, int]:
    """Combining class, where it is not 0, of every character that does not decompose."""
    nfd = normalizers.NFD()
    alone = [c for c in code_points() if decomposed[c] == chr(c)]
    low = ask(nfd, [f"a{chr(c)}\u0334" for c in alone])
    high = ask(nfd, [f"a\u0345{chr(c)}" for c in alone])
    marks = [
        c
        for c, x, y in zip(alone, low, high, strict=True)
        if x != f"a{chr(c)}\u0334" or y != f"a\u0345{chr(c)}"
    ]  # fmt: skip
    # one mark of each class; the classes of Unicode never change once assigned
    known = {unicodedata.combining(chr(c)): c for c in marks if unicodedata.combining(chr(c))}
    probes = sorted(known)
    classes: dict[int, int] = {}
    for mark in marks:
        pairs = [(k, chr(known[k]), chr(mark)) for k in probes if known[k] != mark]
        left = ask(nfd, [f"a{probe}{own}" for _, probe, own in pairs])
        right = ask(nfd, [f"a{own}{probe}" for _, probe, own in pairs])
        # the mark trades places with those of another class, in one of the two orders
        other = {
            k
            for (k, probe, own), x, y in zip(pairs, left, right, strict=True)
            if x != f"a{probe}{own}" or y != f"a{own}{probe}"
        }
        same = [k for k in probes if k not in other]
        if len(same) != 1:
            raise SystemExit(f"U+{mark:04X} has none of the known combining classes: {same}")
        classes[mark] = same[0]
    return classes


def composition_pairs(decomposed: Sequence[str]) -> dict[tuple[int, int], int]:
    """Pairs that NFC composes, Hangul excepted."""
    nfc = normalizers.NFC()
    pairs: dict[tuple[int, int], int] = {}
    for c in range(N_CODE_POINTS):
        parts = decomposed[c]
        if len(parts) < 2 or c in HANGUL or nfc.normalize_str(chr(c)) != chr(c):
            continue
        first = nfc.normalize_str(parts[:-1])
        if len(first) != 1 or nfc.normalize_str(parts) != chr(c):
            raise SystemExit(f"U+{c:04X} is not composed of two characters; the composition tables need another form")
        pairs[ord(first), ord(parts[-1])] = c
    return pairs


def form_tables() -> dict[str, NDArray[Any]]:
    """Tables of the four normal forms."""
    results = [ask_alone(form) for form in FORMS]
    canonical, compatible = results[:2]
    classes, pairs = combining_classes(canonical), composition_pairs(canonical)
    seconds = {second for _, second in pairs}.union(SECOND_JAMO)
    entries: dict[tuple[int, int, str, str], int] = {(0, 0, "", ""): 0}
    numbers = np.zeros(N_CODE_POINTS, np.uint16)
    for c in range(N_CODE_POINTS):
        moves = c in classes
        flags = sum((moves or result[c] != chr(c)) << form for form, result in enumerate(results))
        flags |= 12 * (c in seconds)
        decomposed = "" if c in HANGUL else canonical[c], "" if c in HANGUL else compatible[c]
        entry = flags, classes.get(c, 0), *(parts if parts != chr(c) else "" for parts in decomposed)
        numbers[c] = entries.setdefault(entry, len(entries))
    index, blocks = two_stage_wide(numbers)
    texts = [entry[2] for entry in entries] + [entry[3] for entry in entries]
    ordered = sorted(pairs)
    return {
        "form_pages": index,
        "form_blocks": blocks,
        "form_flags": np.array([entry[0] for entry in entries], np.uint8),
        "form_classes": np.array([entry[1] for entry in entries], np.uint8),
        "form_offsets": offsets_of(texts),
        "form_parts": np.array([ord(character) for text in texts for character in text], np.int32),
        "form_pairs": np.array([first << 21 | second for first, second in ordered], np.int64),
        "form_composed": np.array([pairs[pair] for pair in ordered], np.int32),
    }


def offsets_of(texts: Iterable[Sequence[Any]]) -> NDArray[np.int32]:
    """Where each of the joined texts begins, and the end."""
    return np.concatenate(([0], np.cumsum([len(text) for text in texts]))).astype(np.int32)


def two_stage_wide(numbers: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """As :func:`two_stage`, for numbers of 16 bits."""
    seen: dict[bytes, int] = {}
    rows = numbers.reshape(-1, 128)
    index = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], np.uint16)
    return index, np.frombuffer(b"".join(seen), np.uint16)


# --- character maps --------------------------------------------------------------------------------------------------

MAPS: Mapping[str, normalizers.Normalizer] = {
    "lowercase": normalizers.Lowercase(),
    "strip_accents": normalizers.StripAccents(),
    "nmt": normalizers.Nmt(),
}


def map_tables(name: str) -> dict[str, NDArray[Any]]:
    """Table of one normalizer that works character by character."""
    entries: dict[bytes, int] = {b"": 0}  # entry 0: the character stays
    numbers = np.zeros(N_CODE_POINTS, np.uint16)
    texts = [b""]
    for c, text in enumerate(ask_alone(MAPS[name])):
        if text != chr(c):
            key = b"\x00" + text.encode()
            if key not in entries:
                entries[key] = len(texts)
                texts.append(text.encode())
            numbers[c] = entries[key]
    index, blocks = two_stage_wide(numbers)
    return {
        f"{name}_pages": index,
        f"{name}_blocks": blocks,
        f"{name}_offsets": offsets_of(texts),
        f"{name}_text": np.frombuffer(b"".join(texts), np.uint8),
    }


# --- grapheme clusters -----------------------------------------------------------------------------------------------


def precompiled(charsmap: bytes) -> normalizers.Normalizer:
    """The ``Precompiled`` normalizer of a charsmap, which the library makes from JSON only."""
    tokenizer = json.loads(Tokenizer(models.BPE()).to_str())
    tokenizer["normalizer"] = {
        "type": "Precompiled",
        "precompiled_charsmap": base64.b64encode(charsmap).decode(),
    }
    return Tokenizer.from_str(json.dumps(tokenizer)).normalizer


def counting_charsmap() -> bytes:
    """A charsmap that replaces whatever begins with any byte but LF and ``|`` by ``Z``.

    A Darts double array: node 0 leads to block 256, where unit ``256 ^ byte`` has that byte for its label and leads to
    block 512, whose unit 512 holds the value 0, the place of the replacement.
    """
    units = [0] * 1024
    units[0] = 256 << 10
    for byte in range(1, 256):
        if byte not in b"\n|":
            place = 256 ^ byte
            units[place] = byte | 1 << 8 | (place ^ 512) << 10
    units[512] = 1 << 31
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + b"Z\0"


class Clusters:
    """Counts the look-ups that the library makes for a text."""

    def __init__(self) -> None:
        self._normalizer = precompiled(counting_charsmap())
        assert self._normalizer.normalize_str("ab\u0301|") == "ZZ|"

    def where(self, form: str, count: int) -> set[int]:
        """Code points that give ``count`` look-ups in the place of ``X`` in a text."""
        # CR would take the separator with it; look-ups stop at NUL
        points = [c for c in code_points() if c not in (0, 0x0D, 0x7C)]
        answers = ask(self._normalizer, [form.replace("X", chr(c)) for c in points])
        return {c for c, answer in zip(points, answers, strict=True) if answer.count("Z") == count}


def cluster_tables() -> dict[str, NDArray[Any]]:
    """Cluster class of every code point.

    Most tests have U+0301 (``e``, two bytes) at the end: a cluster has six bytes or more, and is looked up character by
    character, when the character before ``e`` joined the others, and is one look-up when it did not. Regional
    indicators are not told apart: four bytes each, no pair of them is ever looked up as one.
    """
    count, e = Clusters(), "\u0301"
    joins = count.where("aX", 1)
    before_v, before_t = count.where(f"X\u1161{e}", 3), count.where(f"X\u11a8{e}", 3)
    prepends = count.where("Xa", 1)
    short = {c for c in code_points() if c < 0x10000}
    after_v, after_t = count.where(f"\u1161X{e}", 3) & short, count.where(f"\u11a8X{e}", 3) & short
    hangul = (before_v | before_t) - prepends - joins
    pictographs = count.where(f"\u00a9\u200dX{e}", 4) - joins
    consonants = count.where(f"X\u094d\u0915{e}", 4) - joins - prepends
    linkers = joins & count.where(f"\u0915X\u0915{e}", 4)
    in_conjuncts = joins & count.where(f"\u0915X\u094d\u0915{e}", 5)
    in_pictures = joins & count.where(f"\u00a9X\u200d\u00a9{e}", 5)
    joiners = joins & count.where(f"\u00a9X\u00a9{e}", 4)
    sets = {
        CONTROL: (count.where(f"X{e}{e}", 2) - joins) | {0, 0x0A, 0x0D},
        PREPEND: prepends,
        HANGUL_L: hangul & before_v - before_t,
        # those of four bytes cannot be told from LV, nor does it matter: no cluster of theirs is short enough
        HANGUL_V: hangul & before_v & before_t & (after_v | {c for c in hangul if c not in short}),
        HANGUL_T: hangul & before_t - before_v & after_t,
        HANGUL_LV: hangul & before_v & before_t & short - after_v,
        HANGUL_LVT: hangul & before_t - before_v - after_t,
        PICTOGRAPH: pictographs,
        CONSONANT: consonants,
        LINKER: linkers,
        JOINER: joiners,
        SPACING: joins - in_pictures - joiners - linkers,
        EXTEND: (joins & in_pictures & in_conjuncts) - joiners - linkers,
        EXTEND_ALONE: (joins & in_pictures) - in_conjuncts - joiners - linkers,
    }
    classes = np.zeros(N_CODE_POINTS, np.uint8)
    for number, members in sets.items():
        chosen = np.array(sorted(members), np.int64)
        if classes[chosen].any():
            raise SystemExit(f"cluster class {number} overlaps another at U+{chosen[classes[chosen] > 0][0]:04X}")
        classes[chosen] = number
    if not linkers <= in_pictures or in_conjuncts & sets[SPACING] or joiners != {0x200D}:
        raise SystemExit("the cluster classes do not have the properties that the kernel relies on")
    index, blocks = two_stage(classes)
    return {"cluster_pages": index, "cluster_blocks": blocks}


# --- classes of pre-tokenizers --------------------------------------------------------------------------------------

#: Bits of a character, see numba_nlp/kernels/segment/cut_items.py
WORD, SPACE, NUMERIC, PUNCTUATION = 1, 2, 4, 8


def cut_tables() -> dict[str, NDArray[Any]]:
    """Table of the characters that pre-tokenizers cut at."""
    points = [c for c in code_points() if c != ord("a")]
    sets: dict[int, set[int]] = {WORD: {ord("a")}, SPACE: {0x0A}, NUMERIC: set(), PUNCTUATION: set()}
    cutters = {
        NUMERIC: pre_tokenizers.Digits(individual_digits=True),
        PUNCTUATION: pre_tokenizers.Punctuation("isolated"),
    }
    for first in range(0, len(points), 4096):
        part = points[first : first + 4096]
        # a character that nothing is cut at stands in one piece with its neighbours
        text = "a" + "".join(f"{chr(c)}a" for c in part)
        for bit, cutter in cutters.items():
            pieces = (piece for piece, _ in cutter.pre_tokenize_str(text))
            sets[bit].update(ord(piece) for piece in pieces if len(piece) == 1 and piece != "a")
        lines = "\n".join(f"a{chr(c)}a" for c in part)
        pieces = [piece for piece, _ in pre_tokenizers.Whitespace().pre_tokenize_str(lines)]
        words = {ord(piece[1]) for piece in pieces if len(piece) == 3}
        others = {ord(piece) for piece in pieces if len(piece) == 1 and piece != "a"}
        sets[WORD] |= words
        sets[SPACE] |= set(part) - words - others
    bits = np.zeros(N_CODE_POINTS, np.uint8)
    for bit, members in sets.items():
        bits[sorted(members)] |= bit
    index, blocks = two_stage(bits)
    return {"cut_pages": index, "cut_blocks": blocks}


# --- the file --------------------------------------------------------------------------------------------------------


def unicode_version(known: Mapping[str, Sequence[int]], assigned: Iterable[int]) -> str:
    """Newest Unicode version all of whose probe characters are assigned, as all older versions' are."""
    found = set(assigned)
    full = [name for name, probes in known.items() if found.issuperset(probes)]
    if not full or full != list(known)[-len(full) :]:
        raise SystemExit(f"cannot tell the Unicode version from {full}; extend the probes")
    return full[0]


def generate() -> bytes:
    """Return the content of the data file for the installed library."""
    arrays = form_tables() | cluster_tables() | cut_tables()
    for name in MAPS:
        arrays |= map_tables(name)
    marks = [c for c in range(N_CODE_POINTS) if _entry(arrays, "form", c, "form_classes")]
    joins = np.isin(arrays["cluster_blocks"].reshape(-1, 128)[arrays["cluster_pages"]].reshape(-1), (EXTEND, LINKER))
    capitals = [c for c in range(N_CODE_POINTS) if _entry(arrays, "lowercase", c, None)]
    accents = [c for c in range(N_CODE_POINTS) if _entry(arrays, "strip_accents", c, None)]
    punctuation = [c for c in range(N_CODE_POINTS) if _entry(arrays, "cut", c, None) & PUNCTUATION]
    digits = [c for c in range(N_CODE_POINTS) if _entry(arrays, "cut", c, None) & NUMERIC]
    metadata = {
        "library_version": version("tokenizers"),
        "unicode_version_forms": unicode_version(FIRST_MARKS, marks),
        "unicode_version_clusters": unicode_version(FIRST_MARKS, np.flatnonzero(joins).tolist()),
        "unicode_version_lowercase": unicode_version(FIRST_CAPITALS, capitals),
        "unicode_version_digits": unicode_version(FIRST_DIGITS, digits),
        "unicode_version_punctuation": unicode_version(FIRST_PUNCTUATION, punctuation),
        "unicode_version_strip_accents": unicode_version(FIRST_MARKS, accents),
    }
    buffer = io.BytesIO()
    content: dict[str, Any] = {**arrays, "metadata": np.array(json.dumps(metadata, sort_keys=True))}
    np.savez_compressed(buffer, **content)
    return buffer.getvalue()


def _entry(arrays: Mapping[str, NDArray[Any]], table: str, code_point: int, values: str | None) -> int:
    """Entry of a code point in a two-stage table, or what another array has for it."""
    block = int(arrays[f"{table}_pages"][code_point >> 7])
    number = int(arrays[f"{table}_blocks"][block << 7 | code_point & 127])
    return number if values is None else int(arrays[values][number])


def main() -> int:
    """Write the data file, or with ``--check`` compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 when the file differs, write nothing")
    arguments = parser.parse_args()
    content = generate()
    if arguments.check:
        return int(not TARGET.exists() or TARGET.read_bytes() != content)
    TARGET.write_bytes(content)
    sys.stdout.write(f"{TARGET}: {len(content)} bytes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
