"""Reader of fastBPE's codes (``fast learnbpe``): on each line two symbols and how often their pair was seen.

What the codes do is what those of subword-nmt, version 0.2, do: words are what spaces part, the last symbol of a word
has ``</w>`` behind it, all places of the best pair merge at once. fastBPE has no option for the mark ``@@`` of a token
that its word goes on behind. The counts play no part in encoding. Source: fastBPE 0.1.0, ``fastBPE.hpp``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.piece_table import quote
from vocab_tools.formats.reading import read_text
from vocab_tools.formats.subword_codes import describe_codes

__all__ = ["SEPARATOR", "Codes", "parse_fastbpe", "read"]

#: Behind a token that its word goes on behind; fixed in fastBPE.
SEPARATOR = "@@"
_COUNT = re.compile(r"-?[0-9]{1,19}")


class Codes(NamedTuple):
    """Merges in order of rank, and how often each pair was seen."""

    merges: tuple[tuple[str, str], ...]
    counts: tuple[int, ...]


def parse_fastbpe(path: Path, text: str) -> Codes:
    """Parse codes.

    Raises
    ------
    SourceFormatError
        A line of another form, or a merge that is listed twice, as fastBPE refuses it.
    """
    merges: dict[tuple[str, str], int] = {}
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        parts = line.split(" ")
        if len(parts) != 3 or not all(parts) or not _COUNT.fullmatch(parts[2]):
            raise SourceFormatError(
                f"{path}:{number}: expected two symbols and the frequency of their pair, one space between them, got "
                f"{quote(line)}; codes of subword-nmt have no frequencies"
            )
        if (parts[0], parts[1]) in merges:
            raise SourceFormatError(f"{path}:{number}: the merge {quote(f'{parts[0]} {parts[1]}')} is listed twice")
        merges[parts[0], parts[1]] = int(parts[2])
    return Codes(tuple(merges), tuple(merges.values()))


def read(
    path: str | Path,
    *,
    merges: int | None = None,
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
    vocabulary : str or Path, optional
        File of tokens and their frequencies (``fast getvocab``): merges that make tokens which are not in it are
        taken back.
    vocabulary_threshold : int, optional
        Tokens that come less often count as not in it; fastBPE itself has no such option.
    name : str, optional
        By default the file's stem.

    Returns
    -------
    CharacterDescription

    Raises
    ------
    SourceFormatError
        A file breaks its format.
    """
    path = Path(path)
    if merges is not None and merges < 0:
        raise SourceFormatError(f"merges={merges} must not be negative; leave it out for all of them")
    text, digest = read_text(path)
    return describe_codes(
        path,
        parse_fastbpe(path, text).merges[:merges],
        digest,
        "fastbpe",
        separator=SEPARATOR,
        vocabulary=vocabulary,
        vocabulary_threshold=vocabulary_threshold,
        name=name,
    )
