"""Plain twin of ``numba_nlp/kernels/segment/bpe.py``: rows to pre-tokens, each merged by itself, without a cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numba_nlp.reference.segment import scan
from numba_nlp.reference.segment.merge import merge_bytes


def merge_piece(
    piece: bytes,
    merges: Mapping[tuple[int, int], tuple[int, int]],
    symbol_ids: Mapping[int, int] | Sequence[int],
    whole_pieces: Mapping[bytes, int],
) -> list[int]:
    """Ids of one pre-token.

    Parameters
    ----------
    piece : bytes
    merges : Mapping of (left, right) to (number, product)
        As for :func:`numba_nlp.reference.segment.merge.merge_bytes`.
    symbol_ids : Mapping or Sequence of int
        Symbol -> id.
    whole_pieces : Mapping of bytes to int
        Pre-tokens that give an id without merging; empty where the vocabulary does not do so.

    Returns
    -------
    list of int
    """
    if piece in whole_pieces:
        return [whole_pieces[piece]]
    return [symbol_ids[symbol] for symbol in merge_bytes(piece, merges)]


def encode_rows(
    pattern: str,
    class_index,
    class_blocks,
    merges: Mapping[tuple[int, int], tuple[int, int]],
    symbol_ids: Mapping[int, int] | Sequence[int],
    whole_pieces: Mapping[bytes, int],
    rows: Iterable[str | int],
) -> list[list[int]]:
    """Ids of rows of text, each pre-token by itself.

    Parameters
    ----------
    pattern : str
        Name of a pattern, or "whole" for rows that are one pre-token each.
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Character classes.
    merges, symbol_ids, whole_pieces
        As for :func:`merge_piece`.
    rows : iterable of str or int
        A text, or an id that stands for the row.

    Returns
    -------
    list of list of int
    """
    return [
        [row]
        if isinstance(row, int)
        else [
            token
            for piece in _pre_tokens(pattern, class_index, class_blocks, row)
            for token in merge_piece(piece.encode(), merges, symbol_ids, whole_pieces)
        ]
        for row in rows
    ]


def _pre_tokens(pattern: str, class_index, class_blocks, text: str) -> list[str]:
    if pattern == "whole":
        return [text] if text else []
    if pattern == "deepseek_v3":
        return scan.split_deepseek_v3(class_index, class_blocks, text)
    return scan.split(class_index, class_blocks, text, scan.ALTERNATIVES[pattern])
