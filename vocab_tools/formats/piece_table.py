"""Checks that the readers share: ids of pieces, gaps, the 256 bytes, merge lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.byte_alphabet import bytes_of, first_foreign_character, written
from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.description import (
    KIND_ABSENT,
    KIND_BYTE,
    KIND_CONTROL,
    KIND_NORMAL,
    KIND_USER_DEFINED,
    MAX_IDS,
    AddedToken,
)
from vocab_tools.formats.reading import line_of

__all__ = ["PieceTable", "Place", "check_gaps", "check_ids", "check_parts", "lay_out", "merge_ids", "quote"]

_SHOWN = 5


class Place:
    """Where in a source something stands, for error messages.

    Parameters
    ----------
    path : object
        The file.
    text : str
        Its text, in which keys are looked up when an error is written.
    inside : str
        Path inside the file, as ``model.vocab``; may be empty.
    """

    def __init__(self, path: object, text: str, inside: str = "") -> None:
        self.path = path
        self.text = text
        self.inside = inside

    def of(self, key: str) -> str:
        """``file:line: inside:`` of a JSON key."""
        return f"{self.path}:{line_of(self.text, key)}: {self.whole}"

    @property
    def whole(self) -> str:
        """The part of the message that names the place inside the file."""
        return f"{self.inside}: " if self.inside else ""


def quote(piece: object) -> str:
    """Show a piece in a message, cut where it is long."""
    text = repr(piece)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


def check_ids(vocab: Any, place: Place) -> dict[str, int]:
    """Check that a parsed JSON value maps pieces to distinct ids.

    Raises
    ------
    SourceFormatError
        It is no object, is empty, or an id is no integer, negative, absurdly large or taken twice.
    """
    if not isinstance(vocab, dict) or not vocab:
        found = "an empty object" if vocab == {} else type(vocab).__name__
        raise SourceFormatError(f"{place.path}: {place.whole}expected an object of pieces and their ids, got {found}")
    holders: dict[int, str] = {}
    for piece, number in vocab.items():
        if type(number) is not int or not 0 <= number < MAX_IDS:
            raise SourceFormatError(
                f"{place.of(piece)}the id of {quote(piece)} must be an integer in [0, {MAX_IDS}), got {number!r}"
            )
        other = holders.setdefault(number, piece)
        if other is not piece:
            raise SourceFormatError(f"{place.of(piece)}{quote(piece)} and {quote(other)} have the same id {number}")
    return vocab


class PieceTable:
    """Pieces laid out by id; see :class:`~vocab_tools.formats.description.Description` for the three lists."""

    def __init__(self, n_ids: int) -> None:
        self.pieces: list[bytes | None] = [None] * n_ids
        self.decoded: list[bytes] = [b""] * n_ids
        self.kinds: NDArray[np.uint8] = np.full(n_ids, KIND_ABSENT, dtype=np.uint8)


def lay_out(
    vocab: Mapping[str, int], added: Iterable[AddedToken], place: Place, *, allow_gaps: bool, strict: bool
) -> PieceTable:
    """Lay pieces written in the byte alphabet, and added tokens, out by id.

    Parameters
    ----------
    vocab : Mapping of str to int
        Checked by :func:`check_ids`.
    added : iterable of AddedToken
        Those within ``vocab`` have its ids.
    place : Place
    allow_gaps : bool
        Accept ids that nothing has.
    strict : bool
        A piece with characters outside the byte alphabet is an error unless it is an added token; else it is kept as
        a piece that no text can reach.

    Raises
    ------
    SourceFormatError
        Characters outside the alphabet (``strict``), a byte without a piece, gaps.
    """
    added = list(added)
    added_contents = {token.content for token in added}
    table = PieceTable(1 + max([*vocab.values(), *(token.id for token in added)]))
    for text, number in vocab.items():
        piece = bytes_of(text)
        if strict and not piece and text not in added_contents:
            if text == "":
                raise SourceFormatError(f"{place.of(text)}id {number} is the empty piece, which no text can be")
            character = first_foreign_character(text)
            raise SourceFormatError(
                f"{place.of(text)}{quote(text)} (id {number}) holds {character!r}, which is outside the byte alphabet "
                f"of GPT-2 style files ({written(b' ')!r} stands for a space); is this a byte-level vocabulary?"
            )
        table.pieces[number] = piece or None
        table.decoded[number] = text.encode() if piece is None else piece
        table.kinds[number] = KIND_BYTE if piece is not None and len(piece) == 1 else KIND_NORMAL
    for token in added:
        piece = bytes_of(token.content)
        table.decoded[token.id] = token.content.encode() if piece is None else piece
        table.kinds[token.id] = KIND_CONTROL if token.special else KIND_USER_DEFINED
    _check_bytes(vocab, place)
    check_gaps(table.kinds, place, allow_gaps)
    return table


def _check_bytes(vocab: Mapping[str, int], place: Place) -> None:
    missing = [byte for byte in range(256) if written(bytes([byte])) not in vocab]
    if missing:
        shown = ", ".join(f"0x{byte:02x} ({written(bytes([byte]))!r})" for byte in missing[:_SHOWN])
        raise SourceFormatError(
            f"{place.path}: {place.whole}{len(missing)} of the 256 bytes have no piece: {shown}"
            f"{', ...' if len(missing) > _SHOWN else ''}; a byte-level vocabulary needs every byte, so that any text "
            "can be encoded (train with the full byte alphabet)"
        )


def check_gaps(kinds: NDArray[np.uint8], place: Place, allow_gaps: bool) -> None:
    """Check that every id belongs to something.

    Raises
    ------
    SourceFormatError
    """
    gaps = np.flatnonzero(kinds == KIND_ABSENT)
    if gaps.size and not allow_gaps:
        shown = ", ".join(map(str, gaps[:_SHOWN]))
        raise SourceFormatError(
            f"{place.path}: {place.whole}{gaps.size} of the ids below {kinds.size} belong to no piece: {shown}"
            f"{', ...' if gaps.size > _SHOWN else ''}; if that is meant, pass allow_gaps=True"
        )


def merge_ids(
    merges: Sequence[tuple[str, str]], vocab: Mapping[str, int], where: Sequence[str] | None, place: Place
) -> NDArray[np.int32]:
    """Ids of the left part, the right part and the product of every merge.

    Parameters
    ----------
    merges : sequence of (str, str)
        In order of rank, in the byte alphabet.
    vocab : Mapping of str to int
    where : sequence of str, optional
        Place of each merge for messages; by default its position within ``place``.
    place : Place

    Raises
    ------
    SourceFormatError
        A part or the product has no id, characters outside the byte alphabet, or a merge listed twice.
    """
    ids: list[int] = []
    seen: dict[tuple[str, str], int] = {}

    def at(number: int) -> str:
        return where[number] if where is not None else f"{place.path}: {place.inside}[{number}]:"

    for number, (left, right) in enumerate(merges):
        product = left + right
        try:
            ids += (vocab[left], vocab[right], vocab[product])
        except KeyError as error:
            missing = error.args[0]
            role = "left part" if missing == left else "right part" if missing == right else "product"
            raise SourceFormatError(
                f"{at(number)} the {role} {quote(missing)} of the merge {quote(f'{left} {right}')} is no piece of the "
                "vocabulary; do the two belong together?"
            ) from None
        first = seen.setdefault((left, right), number)
        if first != number:
            raise SourceFormatError(
                f"{at(number)} the merge {quote(f'{left} {right}')} is already listed ({at(first).rstrip(':')})"
            )
        if bytes_of(product) is None:
            raise SourceFormatError(
                f"{at(number)} the merge {quote(f'{left} {right}')} holds {first_foreign_character(product)!r}, which "
                "is outside the byte alphabet"
            )
    return np.array(ids, dtype=np.int32).reshape(-1, 3)


def check_parts(
    merges: Iterable[tuple[str, str]], vocab: Mapping[str, int], at: Callable[[int], str], *, prefix: str = ""
) -> None:
    """Check that both parts and the product of every merge of character BPE are pieces.

    Parameters
    ----------
    merges : iterable of (str, str)
    vocab : Mapping of str to int
    at : callable
        Place of a merge for messages, by its number.
    prefix : str
        What pieces that go on within a word begin with; a product has that of its left part alone.

    Raises
    ------
    SourceFormatError
    """
    for number, (left, right) in enumerate(merges):
        product = left + right[len(prefix) :]
        for role, part in (("left part", left), ("right part", right), ("product", product)):
            if part not in vocab:
                raise SourceFormatError(
                    f"{at(number)} the merge {quote(f'{left} {right}')} needs {quote(part)}, its {role}, which is no "
                    "piece of the vocabulary; do the two belong together? If they do, add it to the vocabulary"
                )
