"""Reader of subword-nmt's codes (``learn_bpe.py``), with its vocabulary filter; and merges from a dictionary of pairs.

Codes are merges, one a line, in order of rank, behind a version line; without one they are of version 0.1, where the
end of a word is a symbol by itself behind the word. The text ``th@@ e`` of subword-nmt names tokens; ids are the place
of a token in the vocabulary file that ``get_vocab.py`` writes, behind ``<unk>``, or where there is none, in a list of
all tokens that the codes can make.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from math import isnan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from numba_nlp._arguments import shown, string
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.character_vocab import SUFFIX, UNKNOWN
from vocab_tools.formats.description import KIND_CONTROL, KIND_NORMAL
from vocab_tools.formats.piece_table import quote
from vocab_tools.formats.reading import digest_of, read_text

__all__ = ["describe_codes", "describe_pairs", "parse_codes", "read"]


def read(
    path: str | Path,
    *,
    merges: int | None = None,
    separator: str = "@@",
    vocabulary: str | Path | None = None,
    vocabulary_threshold: int | None = None,
    name: str | None = None,
) -> CharacterDescription:
    """Read codes.

    Parameters
    ----------
    path : str or Path
    merges : int, optional
        Use the first so many only.
    separator : str
        What stands behind tokens that others follow in their word.
    vocabulary : str or Path, optional
        File of tokens and their frequencies: merges that make tokens which are not in it are taken back.
    vocabulary_threshold : int, optional
        Tokens that come less often count as not in it.
    name : str, optional
        By default the file's stem.

    Returns
    -------
    CharacterDescription

    Raises
    ------
    SourceFormatError
        A file breaks its format.
    UnsupportedFeatureError
        Codes of a version that subword-nmt does not know.
    """
    path = Path(path)
    if merges is not None and merges < 0:
        raise SourceFormatError(f"merges={merges} must not be negative; leave it out for all of them")
    text, digest = read_text(path)
    version, pairs, repeats = parse_codes(path, text, merges)
    return describe_codes(
        path,
        pairs,
        digest,
        "subword-nmt",
        separator=separator,
        vocabulary=vocabulary,
        vocabulary_threshold=vocabulary_threshold,
        name=name,
        suffix_is_symbol=version == (0, 1),
        repeats=repeats,
    )


def describe_codes(
    path: Path,
    pairs: tuple[tuple[str, str], ...],
    digest: str,
    source_format: str,
    *,
    separator: str,
    vocabulary: str | Path | None,
    vocabulary_threshold: int | None,
    name: str | None,
    suffix_is_symbol: bool = False,
    repeats: bool = False,
) -> CharacterDescription:
    """What codes and the options of their reader describe.

    Parameters
    ----------
    path : Path
        Of the codes.
    pairs : tuple of (str, str)
        The merges, in order of rank.
    digest : str
        sha256 (hex) of the file.
    source_format : {"subword-nmt", "fastbpe"}
    separator, vocabulary, vocabulary_threshold, name
        As of :func:`read`.
    suffix_is_symbol : bool
        The end of a word is a symbol by itself.
    repeats : bool
        Some merge is listed twice in the file.

    Returns
    -------
    CharacterDescription

    Raises
    ------
    SourceFormatError
        An option has no sense, or the vocabulary breaks its format.
    """
    if not separator or any(character.isspace() for character in separator):
        raise SourceFormatError(f"separator={separator!r} must be a mark without white space, such as '@@'")
    allowed = None
    if vocabulary is not None:
        vocabulary_text, vocabulary_digest = read_text(Path(vocabulary))
        digest = digest_of([digest, vocabulary_digest])
        allowed = _allowed(Path(vocabulary), vocabulary_text, vocabulary_threshold)
        if repeats:
            raise SourceFormatError(f"{path}: a merge is listed twice, which a vocabulary filter cannot take back")
    elif vocabulary_threshold is not None:
        raise SourceFormatError("vocabulary_threshold= needs vocabulary=, the file with the frequencies")
    tokens = list(allowed) if allowed else _all_tokens(pairs, separator, suffix_is_symbol)
    ids = {token: number for number, token in enumerate(dict.fromkeys([UNKNOWN, *tokens]))}
    kinds = np.full(len(ids), KIND_NORMAL, np.uint8)
    kinds[0] = KIND_CONTROL
    return CharacterDescription(
        name=name or path.stem,
        source_format=source_format,
        source_digest=digest,
        reference="subword-nmt",
        words="spaces",
        vocabulary=ids,
        kinds=kinds,
        merges=pairs,
        unknown=0,
        suffix=SUFFIX,
        separator=separator,
        suffix_is_symbol=suffix_is_symbol,
        in_passes=True,
        allowed=frozenset(allowed) if allowed else None,
        decoder="separator-end",
        special_policy="plain",
    )


def parse_codes(
    path: Path, text: str, merges: int | None = None
) -> tuple[tuple[int, ...], tuple[tuple[str, str], ...], bool]:
    """Version, merges, and whether one is listed twice (then its first place counts).

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`read`.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    version: tuple[int, ...] = (0, 1)
    first = 1
    if text.startswith("#version:"):
        line, _, text = text.partition("\n")
        numbers = re.sub(r"(\.0+)*$", "", line.split()[-1])
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})*", numbers):
            raise SourceFormatError(f"{path}:1: expected a version such as '#version: 0.2', got {quote(line)}")
        version, first = tuple(map(int, numbers.split("."))), 2
        if version not in ((0, 1), (0, 2)):
            raise UnsupportedFeatureError(f"{path}:1: codes of version 0.1 and 0.2 are known, got {quote(line)}")
    lines = text.rstrip("\n").split("\n")[:merges]
    pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(lines, start=first):
        parts = line.strip("\r\n ").split(" ")
        if len(parts) != 2 or not all(parts):
            raise SourceFormatError(
                f"{path}:{number}: a merge is two symbols with one space between them, got {quote(line)}"
            )
        pairs[parts[0], parts[1]] = None
    return version, tuple(pairs), len(pairs) < len(lines)


