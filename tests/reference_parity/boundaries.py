"""Makes the piece boundaries of the references visible.

tokenizers shows its pieces (``pre_tokenize_str``). tiktoken does not, so its boundaries are made visible by ranks: the
single bytes, every expected piece, and every concatenation of neighbouring pieces of one text. tiktoken looks a piece
up as a whole before it merges anything, so a text whose ids are those of the expected pieces, in order, was cut so: a
boundary of tiktoken's is always one between ids, hence an expected one; and where one more is expected, tiktoken's
piece is a concatenation, whose own id would have come out. Text left out by tiktoken would be missing among the ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import tiktoken
from tokenizers.pre_tokenizers import PreTokenizer

PiecesOf = Callable[[str], list[str]]


def check_tokenizers(pre_tokenizer: PreTokenizer, pieces_of: PiecesOf, texts: Iterable[str]) -> None:
    """Assert that ``pieces_of`` cuts as the pre-tokenizer."""
    for text in texts:
        expected = [text[start:end] for _, (start, end) in pre_tokenizer.pre_tokenize_str(text)]
        assert pieces_of(text) == expected, repr(text)


def check_tiktoken(regex: str, pieces_of: PiecesOf, texts: list[str]) -> None:
    """Assert that ``pieces_of`` cuts as tiktoken does by ``regex``."""
    ranks = {bytes([i]): i for i in range(256)}
    cut = [[piece.encode() for piece in pieces_of(text)] for text in texts]
    for parts in cut:
        for first in range(len(parts)):
            joined = b""
            for part in parts[first:]:
                joined += part
                ranks.setdefault(joined, len(ranks))
    encoding = tiktoken.Encoding("boundaries", pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    for text, parts in zip(texts, cut, strict=True):
        assert encoding.encode_ordinary(text) == [ranks[part] for part in parts], repr(text)
