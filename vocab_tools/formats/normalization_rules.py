"""The normalisation rules that SentencePiece models are trained with, by name or from a table of one's own.

``nfkc`` replaces each character, and each sequence of characters that composes to one, by its NFKC form. A sequence of
compatible characters (a full-width letter and an accent) is a key of its own, since rules are looked up by the longest
key; one that shorter keys bring to the same result is left out. ``nmt_nfkc`` also takes out control characters and
writes white space of all kinds as U+0020, and leaves U+FF5E alone, which Japanese distinguishes from U+007E. The names
that end in ``_cf`` fold case too. All follow Unicode 17, as those of sentencepiece 0.2.3 do.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType

import numpy as np

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.charsmap import Charsmap, CharsmapError, decode_charsmap, encode_charsmap
from vocab_tools.formats.reading import read_source
from vocab_tools.formats.unicode_facts import decompositions, folds

__all__ = ["RULE_NAMES", "charsmap_by_name", "charsmap_of", "compile_by_name", "read_rules", "rules_by_name"]

#: Names of the rules that exist.
RULE_NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")

#: What ``nmt`` writes as U+0020.
_SPACES = "\t\n\f\r\u061c\u1680\u200b\u200c\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd"
#: What ``nmt`` takes out.
_CONTROLS = [*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]
_FULLWIDTH_TILDE = "\uff5e"


@lru_cache(maxsize=len(RULE_NAMES))
def rules_by_name(name: str) -> Mapping[str, str]:
    """Rules of a name, spelled out; those of NFKC are 225,000.

    Parameters
    ----------
    name : str
        One of :data:`RULE_NAMES`.

    Returns
    -------
    Mapping of str to str
        Replacements by what they replace. No rule is empty on the left.

    Raises
    ------
    ValueError
        There are no rules of this name.
    """
    _check_name(name)
    if name == "identity":
        return MappingProxyType({})
    rules = _nfkc()
    if name.startswith("nmt"):
        rules.update(dict.fromkeys(_SPACES, " "))
        rules.update(dict.fromkeys(map(chr, _CONTROLS), ""))
        del rules[_FULLWIDTH_TILDE]
    if name.endswith("_cf"):
        fold = folds()
        rules = {key: "".join(fold.get(character, character) for character in text) for key, text in rules.items()}
        for character, folded in fold.items():
            rules.setdefault(character, folded)
    return MappingProxyType(rules)


def _check_name(name: str) -> None:
    if name not in RULE_NAMES:
        raise ValueError(
            f"`normalization_rule_name` is {name!r}, known are {', '.join(RULE_NAMES)}; rules of your own go into "
            "`normalization_rule_tsv`"
        )


def _nfkc() -> dict[str, str]:
    forms = decompositions()
    rules = {character: composed for character, (_, composed) in forms.items() if composed != character}
    #: Characters that become one other by themselves.
    variants: dict[str, list[str]] = {}
    for character, (parts, _) in forms.items():
        if len(parts) == 1:
            variants.setdefault(parts, [parts]).append(character)
    sequences: dict[str, str] = {}
    for parts, composed in forms.values():
        if len(composed) >= len(parts):  # nothing composes, so its characters' own rules suffice
            continue
        for choice in itertools.product(*(variants.get(part, [part]) for part in parts)):
            sequences["".join(choice)] = composed
    longest = max(map(len, sequences))
    for sequence in sorted(sequences, key=len):
        composed = sequences[sequence]
        if _replaced(rules, sequence, longest) != composed:
            rules[sequence] = composed
    return rules


def _replaced(rules: Mapping[str, str], text: str, longest: int) -> str:
    """What rules make of a text, the longest key first at each place."""
    made, at = "", 0
    while at < len(text):
        for length in range(min(longest, len(text) - at), 0, -1):
            if text[at : at + length] in rules:
                made += rules[text[at : at + length]]
                break
        else:
            length = 1
            made += text[at]
        at += length
    return made


def charsmap_of(rules: Mapping[str, str]) -> Charsmap | None:
    """Compile rules; None for none.

    Raises
    ------
    CharsmapError
        See :func:`vocab_tools.formats.charsmap.encode_charsmap`.
    """
    return decode_charsmap(_compile(rules)) if rules else None


def _compile(rules: Mapping[str, str]) -> bytes:
    return encode_charsmap({key.encode(): text.encode() for key, text in rules.items()})


def compile_by_name(name: str) -> bytes:
    """Compile the rules of a name to the blob that the package ships; takes some seconds."""
    return _compile(rules_by_name(name))


@lru_cache(maxsize=len(RULE_NAMES))
def charsmap_by_name(name: str) -> Charsmap | None:
    """Compiled rules of a name, as they are shipped.

    Parameters
    ----------
    name : str
        One of :data:`RULE_NAMES`.

    Returns
    -------
    Charsmap or None
        None for "identity".

    Raises
    ------
    ValueError
        There are no rules of this name.
    """
    _check_name(name)
    if name == "identity":
        return None
    content = (resources.files("vocab_tools") / "data" / "charsmaps.npz").read_bytes()
    with np.load(io.BytesIO(content)) as file:
        return decode_charsmap(file[name].tobytes())


def read_rules(path: str | Path) -> dict[str, str]:
    """Read rules from a table: a line each, code points in hexadecimal, ``source<TAB>target``.

    A target may be empty or missing; further columns and what follows ``#`` are comments.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict of str to str

    Raises
    ------
    SourceFormatError
        A line without a source, with something that is no code point, or with a source that an earlier line has; the
        file is not UTF-8; the rules cannot be compiled.
    """
    path = Path(path)
    try:
        text = read_source(path).decode()
    except UnicodeDecodeError as error:
        raise SourceFormatError(f"{path}: byte {error.start} is not valid UTF-8 ({error.reason})") from error
    rules: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        content = line.partition("#")[0].rstrip("\r ")
        if not content.strip():
            continue
        columns = content.split("\t")
        source = _code_points(columns[0], path, number)
        if not source:
            raise SourceFormatError(f"{path}:{number}: no code points before the tab in {line!r}")
        if source in rules:
            raise SourceFormatError(f"{path}:{number}: a second rule for {columns[0].strip()}")
        rules[source] = _code_points(columns[1] if len(columns) > 1 else "", path, number)
    try:
        charsmap_of(rules)
    except CharsmapError as error:
        raise SourceFormatError(f"{path}: {error}") from error
    return rules


def _code_points(column: str, path: Path, number: int) -> str:
    made = ""
    for word in column.split():
        try:
            code = int(word.removeprefix("U+"), 16)
        except ValueError:
            code = -1
        if not 0 < code < 0x110000 or 0xD800 <= code < 0xE000:
            raise SourceFormatError(
                f"{path}:{number}: {word!r} is no code point in hexadecimal, 1 to 10FFFF without surrogates"
            )
        made += chr(code)
    return made
