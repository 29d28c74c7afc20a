"""Numbers behind the figures that count: lengths of pieces, frequencies by rank, fertility of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.tokenizer import Tokenizer
from vocab_tools.comparing.pieces import piece_texts
from vocab_tools.corpus import Corpus, blocks

__all__ = ["Fertility", "Lengths", "RankFrequency", "fertility_of", "lengths_of", "rank_frequency_of"]


class Lengths(NamedTuple):
    """How many pieces have each length.

    Attributes
    ----------
    unit : {"character", "byte"}
    counts : int64[longest + 1]
        By length, from 0.
    """

    unit: str
    counts: NDArray[np.int64]


class RankFrequency(NamedTuple):
    """Ids that occur in a corpus.

    Attributes
    ----------
    ids : int32[k]
        The most frequent first, lower ids first among equals.
    counts : int64[k]
    """

    ids: NDArray[np.int32]
    counts: NDArray[np.int64]


class Fertility(NamedTuple):
    """Tokens of texts, by text and vocabulary.

    Attributes
    ----------
    labels : tuple of str
        Of the texts.
    names : tuple of str
        Of the vocabularies.
    per_word, per_byte : float64[texts, vocabularies]
        Tokens per word (what white space parts) and per byte of UTF-8; NaN for a text without any.
    """

    labels: tuple[str, ...]
    names: tuple[str, ...]
    per_word: NDArray[np.float64]
    per_byte: NDArray[np.float64]


def lengths_of(tokenizer: Tokenizer, unit: str = "character") -> Lengths:
    """Lengths of the texts of all pieces (:func:`vocab_tools.comparing.pieces.piece_texts`).

    Parameters
    ----------
    tokenizer : Tokenizer
    unit : {"character", "byte"}
        Pieces that are no whole characters count as one character for each that begins in them, and one at least.

    Raises
    ------
    ValueError
        Another unit.
    """
    if unit not in ("character", "byte"):
        raise ValueError(f"`unit` must be 'character' or 'byte', got {unit!r}")
    texts = piece_texts(tokenizer).values()
    if unit == "byte":
        lengths = [len(text) for text in texts]
    else:
        lengths = [max(1, sum(byte & 0xC0 != 0x80 for byte in text)) for text in texts]
    return Lengths(unit, np.bincount(np.array(lengths, np.int64), minlength=1))


def rank_frequency_of(tokenizer: Tokenizer, corpus: Corpus, num_threads: int | None = None) -> RankFrequency:
    """Frequencies of ids in a corpus, whose special tokens are taken as plain text."""
    counts: NDArray[np.int64] = np.zeros(tokenizer.vocab_size, np.int64)
    for rows in blocks(corpus):
        ids = tokenizer.encode_batch(rows, special="plain", num_threads=num_threads).values
        counts += np.bincount(ids, minlength=counts.size)
    order = np.argsort(-counts, kind="stable")
    order = order[: np.count_nonzero(counts)]
    return RankFrequency(order.astype(np.int32), counts[order])


def fertility_of(
    tokenizers: Mapping[str, Tokenizer], corpora: Mapping[str, Corpus], num_threads: int | None = None
) -> Fertility:
    """Fertility of vocabularies on texts, such as one text in many languages.

    Parameters
    ----------
    tokenizers : Mapping of str to Tokenizer
        By the name that the figure shows.
    corpora : Mapping of str to corpus
        By label.
    num_threads : int, optional
    """
    tokens = np.zeros((len(corpora), len(tokenizers)), np.int64)
    words, n_bytes = np.zeros((len(corpora), 1), np.int64), np.zeros((len(corpora), 1), np.int64)
    for i, corpus in enumerate(corpora.values()):
        for rows in blocks(corpus):
            words[i] += sum(len(text.split()) for text in rows if text)
            n_bytes[i] += int((rows.ends - rows.starts).sum())
            for j, tokenizer in enumerate(tokenizers.values()):
                tokens[i, j] += tokenizer.encode_batch(rows, special="plain", num_threads=num_threads).values.size
    with np.errstate(invalid="ignore"):
        return Fertility(tuple(corpora), tuple(tokenizers), tokens / words, tokens / n_bytes)
