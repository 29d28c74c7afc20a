"""First and second texts of model inputs: given apart, or row by row as pairs."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

__all__ = ["check_lengths", "check_pairing", "split_pairs"]


def split_pairs(text: Any, text_pair: Any) -> tuple[Any, Any]:
    """First and second texts, which transformers also takes as one list of pairs.

    Parameters
    ----------
    text, text_pair
        As of :func:`numba_nlp.inputs.model_inputs`. Rows are pairs when the first one is a tuple or a list.

    Raises
    ------
    TypeError
        A row is no pair, or there are second texts besides.
    """
    if not isinstance(text, (list, tuple)) or not text or not isinstance(text[0], (list, tuple)):
        return text, text_pair
    if text_pair is not None:
        raise TypeError("`text` holds pairs, so `text_pair` must be left out")
    for row, pair in enumerate(text):
        if not isinstance(pair, (list, tuple)):
            raise TypeError(f"`text` holds pairs, but row {row} is {type(pair).__name__}; pass pairs in all rows")
        if len(pair) != 2:
            raise TypeError(
                f"`text` holds pairs, but row {row} has {len(pair)} items and not two texts; texts that are cut into "
                "words already are not taken"
            )
    return [first for first, _ in text], [second for _, second in text]


def check_pairing(text: Any, text_pair: Any, is_single: bool) -> None:
    """Refuse a single text beside many, and batches that are known to differ in length.

    Raises
    ------
    TypeError, ValueError
    """
    if text is None:
        raise TypeError("`text` is None; pass a text or a list of texts")
    if text_pair is None:
        return
    if isinstance(text_pair, (str, bytes)) != is_single:
        raise TypeError("`text` and `text_pair` must both be one text, or both hold many")
    # arrays of no dimension have no length; they are refused later, with their dimensions
    if not is_single and all(isinstance(rows, Sized) and getattr(rows, "ndim", 1) for rows in (text, text_pair)):
        check_lengths(len(text), len(text_pair))


def check_lengths(first: int, second: int) -> None:
    """Refuse first and second texts that are not as many.

    Raises
    ------
    ValueError
    """
    if first != second:
        raise ValueError(f"`text` has {first} rows and `text_pair` {second}; they must be as many")