def _allowed(path: Path, text: str, threshold: int | None) -> list[str]:
    tokens = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        parts = line.strip("\r\n ").split(" ")
        if len(parts) != 2 or not re.fullmatch("-?[0-9]{1,18}", parts[1]):
            raise SourceFormatError(f"{path}:{number}: expected a token and its frequency, got {quote(line)}")
        if threshold is None or int(parts[1]) >= threshold:
            tokens.append(parts[0])
    return tokens


def _all_tokens(pairs: tuple[tuple[str, str], ...], separator: str, suffix_is_symbol: bool) -> list[str]:
    """All tokens that codes can make of the characters in them: characters first, then products by rank."""
    tokens: dict[str, None] = {}
    for character in dict.fromkeys(c for pair in pairs for part in pair for c in part.removesuffix(SUFFIX)):
        tokens.update({f"{character}{separator}": None, character: None})
    for left, right in pairs:
        product = left + right
        if product.endswith(SUFFIX):
            tokens[product.removesuffix(SUFFIX)] = None
        else:
            tokens[f"{product}{separator}"] = None
            if suffix_is_symbol:
                tokens[product] = None
    return [token for token in tokens if token]


def _frequency(given: object) -> float | None:
    """A frequency as a number; None for what is none, or beyond any frequency."""
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, Real):
        return None
    with suppress(OverflowError):
        value = float(given)
        return None if isnan(value) else value
    return None


def describe_pairs(
    pairs: Mapping[str, float] | Mapping[tuple[str, str], float],
    *,
    end_of_word: str = "",
    unknown: str = UNKNOWN,
    name: str = "pairs",
) -> CharacterDescription:
    """Describe a vocabulary that is given by pairs and their frequencies.

    Parameters
    ----------
    pairs : Mapping of str or (str, str) to number
        ``"l o"`` or ``("l", "o")``: the pair with the highest frequency merges first, the leftmost among equals.
    end_of_word : str
        What the last character of a word has behind it in the pairs, such as ``"</w>"``.
    unknown : str
        Token of characters that are in no pair; its id is 0.
    name : str

    Returns
    -------
    CharacterDescription

    Raises
    ------
    SourceFormatError
        A key that is no pair, a pair twice, or a frequency that is no number.
    """
    if not isinstance(pairs, Mapping):
        raise TypeError(f"`pairs` must be a mapping of pairs to frequencies, got {shown(pairs)}")
    for argument, value in (("end_of_word", end_of_word), ("unknown", unknown), ("name", name)):
        string(argument, value)
    if not unknown:
        raise SourceFormatError("`unknown` is empty; name a token, such as '<unk>'")
    frequencies: dict[tuple[str, str], float] = {}
    items: list[tuple[Any, Any]] = list(pairs.items())
    for key, frequency in items:
        parts = key.split(" ") if isinstance(key, str) else list(key) if isinstance(key, tuple) else []
        if len(parts) != 2 or not all(isinstance(part, str) and part for part in parts):
            raise SourceFormatError(f"a pair is 'l o' or ('l', 'o'), got {shown(key)} in `pairs`")
        pair = (parts[0], parts[1])
        weight = _frequency(frequency)
        if weight is None:
            raise SourceFormatError(f"the frequency of {key!r} must be a number, got {shown(frequency)}")
        if pair in frequencies:
            raise SourceFormatError(f"the pair {key!r} is given twice")
        frequencies[pair] = weight
    ordered = sorted(frequencies, key=lambda pair: -frequencies[pair])
    levels = {value: rank for rank, value in enumerate(sorted(set(frequencies.values()), reverse=True))}
    tokens: dict[str, None] = {unknown: None}
    for text in (text for pair in ordered for text in pair):
        plain = text.removesuffix(end_of_word)
        for character in plain:
            tokens[character] = None
            if end_of_word:
                tokens[character + end_of_word] = None
    for left, right in ordered:
        tokens.update({left: None, right: None, left + right: None})
    if unknown in {part for pair in ordered for part in pair}:
        raise SourceFormatError(f"unknown={unknown!r} is part of a pair; name another token")
    kinds = np.full(len(tokens), KIND_NORMAL, np.uint8)
    kinds[0] = KIND_CONTROL
    stated = "".join(f"{left} {right} {frequencies[left, right]!r}\n" for left, right in ordered)
    return CharacterDescription(
        name=name,
        source_format="pairs",
        source_digest=hashlib.sha256(f"{end_of_word}\n{unknown}\n{stated}".encode()).hexdigest(),
        reference="pairs",
        words="white",
        vocabulary={token: number for number, token in enumerate(tokens)},
        kinds=kinds,
        merges=tuple(ordered),
        ranks=tuple(levels[frequencies[pair]] for pair in ordered),
        unknown=0,
        suffix=end_of_word,
        decoder="suffix" if end_of_word else "spaces",
        special_policy="plain",
    )
