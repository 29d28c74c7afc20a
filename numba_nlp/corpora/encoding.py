"""Ids of a batch of rows."""

from __future__ import annotations

from typing import Any

from numba_nlp.corpora.reading.pieces import Batch
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.tally import Tally
from numba_nlp.errors import SpecialTokenError
from numba_nlp.ragged import Ragged
from numba_nlp.tokenizer import Tokenizer

__all__ = ["encode_rows"]


def encode_rows(tok: Tokenizer, source: Source, batch: Batch, seen: Tally, *, special: Any, **keywords: Any) -> Ragged:
    """Ids of a batch, and what is in it counted.

    Raises
    ------
    SpecialTokenError
        With the name of the source.
    """
    seen.add_batch(batch)
    seen.specials.update(tok.special_texts(batch.rows))
    try:
        encoded = tok.encode_batch(batch.rows, special=special, nulls="null", **keywords)
    except SpecialTokenError as error:
        raise SpecialTokenError(f"{source.name}, rows counted from row {batch.first}: {error}") from error
    seen.tokens += encoded.n_values
    return encoded
