"""Reader of ``.tiktoken`` rank files: on each line a piece in base64 and its rank, which is its id.

Such a file holds neither the pre-token pattern nor the special tokens. Known files are recognised by their digest;
for all others both are given by the caller.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from numba_nlp.errors import SourceFormatError
from vocab_tools.compiler.patterns import PatternChoice, choose_pattern, pattern_names
from vocab_tools.formats.description import (
    KIND_ABSENT,
    KIND_BYTE,
    KIND_CONTROL,
    KIND_NORMAL,
    MAX_IDS,
    AddedToken,
    Description,
)
from vocab_tools.formats.known_encodings import KNOWN_ENCODINGS, KnownEncoding
from vocab_tools.formats.piece_table import quote
from vocab_tools.formats.reading import read_source

__all__ = ["read"]

_SHOWN = 5


def read(
    path: str | Path,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    allow_gaps: bool = False,
) -> Description:
    """Read a ``.tiktoken`` rank file.

    Parameters
    ----------
    path : str or Path
    pattern : str, optional
        Name of a pattern, or a regular expression; known files need none.
    special_tokens : Mapping of str to int, optional
        Special tokens and their ids; by default those of the known file, none for others.
    name : str, optional
        Name of the vocabulary; by default that of the known file, else the file's stem.
    allow_gaps : bool
        Accept ids below the largest rank that neither a piece nor a special token has.

    Returns
    -------
    Description

    Raises
    ------
    SourceFormatError
        The file breaks its format (the message has the line), or the pattern must be given.
    """
    path = Path(path)
    content = read_source(path)
    digest = hashlib.sha256(content).hexdigest()
    known = KNOWN_ENCODINGS.get(digest)
    choice = _choose_pattern(path, known, pattern)
    ranks = _parse(path, content)
    if special_tokens is None:
        special_tokens = known.special_tokens if known is not None else {}
    added = _check_special_tokens(path, ranks, special_tokens)

    n_ids = 1 + max([*ranks.values(), *(token.id for token in added)])
    pieces: list[bytes | None] = [None] * n_ids
    decoded = [b""] * n_ids
    kinds = np.full(n_ids, KIND_ABSENT, dtype=np.uint8)
    for piece, rank in ranks.items():
        pieces[rank] = decoded[rank] = piece
        kinds[rank] = KIND_BYTE if len(piece) == 1 else KIND_NORMAL
    for token in added:
        decoded[token.id] = token.content.encode()
        kinds[token.id] = KIND_CONTROL
    # Past the ranks tiktoken's own encodings leave ids unused; a hole between ranks is a damaged file.
    gaps = np.flatnonzero(kinds[: 1 + max(ranks.values())] == KIND_ABSENT)
    if gaps.size and not allow_gaps:
        shown = ", ".join(map(str, gaps[:_SHOWN]))
        raise SourceFormatError(
            f"{path}: {gaps.size} ranks are missing: {shown}{', ...' if gaps.size > _SHOWN else ''}; if special tokens "
            "have them, pass special_tokens={text: id}; if nothing has, pass allow_gaps=True"
        )
    return Description(
        name=name or (known.name if known is not None else path.stem),
        source_format="tiktoken",
        source_digest=digest,
        reference="tiktoken",
        pieces=pieces,
        decoded=decoded,
        kinds=kinds,
        merges=None,
        added_tokens=added,
        pattern=choice.name,
        pattern_regex=choice.regex,
        special_policy="raise",
    )


def _choose_pattern(path: Path, known: KnownEncoding | None, pattern: str | None) -> PatternChoice:
    if pattern is None:
        if known is None:
            raise SourceFormatError(
                f"{path}: not a rank file whose pattern is known, and the file does not hold it; pass pattern= with "
                f"one of {', '.join(pattern_names())}, or a regular expression (and special_tokens={{text: id}})"
            )
        pattern = known.pattern
    elif pattern.isidentifier() and pattern not in pattern_names():
        # As a regular expression a bare word would match that word only: a mistyped name.
        raise SourceFormatError(
            f"pattern={pattern!r} is not known; pass one of {', '.join(pattern_names())}, or a regular expression"
        )
    return choose_pattern(pattern, "tiktoken")


def _parse(path: Path, content: bytes) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    lines_of: dict[int, int] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line:
            continue
        parts = line.split()
        if len(parts) != 2:
            raise SourceFormatError(
                f"{path}:{number}: expected a piece in base64, a space and its rank, got "
                f"{quote(line.decode('utf-8', 'backslashreplace'))}"
            )
        try:
            piece = base64.b64decode(parts[0], validate=True)
        except (binascii.Error, ValueError) as error:
            raise SourceFormatError(
                f"{path}:{number}: {quote(parts[0].decode('utf-8', 'backslashreplace'))} is not base64: {error}"
            ) from error
        if not parts[1].isdigit() or len(parts[1]) > 9 or int(parts[1]) >= MAX_IDS:
            raise SourceFormatError(
                f"{path}:{number}: the rank must be an integer in [0, {MAX_IDS}), got "
                f"{quote(parts[1].decode('utf-8', 'backslashreplace'))}"
            )
        rank = int(parts[1])
        if not piece:
            raise SourceFormatError(f"{path}:{number}: the piece of rank {rank} is empty, which no text can be")
        first = lines_of.setdefault(rank, number)
        if first != number:
            raise SourceFormatError(f"{path}:{number}: rank {rank} already stands on line {first}")
        other = ranks.setdefault(piece, rank)
        if other != rank:
            raise SourceFormatError(
                f"{path}:{number}: the piece {quote(piece)} already stands on line {lines_of[other]} with rank {other}"
            )
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        shown = ", ".join(f"0x{byte:02x}" for byte in missing[:_SHOWN]) + (", ..." if len(missing) > _SHOWN else "")
        raise SourceFormatError(
            f"{path}: {len(missing)} of the 256 bytes have no piece: {shown}; is the file complete, and a rank file?"
        )
    return ranks


def _check_special_tokens(
    path: Path, ranks: Mapping[bytes, int], special_tokens: Mapping[str, int]
) -> tuple[AddedToken, ...]:
    holders: dict[int, object] = {rank: piece for piece, rank in ranks.items()} if special_tokens else {}
    added = []
    for content, number in special_tokens.items():
        if not content:
            raise SourceFormatError(f"{path}: special_tokens holds an empty text, which would match everywhere")
        if type(number) is not int or not 0 <= number < MAX_IDS:
            raise SourceFormatError(
                f"{path}: the id of the special token {content!r} must be an integer in [0, {MAX_IDS}), got {number!r}"
            )
        other = holders.setdefault(number, content)
        if other is not content:
            raise SourceFormatError(
                f"{path}: the special token {content!r} has the id {number}, which is already that of {quote(other)}"
            )
        added.append(AddedToken(content, number))
    return tuple(added)
