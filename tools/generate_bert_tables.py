"""Read out of tokenizers what BERT's normaliser and pre-tokeniser do with every code point; write the package's table.

Each option of ``BertNormalizer`` is asked for by itself, on every code point alone (surrogates excepted, they cannot
occur in text), and so is ``BertPreTokenizer``, on the code point between two letters. What the kernels and the
compiler rely on besides is checked here: the options work one after the other, each on single characters; accents are
stripped by canonical decomposition without the nonspacing marks; decomposition orders marks by combining classes,
which are found by putting each mark before and after marks of known classes; and the normalised form of a character
never mixes letters with white space or punctuation.

Usage: ``python tools/generate_bert_tables.py [--check]``
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Callable
from importlib.metadata import version
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.generate_class_tables import pack
from vocab_tools.compiler.bert_characters import (
    CHINESE,
    DECOMPOSES,
    LOWERCASES,
    NONSPACING,
    PUNCTUATION,
    REMOVED,
    TO_SPACE,
    WHITE_SPACE,
    hangul_parts,
    strip_option,
)
from vocab_tools.compiler.classes import N_CODE_POINTS, two_stage

TARGET = Path(__file__).parents[1] / "vocab_tools" / "data" / "bert_characters.safetensors"
CODE_POINTS = [*range(0xD800), *range(0xE000, N_CODE_POINTS)]
#: Marks of the lowest and the highest combining class.
LOWEST, HIGHEST = "\u0334", "\u0345"

Normalize = Callable[[str], str]


def bert_normalizer(clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool) -> Normalize:
    """The reference's normaliser."""
    from tokenizers.normalizers import BertNormalizer

    made = BertNormalizer(
        clean_text=clean_text,
        handle_chinese_chars=handle_chinese_chars,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    return made.normalize_str  # type: ignore[no-any-return]


def _each(normalize: Normalize) -> dict[int, str]:
    return {point: normalize(chr(point)) for point in CODE_POINTS}


def _refuse(what: str, points: list[int]) -> None:
    if points:
        shown = ", ".join(f"U+{point:04X}" for point in points[:5])
        raise SystemExit(f"{what}: {shown}{' and more' if len(points) > 5 else ''}; the kernels must be changed")


def combining_classes(nfd: Normalize, alone: dict[int, str]) -> NDArray[np.uint8]:
    """Canonical combining class of every code point, found by the order that ``nfd`` puts marks into."""
    marks = [
        point
        for point, image in alone.items()
        if image == chr(point) and (nfd(image + LOWEST)[0] != image or nfd(HIGHEST + image)[0] != HIGHEST)
    ]
    # Unicode never changes a class, so Python knows it; a mark of each class that the reference knows, to compare with
    known = {unicodedata.combining(chr(point)): chr(point) for point in reversed(marks)}
    classes = np.zeros(N_CODE_POINTS, np.uint8)
    for point in marks:
        text = chr(point)
        equal = [n for n, mark in known.items() if nfd(text + mark)[0] == text and nfd(mark + text)[0] == mark]
        if equal != [unicodedata.combining(text)]:
            _refuse(f"of combining class {unicodedata.combining(text)}, ordered as {equal}", [point])
        classes[point] = equal[0]
    return classes


def _pre_tokens() -> tuple[list[int], list[int]]:
    from tokenizers.pre_tokenizers import BertPreTokenizer

    cut = BertPreTokenizer().pre_tokenize_str
    white, punctuation, odd = [], [], []
    for point in CODE_POINTS:
        pieces = [piece for piece, _ in cut(f"a{chr(point)}b")]
        if pieces == ["a", "b"]:
            white.append(point)
        elif pieces == ["a", chr(point), "b"]:
            punctuation.append(point)
        elif pieces != [f"a{chr(point)}b"]:
            odd.append(point)
    _refuse("the pre-tokeniser does more than cut", odd)
    return white, punctuation


def _lines(mapping: dict[int, str]) -> NDArray[np.uint8]:
    """``character``, its image and a line end, for every character."""
    _refuse("a line end in an image", [point for point, image in mapping.items() if "\n" in chr(point) + image])
    return np.frombuffer("".join(f"{chr(point)}{image}\n" for point, image in mapping.items()).encode(), np.uint8)


def generate() -> bytes:
    """Return the content of the data file for the installed tokenizers."""
    from tokenizers.normalizers import NFD

    nfd = NFD().normalize_str
    clean = _each(bert_normalizer(True, False, False, False))
    chinese = _each(bert_normalizer(False, True, False, False))
    stripped = _each(bert_normalizer(False, False, True, False))
    lower = _each(bert_normalizer(False, False, False, True))
    decomposed = _each(nfd)
    white, punctuation = _pre_tokens()

    flags = np.zeros(N_CODE_POINTS, np.uint8)
    flags[[point for point, image in clean.items() if not image]] |= REMOVED
    flags[[point for point, image in clean.items() if image == " "]] |= TO_SPACE
    flags[[point for point, image in chinese.items() if image == f" {chr(point)} "]] |= CHINESE
    flags[[point for point, image in stripped.items() if not image and decomposed[point] == chr(point)]] |= NONSPACING
    flags[white] |= WHITE_SPACE
    flags[punctuation] |= PUNCTUATION
    flags[[point for point, image in decomposed.items() if image != chr(point)]] |= DECOMPOSES
    flags[[point for point, image in lower.items() if image != chr(point)]] |= LOWERCASES
    combining = combining_classes(nfd, decomposed)

    _refuse("clean_text", [p for p, image in clean.items() if image not in ("", " ", chr(p))])
    _refuse("handle_chinese_chars", [p for p, image in chinese.items() if image not in (chr(p), f" {chr(p)} ")])
    _refuse(
        "strip_accents",
        [p for p, i in stripped.items() if i != "".join(c for c in decomposed[p] if not flags[ord(c)] & NONSPACING)],
    )
    beyond = WHITE_SPACE | PUNCTUATION | LOWERCASES
    _refuse("a mark that is cut at or has a case", np.flatnonzero((combining != 0) & (flags & beyond != 0)).tolist())
    _refuse(
        "a decomposition that begins with a mark and keeps a part",
        [p for p, i in decomposed.items() if i != chr(p) and combining[ord(i[0])] and stripped[p]],
    )
    _refuse(
        "white space or punctuation among several characters",
        [p for p, i in stripped.items() if len(i) > 1 and any(flags[ord(c)] & (WHITE_SPACE | PUNCTUATION) for c in i)],
    )
    hangul = {p: image for p, image in decomposed.items() if hangul_parts(p)}
    _refuse("Hangul", [p for p, image in hangul.items() if image != "".join(map(chr, hangul_parts(p)))])
    _check_combinations(clean, chinese, stripped, lower)

    arrays: dict[str, NDArray[np.generic]] = {}
    arrays["flags_index"], arrays["flags_blocks"] = two_stage(flags)
    arrays["combining_index"], arrays["combining_blocks"] = two_stage(combining)
    arrays["decompositions"] = _lines({p: i for p, i in decomposed.items() if i != chr(p) and p not in hangul})
    arrays["lowercase"] = _lines({p: i for p, i in lower.items() if i != chr(p)})
    return pack(arrays, {"tokenizers_library_version": version("tokenizers")})


def _check_combinations(*stages: dict[int, str]) -> None:
    """All sixteen combinations of the options are the options one after the other; so is the option left open."""
    for options in product((False, True), repeat=4):
        normalize = bert_normalizer(*options)
        used = [stage for stage, is_on in zip(stages, options, strict=True) if is_on]
        wrong = []
        for point in CODE_POINTS:
            text = chr(point)
            for stage in used:
                text = "".join(stage[ord(character)] for character in text)
            if normalize(chr(point)) != text:
                wrong.append(point)
        _refuse(f"options {options} are no sequence", wrong)
    for lowercase in (False, True):
        left_open = bert_normalizer(True, True, None, lowercase)  # type: ignore[arg-type]
        named = bert_normalizer(True, True, strip_option(None, lowercase), lowercase)
        _refuse("strip_accents=None", [p for p in CODE_POINTS if left_open(chr(p)) != named(chr(p))])


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
