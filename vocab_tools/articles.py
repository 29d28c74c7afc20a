"""The algorithms of the two articles by name: a vocabulary and a text in, ids and slices out.

"Byte Pair Encoding and Data Structures" (Becquin 2021) has four ways to merge, "A Rust SentencePiece implementation"
(Becquin 2020) two ways to find the best Unigram segmentation. They follow the articles, preparation of the text
included; :class:`numba_nlp.Tokenizer` gives the ids of sentencepiece, and is faster. ``docs/articles.md`` has times.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice, shown
from numba_nlp.errors import InvalidTextError
from numba_nlp.text_rows import TextRows
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary

__all__ = ["ALGORITHMS", "ArticleTokens", "article_tokens"]

#: Module and kernel of each algorithm that merges, and of each that looks for the best segmentation.
_MERGING = {
    "naive": ("bpe_naive", "tokenize_naive"),
    "naive_presplit": ("bpe_presplit", "tokenize_naive_presplit"),
    "priority_queue_bst": ("bpe_search_tree", "tokenize_priority_queue_bst"),
    "priority_queue_linked_list": ("bpe_linked_list", "tokenize_priority_queue_linked_list"),
}
_UNIGRAM = {"nested_loops": ("unigram", "nested_loops"), "trie": ("unigram", "trie")}
ALGORITHMS = (*_MERGING, *_UNIGRAM)
_UNKNOWN = 1
#: Vocabularies whose tables are kept.
_KEPT = 4


class ArticleTokens(NamedTuple):
    """Tokens of one text.

    Attributes
    ----------
    ids : int32[k]
    starts, ends : int64[k], int64[k]
        Bytes of the UTF-8 form of the text.
    slices : list of str
        The text between them.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    slices: list[str]


def article_tokens(vocabulary: Tokenizer | Vocabulary, text: str, algorithm: str) -> ArticleTokens:
    """Tokens of a text by one of the articles' algorithms.

    Parameters
    ----------
    vocabulary : Tokenizer or Vocabulary
        Of a SentencePiece ``.model``: of type bpe for the algorithms that merge, unigram for the two others.
    text : str
    algorithm : {"naive", "naive_presplit", "priority_queue_bst", "priority_queue_linked_list", "nested_loops", "trie"}

    Returns
    -------
    ArticleTokens

    Raises
    ------
    TypeError
        ``vocabulary`` or ``text`` is of another type.
    ValueError
        The algorithm is not known, or belongs to vocabularies of another kind.
    InvalidTextError
        The text is not valid Unicode.

    Notes
    -----
    The tables of the last four vocabularies are kept. Memory for the text is made anew in each call; to time the
    algorithms call their kernels, as ``asv_benchmarks/articles.py`` does.

    Examples
    --------
    >>> from vocab_tools.articles import article_tokens
    >>> article_tokens(tokenizer, "To be", "priority_queue_bst").slices  # doctest: +SKIP
    ['To', ' be']
    """
    choice("algorithm", algorithm, ALGORITHMS)
    given: Any = vocabulary
    made = given.vocabulary if isinstance(given, Tokenizer) else given
    if not isinstance(made, Vocabulary):
        raise TypeError(f"`vocabulary` must be a Tokenizer or a Vocabulary, got {shown(vocabulary)}")
    if not isinstance(text, str):
        raise TypeError(f"`text` must be a str, got {shown(text)}")
    wanted = "sentencepiece_bpe" if algorithm in _MERGING else "unigram"
    metadata = made.metadata
    if metadata["algorithm"] != wanted or "piece_ids" in made.arrays:
        kind = "bpe" if algorithm in _MERGING else "unigram"
        raise ValueError(
            f"{algorithm!r} is for vocabularies of a SentencePiece .model of type {kind}, and {metadata['name']!r} is "
            "none"
        )
    try:
        rows = TextRows.from_strings((text,))
    except InvalidTextError as error:
        # the way out that it names is an option of other functions
        raise InvalidTextError(f"`text`: {str(error).partition(';')[0]}", error.row, error.byte) from None
    data = rows.data[rows.starts[0] : rows.ends[0]].copy()
    ids, starts, ends = (_merged if algorithm in _MERGING else _best)(made, data, algorithm)
    encoded = data.tobytes()
    slices = [encoded[start:stop].decode() for start, stop in zip(starts.tolist(), ends.tolist(), strict=True)]
    return ArticleTokens(ids, starts, ends, slices)


def _kernel(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"numba_nlp.kernels.articles.{module}"), name)


def _pieces(vocabulary: Vocabulary) -> list[bytes]:
    content, offsets = vocabulary["piece_bytes"].tobytes(), vocabulary["piece_offsets"].tolist()
    return [content[start:stop] for start, stop in pairwise(offsets)]


@lru_cache(_KEPT)
def _merge_pieces(vocabulary: Vocabulary) -> Any:
    from numba_nlp.kernels.articles.merge_pieces import new_merge_pieces

    unknown = int(np.flatnonzero(vocabulary["piece_kinds"] == _UNKNOWN)[0])
    return new_merge_pieces(_pieces(vocabulary), unknown)


@lru_cache(_KEPT)
def _unigram_tables(vocabulary: Vocabulary) -> Any:
    from vocab_tools.compiler.article_unigram import article_tables

    return article_tables(_pieces(vocabulary), vocabulary["piece_scores"])


def _merged(
    vocabulary: Vocabulary, data: NDArray[np.uint8], algorithm: str
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    from numba_nlp.kernels.articles.merge_pieces import new_article_scratch

    room = data.size + 1
    ids, starts, ends = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
    tables, memory = _merge_pieces(vocabulary), new_article_scratch(data.size)
    n = int(_kernel(*_MERGING[algorithm])(tables, data, 0, data.size, memory, ids, starts, ends))
    return ids[:n].copy(), starts[:n].copy(), ends[:n].copy()


def _best(
    vocabulary: Vocabulary, data: NDArray[np.uint8], algorithm: str
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    from numba_nlp.kernels.articles.unigram import new_article_scratch, replace_spaces

    room = 3 * data.size + 1
    prepared, ids, ends = np.empty(room, np.uint8), np.empty(room, np.int32), np.empty(room, np.int64)
    n_bytes = int(replace_spaces(data, 0, data.size, prepared))
    tables, memory = _unigram_tables(vocabulary), new_article_scratch(room)
    n = int(_kernel(*_UNIGRAM[algorithm])(tables, prepared, 0, n_bytes, memory, ids, ends, 0))
    # a space became three bytes; tokens end between characters
    places = np.concatenate(([0], np.cumsum(np.where(data == 0x20, 3, 1))))
    token_ends = np.searchsorted(places, ends[:n]).astype(np.int64)
    starts = np.concatenate((np.zeros(min(n, 1), np.int64), token_ends[:-1]))
    return ids[:n].copy(), starts, token_ends
