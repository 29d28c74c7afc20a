"""Unigram models asked for other segmentations than the best one, and for pieces: methods of a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp import unigram_sampling
from numba_nlp._arguments import whole
from numba_nlp._decoders.ids import checked_ids
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.unigram_sampling import MAX_NBEST, checked_draw

if TYPE_CHECKING:
    from numba_nlp.tokenizer import Tokenizer

__all__ = ["common_prefix_search", "nbest", "sample", "score"]

#: Algorithms whose vocabularies have a double array of whole pieces, which text is compared with.
_WITH_TRIES = ("unigram", "sentencepiece_word", "sentencepiece_char", "sentencepiece_bpe", "staged_unigram")


def nbest(
    tokenizer: Tokenizer, text: str | bytes, n: int, *, errors: Literal["strict", "replace"] = "strict"
) -> list[tuple[NDArray[np.int32], float]]:
    """The best ways to cut a text into pieces, best first: sentencepiece's ``nbest_encode``, with scores.

    Parameters
    ----------
    text : str or bytes
    n : int
        1 to 512. For 1 the result is that of :meth:`~numba_nlp.tokenizer.Tokenizer.encode`, with the score 0, as
        sentencepiece has it.
    errors : {"strict", "replace"}
        As in :meth:`~numba_nlp.tokenizer.Tokenizer.encode`.

    Returns
    -------
    list of (int32[k], float)
        Ids and score; fewer than ``n`` when there are no more, or when the search would be too long.

    Raises
    ------
    UnsupportedFeatureError
        The vocabulary is no Unigram model.
    InvalidTextError, SpecialTokenError, TypeError, ValueError

    Notes
    -----
    Of a ``tokenizer.json`` or a checkpoint folder each piece that its pre-tokenizer leaves is cut by itself, and
    special tokens in the text are their ids, as in encoding. Scores are added up in single precision. Where no entry
    of the vocabulary reaches over two such pieces (T5, XLNet, ALBERT, XLM-R), this is the list that sentencepiece
    gives for the ``.model``.
    """
    n = whole("n", n, 1, MAX_NBEST)
    return tokenizer._encoder.nbest(tokenizer._one_row(text, errors), n)


def sample(
    tokenizer: Tokenizer,
    text: str | bytes,
    *,
    alpha: float = 0.1,
    nbest_size: int = -1,
    seed: int = 0,
    stream: int = 0,
    n_samples: int = 1,
    errors: Literal["strict", "replace"] = "strict",
) -> list[tuple[NDArray[np.int32], float]]:
    """Random ways to cut a text into pieces (subword regularisation), each as likely as its score says.

    For BPE, which has no scores, pass ``dropout=`` to :meth:`~numba_nlp.tokenizer.Tokenizer.encode`.

    Parameters
    ----------
    text : str or bytes
    alpha : float, default 0.1
        Probabilities are proportional to ``exp(alpha * score)``: 0 makes all alike, a large number the best one
        certain.
    nbest_size : int, default -1
        Choose among that many best ones; negative: among all; 0 or 1: the best one always.
    seed, stream : int
        The result depends on these and the arguments only; give the rows of a batch their number as ``stream``.
    n_samples : int
    errors : {"strict", "replace"}
        As in :meth:`~numba_nlp.tokenizer.Tokenizer.encode`.

    Returns
    -------
    list of (int32[k], float)
        ``n_samples`` times ids and score.

    Raises
    ------
    UnsupportedFeatureError, InvalidTextError, TypeError, ValueError
        As :func:`nbest`.
    """
    draw = checked_draw(alpha, nbest_size, n_samples, seed, stream)
    return tokenizer._encoder.sample(tokenizer._one_row(text, errors), draw)


def score(
    tokenizer: Tokenizer, text: str | bytes, ids: ArrayLike, *, errors: Literal["strict", "replace"] = "strict"
) -> float:
    """Score of one way to cut a text into pieces, as :func:`nbest` has it: the logarithm of a probability.

    Parameters
    ----------
    text : str or bytes
    ids : array_like of int
    errors : {"strict", "replace"}
        As in :meth:`~numba_nlp.tokenizer.Tokenizer.encode`.

    Raises
    ------
    UnknownTokenError
        The ids are not those of pieces that spell the normalised text.
    UnsupportedFeatureError, InvalidTextError, TypeError
        As :func:`nbest`.
    """
    given = checked_ids(tokenizer._vocabulary, ids, None)
    return tokenizer._encoder.score(tokenizer._one_row(text, errors), given)


def common_prefix_search(tokenizer: Tokenizer, text: str | bytes) -> list[tuple[int, str]]:
    """Every piece of the model that a text begins with, shortest first: ids and tokens.

    Parameters
    ----------
    text : str or bytes
        As the pieces are written: normalised, with U+2581 for a space.

    Raises
    ------
    UnsupportedFeatureError
        The model is no SentencePiece model and no Unigram model, and keeps no trie of whole pieces.
    TypeError, ValueError

    Examples
    --------
    >>> tok.common_prefix_search("▁internationally")  # doctest: +SKIP
    [(17, '▁'), (25, '▁in'), (4837, '▁inter'), (296, '▁international')]
    """
    arrays = tokenizer._vocabulary.arrays
    if tokenizer._vocabulary.metadata["algorithm"] not in _WITH_TRIES:
        raise UnsupportedFeatureError(
            "pieces are looked up by prefixes in SentencePiece and Unigram models, and this is "
            f"{tokenizer._encoder.kind}"
        )
    _, found = unigram_sampling.common_prefix_search(arrays["trie_units"], text)
    ids = arrays["piece_ids"][found] if "piece_ids" in arrays else found
    return [(number, tokenizer.id_to_token(number)) for number in ids.tolist()]
