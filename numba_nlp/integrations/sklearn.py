"""scikit-learn: texts to counts of tokens, or to ids of fixed width, with the vocabulary of a tokenizer.

Nothing is learnt from the texts, so both transformers work without ``fit``. A path is loaded by ``fit`` once, without
it by each call.
"""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from numba_nlp._arguments import choice, flag, shown
from numba_nlp.errors import UnknownTokenError
from numba_nlp.loading import load_tokenizer
from numba_nlp.tokenizer import Special, Tokenizer

__all__ = ["EncodeTransformer", "TokenCountVectorizer"]

Source: TypeAlias = Tokenizer | str | os.PathLike[str] | None


class _TextTransformer(TransformerMixin, BaseEstimator):
    """What both share: where the tokenizer comes from, and what scikit-learn is told of the input."""

    tokenizer: Source

    def fit(self, X: Any, y: Any = None) -> Any:
        """Load the tokenizer; the texts are not looked at.

        Parameters
        ----------
        X : iterable of str
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            The tokenizer is missing, or neither a Tokenizer nor a path.
        OSError, SourceFormatError, VocabularyFormatError, UnsupportedFeatureError
            As of :func:`numba_nlp.load_tokenizer`.
        """
        _check_texts(X)
        self.tokenizer_ = self._load()
        return self

    def _load(self) -> Tokenizer:
        source = self.tokenizer
        if isinstance(source, Tokenizer):
            return source
        if source is None:
            raise ValueError("`tokenizer` is missing: pass a Tokenizer, or the path of what load_tokenizer takes")
        if not isinstance(source, (str, os.PathLike)):
            raise TypeError(f"`tokenizer` must be a Tokenizer or a path, got {shown(source)}")
        return load_tokenizer(source)

    def _loaded(self) -> Tokenizer:
        found = getattr(self, "tokenizer_", None)
        return self._load() if found is None else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        tags.no_validation = True
        return tags


