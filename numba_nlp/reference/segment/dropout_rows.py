"""Plain twin of ``numba_nlp/kernels/segment/dropout_rows.py``: one stream of random numbers a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from numba_nlp.reference.segment.dropout import Stream, join_with_dropout


def drop_row(
    words: Sequence[Sequence[int] | int],
    merges: Mapping[tuple[int, int], tuple[int, int]],
    id_of: Callable[[int], int],
    rule: int,
    probability: float,
    seed: int,
    row: int,
) -> list[int]:
    """Ids of a row of words, each of symbols, or of ids that are given."""
    stream = Stream(seed, row)
    found: list[int] = []
    for word in words:
        if isinstance(word, int):
            found.append(word)
        else:
            found += [id_of(symbol) for symbol in join_with_dropout(word, merges, rule, probability, stream)]
    return found
