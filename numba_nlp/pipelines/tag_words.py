"""Text of tokens and of entities, as transformers writes it in "word"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from numba_nlp.ragged import Ragged
from numba_nlp.tokenizer import Tokenizer

__all__ = ["decode_entities", "name_tokens", "unknown_id"]

_UNKNOWN_KIND = 1


def unknown_id(tokenizer: Tokenizer) -> int:
    """Id of what the vocabulary does not know, or -1."""
    metadata = tokenizer.vocabulary.metadata
    for found in (tokenizer.describe().get("unknown_id"), metadata.get("unknown_id"), metadata.get("unknown_token_id")):
        if found is not None and found >= 0:
            return int(found)
    unknown = np.flatnonzero(tokenizer.vocabulary["piece_kinds"] == _UNKNOWN_KIND)
    return int(unknown[0]) if unknown.size and metadata["algorithm"] != "wordpiece" else -1


def name_tokens(tokenizer: Tokenizer, ids: NDArray[np.int32], texts: Sequence[str]) -> list[str]:
    """Tokens as the vocabulary writes them; the text itself of what it does not know.

    Parameters
    ----------
    tokenizer : Tokenizer
    ids : int32[n]
    texts : sequence of str
        What each stands for.
    """
    unknown = unknown_id(tokenizer)
    names = {number: tokenizer.id_to_token(number) for number in np.unique(ids).tolist()}
    return [text if number == unknown else names[number] for number, text in zip(ids.tolist(), texts, strict=True)]


def decode_entities(tokenizer: Tokenizer, ids: Ragged, texts: Sequence[str]) -> list[str]:
    """Text that the tokens of each entity are decoded to; what the vocabulary does not know is there as it was.

    Parameters
    ----------
    tokenizer : Tokenizer
    ids : Ragged
        Tokens of entities.
    texts : sequence of str
        What each token stands for, one behind the other.
    """
    decoded = tokenizer.decode_batch(ids)
    unknown = unknown_id(tokenizer)
    is_unknown = ids.values == unknown
    if not is_unknown.any():
        return decoded  # type: ignore[return-value]  # no row is missing
    mark = tokenizer.decode([unknown])
    # WordPiece parts its tokens by spaces, of which a lone one shows nothing
    gap = tokenizer.decode([unknown, unknown])[len(mark) : -len(mark)]
    bounds = ids.offsets.tolist()
    words: list[str] = []
    for number, (first, last) in enumerate(pairwise(bounds)):
        places = (np.flatnonzero(is_unknown[first:last]) + first).tolist()
        if not places:
            words.append(decoded[number] or "")
            continue
        word = tokenizer.decode(ids.values[first : places[0]])
        for place, following in zip(places, [*places[1:], last], strict=True):
            # decoded behind the mark, so that it is decoded as what stands in the middle
            behind = tokenizer.decode(ids.values[place:following]).removeprefix(mark)
            word += (gap if place > first else "") + texts[place] + behind
        words.append(word)
    return words