class TokenCountVectorizer(_TextTransformer):
    """How often each token stands in each text, as a sparse matrix with a column an id.

    As ``CountVectorizer`` with a vocabulary that is given, and tokens that need no regular expression.

    Parameters
    ----------
    tokenizer : Tokenizer or path-like
        The vocabulary; a path is anything that :func:`numba_nlp.load_tokenizer` takes.
    binary : bool, default False
        1 for every token that is there, however often.
    add_special_tokens : bool, default False
    special : {"raise", "match", "plain"} or collection of str, default "plain"
    errors : {"strict", "replace"}
    nulls : {"error", "empty"}
        As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`; a missing text counts nothing with ``"empty"``.
    dtype : numeric dtype, default int64
        Of the counts.
    num_threads : int, optional

    Attributes
    ----------
    tokenizer_ : Tokenizer
        What ``fit`` loaded.

    Examples
    --------
    >>> from numba_nlp.integrations.sklearn import TokenCountVectorizer
    >>> counts = TokenCountVectorizer("gpt2.safetensors").fit_transform(["To be, or not to be"])  # doctest: +SKIP
    >>> counts.shape, int(counts[0, 307])  # doctest: +SKIP
    ((1, 50257), 2)
    """

    def __init__(
        self,
        tokenizer: Source = None,
        *,
        binary: bool = False,
        add_special_tokens: bool = False,
        special: Special = "plain",
        errors: Literal["strict", "replace"] = "strict",
        nulls: Literal["error", "empty"] = "error",
        dtype: DTypeLike = np.int64,
        num_threads: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.binary = binary
        self.add_special_tokens = add_special_tokens
        self.special = special
        self.errors = errors
        self.nulls = nulls
        self.dtype = dtype
        self.num_threads = num_threads

    def transform(self, X: Any) -> Any:
        """Counts of texts.

        Parameters
        ----------
        X : iterable of str, array, Series, or TextRows

        Returns
        -------
        scipy.sparse.csr_matrix[texts, vocab_size]
            Columns of a row in order, each once.

        Raises
        ------
        InvalidTextError, MissingRowError, SpecialTokenError, TypeError, ValueError
            As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`.
        """
        from scipy.sparse import csr_matrix

        _check_texts(X)
        # a missing row has no counts, and is none of zeros
        choice("nulls", self.nulls, ("error", "empty"))
        tokenizer = self._loaded()
        encoded = tokenizer.encode_batch(
            X, add_special_tokens=self.add_special_tokens, special=self.special, errors=self.errors, nulls=self.nulls,
            num_threads=self.num_threads,
        )  # fmt: skip
        shape = len(encoded), tokenizer.vocab_size
        # of their own: both are changed in place
        ids, offsets = encoded.values.copy(), encoded.offsets.copy()
        counts = csr_matrix((np.ones(ids.size, self.dtype), ids, offsets), shape)
        counts.sum_duplicates()
        if flag("binary", self.binary):
            counts.data.fill(1)
        return counts

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Token of each column, as :meth:`~numba_nlp.tokenizer.Tokenizer.id_to_token` writes it.

        An id that stands for no token is written ``<id 123>``.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects [vocab_size]
        """
        tokenizer = self._loaded()
        return np.array([_token_name(tokenizer, one) for one in range(tokenizer.vocab_size)], dtype=object)


class EncodeTransformer(_TextTransformer):
    """Ids of texts as a matrix of fixed width: long texts are cut, short ones filled.

    Parameters
    ----------
    tokenizer : Tokenizer or path-like
    length : int, default 128
        Columns.
    dtype : {int32, int64}
    add_special_tokens : bool, default True
    padding_side, truncation_side : {"right", "left"}, optional
    pad_token : str, optional
    pad_id : int, optional
        As of :func:`numba_nlp.encode_padded`; one of the two for a vocabulary without a padding token.
    special : {"raise", "match", "plain"} or collection of str, default "plain"
    errors : {"strict", "replace"}
    nulls : {"error", "empty"}
    num_threads : int, optional

    Attributes
    ----------
    tokenizer_ : Tokenizer
        What ``fit`` loaded.
    """

    def __init__(
        self,
        tokenizer: Source = None,
        *,
        length: int = 128,
        dtype: DTypeLike = np.int32,
        add_special_tokens: bool = True,
        padding_side: Literal["right", "left"] | None = None,
        truncation_side: Literal["right", "left"] | None = None,
        pad_token: str | None = None,
        pad_id: int | None = None,
        special: Special = "plain",
        errors: Literal["strict", "replace"] = "strict",
        nulls: Literal["error", "empty"] = "error",
        num_threads: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.length = length
        self.dtype = dtype
        self.add_special_tokens = add_special_tokens
        self.padding_side = padding_side
        self.truncation_side = truncation_side
        self.pad_token = pad_token
        self.pad_id = pad_id
        self.special = special
        self.errors = errors
        self.nulls = nulls
        self.num_threads = num_threads

    def transform(self, X: Any) -> NDArray[Any]:
        """Ids of texts.

        Parameters
        ----------
        X : iterable of str, array, Series, or TextRows

        Returns
        -------
        dtype[texts, length]

        Raises
        ------
        InvalidTextError, MissingRowError, SpecialTokenError, TypeError, ValueError
            As of :func:`numba_nlp.encode_padded`.
        """
        _check_texts(X)
        ids, _ = self._loaded().encode_padded(
            X, self.length, dtype=self.dtype, add_special_tokens=self.add_special_tokens,
            padding_side=self.padding_side, truncation_side=self.truncation_side, pad_token=self.pad_token,
            pad_id=self.pad_id, special=self.special, errors=self.errors, nulls=self.nulls,
            num_threads=self.num_threads,
        )  # fmt: skip
        return ids

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns: ``token0`` and so on.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects [length]
        """
        return np.array([f"token{place}" for place in range(self.length)], dtype=object)


def _check_texts(texts: Any) -> None:
    """Refuse one text, and tables, with what helps; rows are looked at when they are encoded.

    Raises
    ------
    ValueError
    """
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"expected many texts, got one {type(texts).__name__}; pass [text]")
    if getattr(texts, "ndim", 1) != 1:
        raise ValueError(
            f"expected a one-dimensional column of texts, got {type(texts).__name__} of shape {shown(texts.shape)}; "
            "name the column alone, in a ColumnTransformer as 'text' instead of ['text']"
        )


def _token_name(tokenizer: Tokenizer, token_id: int) -> str:
    try:
        return tokenizer.id_to_token(token_id)
    except UnknownTokenError:
        return f"<id {token_id}>"
