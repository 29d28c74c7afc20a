"""``Tokenizer``: text to ids and back, with one frozen vocabulary."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp import _fastcall
from numba_nlp import _unigram_calls as unigram_calls
from numba_nlp._arguments import choice, flag, whole
from numba_nlp._decoders import new_decoder
from numba_nlp._decoders.decoder import Decoder
from numba_nlp._decoders.ids import check_errors
from numba_nlp._encoders import new_encoder
from numba_nlp._encoders.cached import CachedEncoder, SingleTexts
from numba_nlp._encoders.dropout import checked_dropout
from numba_nlp._encoders.encoder import Row
from numba_nlp._encoders.rows import THREADS, Segments, resolve_threads
from numba_nlp._input_plan import check_adding
from numba_nlp._input_settings import InputSettings
from numba_nlp._special import POLICIES, SpecialTokens
from numba_nlp._text_sources import check_choices
from numba_nlp.errors import UnknownTokenError, UnsupportedFeatureError
from numba_nlp.inputs import encode_padded, model_inputs
from numba_nlp.kernels.tables.word_cache import WordCache
from numba_nlp.ragged import Ragged
from numba_nlp.text_rows import TextRows
from numba_nlp.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numba_nlp._encoders.single import SingleStages

__all__ = ["Tokenizer"]

Special = Literal["raise", "match", "plain"] | Collection[str] | None
Unit = Literal["char", "byte"]
_Function = TypeVar("_Function", bound=Callable[..., Any])
Spanned = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]

_CONTROL, _ABSENT = 2, 255
#: Rows that :meth:`Tokenizer.encode_batch` encodes between two steps of a progress bar.
_PROGRESS_ROWS = 1 << 14


def _method(function: _Function, name: str) -> _Function:
    """The function under the name that callers know: Python's own errors about arguments say ``Tokenizer.<name>``."""
    made = FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    made.__annotations__ = function.__annotations__
    made.__qualname__ = f"Tokenizer.{name}"
    return cast(_Function, made)


class Tokenizer(_fastcall.Direct):
    """Encodes text to ids and decodes ids to text, exactly as the reference library of the vocabulary's format.

    Immutable, safe to share between threads and to pickle (as path and digest when the vocabulary came from a
    compiled file, else as its bytes); equal to another tokenizer with the same vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary

    Notes
    -----
    Each thread that encodes at the same time works with a word cache of its own, at most 26 MB once full.

    Examples
    --------
    >>> import numba_nlp as nlp
    >>> tok = nlp.load_tokenizer("gpt2.safetensors")  # doctest: +SKIP
    >>> tok.encode("To be, or not to be")  # doctest: +SKIP
    array([2514,  307,   11,  393,  407,  284,  307], dtype=int32)
    """

    __slots__ = (
        "__weakref__", "_alone", "_decoder", "_encoder", "_few", "_inputs", "_policy", "_single", "_special",
        "_vocabulary",
    )  # fmt: skip

    _alone: tuple[SingleTexts | None] | None
    _decoder: Decoder
    _encoder: CachedEncoder
    _few: Any
    _inputs: InputSettings
    _policy: str | frozenset[str]
    _single: Any
    _special: SpecialTokens
    _vocabulary: Vocabulary

    def __init__(self, vocabulary: Vocabulary) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(
                f"`vocabulary` must be a Vocabulary, got {type(vocabulary).__name__}; load_tokenizer takes paths"
            )
        special = SpecialTokens(vocabulary)
        policy = special.check_policy(vocabulary.metadata["special_policy"])
        encoder = new_encoder(vocabulary, special.watched_in_text(policy))
        values = {
            "_vocabulary": vocabulary,
            "_special": special,
            "_policy": policy,
            "_encoder": encoder,
            "_decoder": new_decoder(vocabulary),
            "_inputs": InputSettings(vocabulary),
            "_alone": None,
            "_few": None,
            "_single": None,
        }
        if hasattr(self, "_holder"):  # made anew in place; what answers single texts is of the vocabulary before
            object.__delattr__(self, "_holder")
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tokenizer cannot be changed; tried to set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tokenizer cannot be changed; tried to delete {name!r}")

    # --- encoding ----------------------------------------------------------------------------------------------

    @overload
    def encode(
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = ...,
        spans: Literal[False] = ...,
        unit: Unit = ...,
        special: Special = ...,
        errors: Literal["strict", "replace"] = ...,
        dropout: float = ...,
        seed: int = ...,
    ) -> NDArray[np.int32]: ...

    @overload
    def encode(
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = ...,
        spans: Literal[True],
        unit: Unit = ...,
        special: Special = ...,
        errors: Literal["strict", "replace"] = ...,
    ) -> Spanned: ...

    def encode(
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = False,
        spans: bool = False,
        unit: Unit = "char",
        special: Special = None,
        errors: Literal["strict", "replace"] = "strict",
        dropout: float = 0.0,
        seed: int = 0,
    ) -> NDArray[np.int32] | Spanned:
        """Ids of one text.

        Parameters
        ----------
        text : str or bytes
            Bytes must be UTF-8.
        add_special_tokens : bool, default False
            Put the ids into the template of the vocabulary (``<s> ... </s>`` of RoBERTa, say).
        spans : bool, default False
            Also give where each id comes from.
        unit : {"char", "byte"}
            Unit of the spans: characters (code points) of the text, or bytes of its UTF-8 form.
        special : {"raise", "match", "plain"} or collection of str, optional
            Special tokens written in the text: refuse them, give them their id, or take them as ordinary text. A
            collection names those to match, all others are refused. The default is what the reference library of the
            vocabulary's format does (``describe()["special_policy"]``).
        errors : {"strict", "replace"}
            Text that is not valid Unicode: raise, or put U+FFFD in its place.
        dropout : float, default 0
            Probability from 0 to 1 with which each merge of BPE is left out (BPE-dropout: Provilkov, Emelianenko,
            Voita 2020), by the rule of the reference: sentencepiece drops for good, subword-nmt for one pass,
            tokenizers until the next pair of its queue is not dropped. With 1 no merge is left.
        seed : int, default 0
            Of the random numbers, which are not those of the references. The result depends on it, on the text and on
            its place in a batch, not on other texts or on threads.

        Returns
        -------
        ids : int32[n]
        starts, ends : int64[n], int64[n]
            With ``spans=True``: half-open ranges in ``text``; -1, -1 for ids of the template.

        Raises
        ------
        InvalidTextError
            The text is not valid Unicode and ``errors="strict"``; ``byte`` says where.
        SpecialTokenError
            The text holds a special token that may not be there.
        TypeError
            ``text`` is neither str nor bytes.
        UnsupportedFeatureError
            ``dropout`` where there are no merges, or together with ``spans``.
        ValueError
            An option has a value that it cannot have.
        """
        stages = None
        try:
            is_unusual = not (errors == "strict" and unit == "char" and dropout == 0.0 and seed == 0)
        except (TypeError, ValueError):  # arrays, whose comparisons have no truth
            is_unusual = True
        if is_unusual:
            _check_options(errors, unit)
            if checked_dropout(dropout, seed) is not None:
                return self._encode_with_dropout(text, add_special_tokens, spans, unit, special, errors, dropout, seed)
        is_framed = add_special_tokens is True
        if (
            spans is False
            and (add_special_tokens is False or is_framed)
            and (special is None or self._watches(special))
        ):
            single = self._single
            if single is None:
                single = self._prepare_single()
            ids = single[0](text)
            if ids is not None:
                return self._special.framed(ids) if is_framed else ids
            # what is learnt has to hold for every policy
            stages = single[1] if not is_framed and (special is None or special == self._policy) else None
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"`text` must be str or bytes, got {type(text).__name__}; encode_batch takes many texts")
        spans = flag("spans", spans)
        rows = TextRows.from_strings((text,), errors=errors)
        segments = self._segments(rows, add_special_tokens, special)
        result = self._encoder.encode(rows.data, rows.starts, rows.ends, segments, unit if spans else None, 1)
        if not spans:
            if stages is not None:
                stages.learn(text, result.values)
            return result.values
        assert result.starts is not None
        assert result.ends is not None
        return result.values, result.starts, result.ends

    def _encode_with_dropout(
        self, text: Any, add_special_tokens: bool, spans: bool, unit: Unit, special: Special, errors: Any,
        dropout: float, seed: int,
    ) -> NDArray[np.int32] | Spanned:  # fmt: skip
        """:meth:`encode` as a batch of one row."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"`text` must be str or bytes, got {type(text).__name__}; encode_batch takes many texts")
        batch = self.encode_batch(
            (text,), add_special_tokens=add_special_tokens, spans=spans, unit=unit, special=special, errors=errors,
            num_threads=1, dropout=dropout, seed=seed,
        )  # fmt: skip
        if not spans:
            return batch.values
        assert batch.starts is not None
        assert batch.ends is not None
        return batch.values, batch.starts, batch.ends

    def _watches(self, special: Special) -> bool:
        """Whether a named policy gives what the fast call gives: it leaves out texts that may hold special tokens.

        With the policy ``"plain"`` of the vocabulary it looks for none, and gives what this policy gives only.
        """
        return isinstance(special, str) and special in POLICIES and (self._policy != "plain" or special == "plain")

    def _prepare_alone(self) -> SingleTexts | None:
        """What encodes single texts; made on first use, as it takes memory. None where only the plain way is right."""
        kept = self._alone
        if kept is None:
            kept = (self._encoder.single_texts({} if self._policy == "plain" else self._special.forms),)
            object.__setattr__(self, "_alone", kept)
        return kept[0]

    def _prepare_single(self) -> tuple[Callable[[Any], NDArray[np.int32] | None], SingleStages | None]:
        """What encodes a single text, and what learns of those that it left out; made on first use, as it compiles."""
        alone = self._prepare_alone()
        kept: tuple[Any, SingleStages | None] = (_leave_to_plain, None)
        if alone is not None:
            assert alone.context.control is not None
            kept = (_fastcall.text_function(alone.context), alone.stages)
            if _fastcall.HAS_METHODS:
                _fastcall.give_method(Tokenizer, "encode")
                alone.context.control.may_count(type(self).encode is Tokenizer.encode)
                object.__setattr__(self, "_holder", alone.context)
        object.__setattr__(self, "_single", kept)
        return kept

    def _prepare_few(self) -> Any:
        """What encodes a few texts, likewise."""
        alone = self._prepare_alone()
        few: Any = _leave_to_plain
        if alone is not None:
            assert alone.context.control is not None
            alone.context.control.make_room(_fastcall.MOST_FEW)
            few = _fastcall.bound(_fastcall.encode_few, alone.context)
        object.__setattr__(self, "_few", few)
        return few

    def encode_batch(
        self,
        texts: Any,
        *,
        add_special_tokens: bool = False,
        spans: bool = False,
        unit: Unit = "char",
        special: Special = None,
        errors: Literal["strict", "replace"] = "strict",
        nulls: Literal["error", "empty", "null"] = "error",
        num_threads: int | None = None,
        progress: bool = False,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> Ragged:
        """Ids of many texts.

        Parameters
        ----------
        texts : iterable of str or bytes, numpy array, Arrow array, Series, or TextRows
            A list, tuple or generator of ``str`` and ``bytes``; a numpy array of kind O, U, S or T; a pyarrow array
            or chunked array of strings; a polars or pandas column; or :class:`~numba_nlp.text_rows.TextRows`.
        add_special_tokens, spans, unit, special, errors
            As in :meth:`encode`.
        nulls : {"error", "empty", "null"}
            A missing row (None, NaN, Arrow null) raises, is taken as empty text, or stays missing (no ids, not even
            those of the template; False in ``Ragged.valid``).
        num_threads : int, optional
            Default: ``NUMBA_NLP_NUM_THREADS``, else the processors that this process may use. The result does not
            depend on it.
        progress : bool, default False
            Show a progress bar (tqdm) on stderr.
        dropout, seed
            As in :meth:`encode`; a row draws by its number.

        Returns
        -------
        Ragged
            With ``starts`` and ``ends`` when ``spans=True``.

        Raises
        ------
        InvalidTextError, MissingRowError, SpecialTokenError
            Name the row; raised before any row is encoded.
        TypeError
            ``texts`` or one of its rows is of another type.
        UnsupportedFeatureError
            ``dropout`` where there are no merges, or together with ``spans``.
        ValueError
            An option has a value that it cannot have.
        """
        if (
            isinstance(texts, (list, tuple))
            and len(texts) <= _fastcall.MOST_FEW
            and _are_usual(spans, unit, errors, nulls, num_threads, progress, dropout, seed)
            and add_special_tokens is False
            and (special is None or self._watches(special))
        ):
            few = (self._few or self._prepare_few())(tuple(texts))
            if few is not None:
                return Ragged._trusted(*few)
        threads = resolve_threads(num_threads)
        dropping = checked_dropout(dropout, seed)
        spans, progress = flag("spans", spans), flag("progress", progress)
        if dropping is not None and spans:
            raise UnsupportedFeatureError("spans are not given with dropout; leave one of the two out")
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"`texts` is one {type(texts).__name__}; pass a list of texts, or use encode")
        _check_options(errors, unit)
        check_adding(add_special_tokens)
        if isinstance(texts, (list, tuple)) and not (spans or add_special_tokens or progress or dropping):
            check_choices(errors, nulls)
            watched = self._special.watched(self._policy if special is None else self._special.check_policy(special))
            # a tuple, since others may change a list meanwhile
            found = self._encoder.encode_strings(tuple(texts), watched, threads)
            if found is not None:
                return Ragged._trusted(found.values, found.offsets, None, None, None)
        rows = TextRows.from_any(texts, errors=errors, nulls=nulls)
        segments = self._segments(rows, add_special_tokens, special)
        if dropping is not None:
            found = self._encoder.encode_with_dropout(rows.data, rows.starts, rows.ends, segments, dropping, threads)
            return Ragged._trusted(found.values, found.offsets, None, None, rows.valid)

        def encode_rows(first: int, last: int) -> Ragged:
            starts, ends = rows.starts[first:last], rows.ends[first:last]
            part = None if segments is None else segments.of_rows(first, last)
            result = self._encoder.encode(rows.data, starts, ends, part, unit if spans else None, threads)
            valid = None if rows.valid is None else rows.valid[first:last]
            return Ragged._trusted(result.values, result.offsets, result.starts, result.ends, valid)

        if not progress or len(rows) <= _PROGRESS_ROWS:
            return encode_rows(0, len(rows))
        from tqdm import tqdm

        parts = []
        with tqdm(total=len(rows), unit="rows", unit_scale=True) as bar:
            for first in range(0, len(rows), _PROGRESS_ROWS):
                parts.append(encode_rows(first, min(first + _PROGRESS_ROWS, len(rows))))
                bar.update(len(parts[-1]))
        return Ragged.concatenate(parts)

    def count(
        self,
        text: str | bytes,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Literal["strict", "replace"] = "strict",
    ) -> int:
        """Number of ids of one text; arguments and errors as in :meth:`encode`."""
        n = self.encode(text, add_special_tokens=add_special_tokens, special=special, errors=errors).size
        if Tokenizer.count is Tokenizer._count and _fastcall.HAS_METHODS:
            _fastcall.give_method(Tokenizer, "count")
        return n

    def count_batch(
        self,
        texts: Any,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Literal["strict", "replace"] = "strict",
        nulls: Literal["error", "empty", "null"] = "error",
        num_threads: int | None = None,
        progress: bool = False,
    ) -> NDArray[np.int64]:
        """Number of ids of each text: int64[rows]; arguments and errors as in :meth:`encode_batch`."""
        return self.encode_batch(
            texts,
            add_special_tokens=add_special_tokens,
            special=special,
            errors=errors,
            nulls=nulls,
            num_threads=num_threads,
            progress=progress,
        ).row_lengths

    # what the compiled forms of the methods, which are given to the class by its first instance, leave to Python
    _encode, _count = encode, count

    # --- model inputs ------------------------------------------------------------------------------------------

    __call__ = _method(model_inputs, "__call__")
    encode_padded = _method(encode_padded, "encode_padded")

    @property
    def input_settings(self) -> InputSettings:
        """Templates, padding and names of model inputs, as the source of the vocabulary says."""
        return self._inputs

    def word_numbers(self, rows: TextRows, encoded: Ragged, special: Special = None) -> NDArray[np.int32]:
        """Number of the word (pre-token) in its row of each id: int32[m].

        Parameters
        ----------
        rows : TextRows
        encoded : Ragged
            What :meth:`encode_batch` made of the rows without special tokens.
        special
            As of :meth:`encode_batch`; the same.

        Raises
        ------
        UnsupportedFeatureError
            There are none (:func:`numba_nlp.inputs.model_inputs` says where).
        """
        given: tuple[Any, Any] = rows, encoded
        if not isinstance(given[0], TextRows) or not isinstance(given[1], Ragged):
            kinds = " and ".join(type(one).__name__ for one in given)
            raise TypeError(f"`rows` must be TextRows and `encoded` the Ragged that encode_batch made, got {kinds}")
        segments = self._segments(rows, False, special)
        ids, offsets = encoded.values.view(), encoded.offsets.view()
        ids.flags.writeable = offsets.flags.writeable = False
        return self._encoder.word_numbers(rows.data, rows.starts, rows.ends, segments, ids, offsets)

    def _segments(self, rows: TextRows, add_special_tokens: bool, special: Special) -> Segments | None:
        """Cut the rows at special tokens, or refuse them, as the policy says."""
        check_adding(add_special_tokens)
        policy = self._policy if special is None else self._special.check_policy(special)
        return self._special.segments(policy, add_special_tokens, rows.data, rows.starts, rows.ends, rows.valid)

    # --- other segmentations (Unigram) -------------------------------------------------------------------------

    nbest = _method(unigram_calls.nbest, "nbest")
    sample = _method(unigram_calls.sample, "sample")
    score = _method(unigram_calls.score, "score")
    common_prefix_search = _method(unigram_calls.common_prefix_search, "common_prefix_search")

    def _one_row(self, text: Any, errors: Any) -> Row:
        """What encoders take for one text."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"`text` must be str or bytes, got {type(text).__name__}")
        rows = TextRows.from_strings((text,), errors=errors)
        return rows.data, rows.starts, rows.ends, self._segments(rows, False, None)

    # --- decoding ----------------------------------------------------------------------------------------------

    def decode(
        self,
        ids: ArrayLike,
        *,
        skip_special_tokens: bool = False,
        errors: Literal["strict", "replace", "ignore"] = "replace",
    ) -> str:
        """Text of ids.

        Parameters
        ----------
        ids : array_like of int, or int
            One-dimensional, or one id.
        skip_special_tokens : bool, default False
            Leave special tokens out.
        errors : {"replace", "strict", "ignore"}
            Ids may end in the middle of a character: U+FFFD for it, an error, or nothing.

        Returns
        -------
        str

        Raises
        ------
        UnknownTokenError
            An id is not in the vocabulary; names it and its place.
        UnicodeDecodeError
            The bytes are not UTF-8 and ``errors="strict"``.
        """
        check_errors(errors)
        return self.decode_bytes(ids, skip_special_tokens=skip_special_tokens).decode("utf-8", errors)

    def decode_bytes(self, ids: ArrayLike, *, skip_special_tokens: bool = False) -> bytes:
        """Bytes of ids, whether or not they are UTF-8; arguments and errors as in :meth:`decode`."""
        return self._decoder.decode_bytes(ids, flag("skip_special_tokens", skip_special_tokens))

    def decode_batch(
        self,
        ids: Ragged | NDArray[Any] | Iterable[ArrayLike],
        *,
        skip_special_tokens: bool = False,
        errors: Literal["strict", "replace", "ignore"] = "replace",
    ) -> list[str | None]:
        """Text of each row of ids.

        Parameters
        ----------
        ids : Ragged, two-dimensional array, Arrow array of lists, or iterable of array_like of int
        skip_special_tokens, errors
            As in :meth:`decode`.

        Returns
        -------
        list of str
            None for missing rows of a Ragged or an Arrow array.

        Raises
        ------
        UnknownTokenError
            Names the id, the row and the place in it.
        UnicodeDecodeError
            As :meth:`decode`.
        """
        return self._decoder.decode_batch(ids, flag("skip_special_tokens", skip_special_tokens), errors)

    def settled_length(self, ids: ArrayLike, text: str, *, skip_special_tokens: bool = False) -> int:
        """How much of a decoded text stays as it is whatever ids follow: for text that is shown while it grows.

        Parameters
        ----------
        ids : array_like of int
            One-dimensional, not empty of meaning: those that ``text`` was decoded from.
        text : str
            What :meth:`decode` gave for them.
        skip_special_tokens : bool
            As it was then.

        Returns
        -------
        int
            Characters at the front of the text. Behind them are parts of characters, spaces that the clean-up of the
            vocabulary may still take, and the like.
        """
        given = np.asarray(ids, np.int32)
        return self._decoder.settled_length(given, text, flag("skip_special_tokens", skip_special_tokens))

    # --- the vocabulary ----------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        """The compiled vocabulary."""
        return self._vocabulary

    @property
    def vocab_size(self) -> int:
        """Largest id + 1."""
        return self._vocabulary.size

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Special and other added tokens as they are matched in text, with their ids."""
        return MappingProxyType(self._special.ids)

    def special_texts(self, texts: Any) -> dict[str, int]:
        """How often each special or other added token stands in texts, letter by letter.

        For runs over text that nobody has looked at, with ``special="plain"``: says what was there.

        Parameters
        ----------
        texts
            As of :meth:`encode_batch`; missing rows are left out.

        Returns
        -------
        dict of str to int
            Tokens that occur; of those that overlap the leftmost, and among these the longest.

        Raises
        ------
        InvalidTextError, TypeError
            As :meth:`encode_batch`.
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"`texts` is one {type(texts).__name__}; pass a list of texts")
        rows = TextRows.from_any(texts, nulls="null")
        return self._special.occurrences(rows.data, rows.starts, rows.ends)

    def id_to_bytes(self, token_id: int) -> bytes:
        r"""Bytes that an id decodes to in the middle of a text.

        So ``"Ġthe"`` of GPT-2, ``"▁the"`` of SentencePiece and ``"the"`` of BERT are all ``b" the"``; ``"##ing"`` is
        ``b"ing"``, ``"the</w>"`` is ``b"the "``, and ``"<0xE4>"`` is ``b"\xe4"``. At the ends of a text decoders
        leave such spaces out.

        Raises
        ------
        UnknownTokenError
        """
        return self._decoder.bytes_of(token_id)

    def id_to_token(self, token_id: int) -> str:
        """Token of an id as vocabulary files of this kind write it.

        Special tokens as they stand in text, those of byte-level BPE in GPT-2's alphabet (``"Ġthe"`` for ``b" the"``),
        those of WordPiece with their prefix (``"##ing"``).

        Raises
        ------
        UnknownTokenError
        """
        spelling = self._decoder.spelling(token_id)
        for token, special_id in self._special.ids.items():
            if special_id == token_id:
                return token
        return spelling

    def token_to_id(self, token: str | bytes) -> int:
        """Id of a token.

        Parameters
        ----------
        token : str or bytes
            A special token, a token in the spelling of :meth:`id_to_token`, or the bytes of either.

        Raises
        ------
        UnknownTokenError
            The vocabulary has no such token.
        """
        if isinstance(token, str):
            special = self._special.ids.get(token)
            if special is not None:
                return special
            if not _is_text(token):
                raise UnknownTokenError(f"the vocabulary has no token {token!r}, which is no text (lone surrogates)")
        elif not isinstance(token, bytes):
            raise TypeError(f"`token` must be str or bytes, got {type(token).__name__}")
        found = self._decoder.id_of(token)
        if found >= 0:
            return found
        if isinstance(token, bytes):
            for special_token, special_id in self._special.ids.items():
                if special_token.encode() == token:
                    return special_id
        raise UnknownTokenError(f"the vocabulary has no token {token!r}")

    def warmup(self) -> None:
        """Compile, or load from the cache, every kernel that this tokenizer can call without dropout or sampling.

        Otherwise each kernel is compiled when it is first needed. Worth a line in the start of a service, and once
        per machine before many processes start (they then load what was compiled).
        """
        texts = ["a \u00e9", "", *self._special.contents[:1]]
        for add_special_tokens in (False, True):
            self.encode("a", add_special_tokens=add_special_tokens, special="plain")
            batch = self.encode_batch(
                texts, add_special_tokens=add_special_tokens, spans=True, special="match", num_threads=1
            )
        self.encode_batch(texts, special="plain", num_threads=1)
        self._warm_up_inputs(texts)
        self.decode_batch(batch)
        self.decode(batch.values)
        self.token_to_id(b"a")

    def _warm_up_inputs(self, texts: list[str]) -> None:
        words = self._encoder.knows_words
        for padding in (False, True):
            self(texts, special="match", return_offsets_mapping=True, return_word_ids=words, padding=padding, pad_id=0)
        self.encode_padded(texts, 9, special="plain", pad_id=0, add_special_tokens=False)
        self(texts, special="plain", add_special_tokens=False, max_length=1, return_overflowing_tokens=True)

    def kernel_memory(self, capacity: int = 4096) -> tuple[Any, WordCache, Any]:
        """What the kernels need to encode with this vocabulary inside compiled functions of your own.

        Parameters
        ----------
        capacity : int
            Longest pre-token, in bytes, that the scratch has room for; the kernels say when it is too small.

        Returns
        -------
        tables : tuple of arrays
            ``ByteBpeTables`` or its like in other families; read-only, for any number of threads.
        cache, scratch : WordCache, tuple of arrays
            New, for one thread.

        Notes
        -----
        ``docs/kernels.md`` has an example;
        :func:`numba_nlp.kernels.segment.cached_rows.encode_rows` is the contract.
        """
        return self._encoder.kernel_memory(whole("capacity", capacity, 1, self._encoder.capacity_limit))

    def describe(self) -> dict[str, Any]:
        """What runs: algorithm, reference, special tokens, Unicode version, what the family adds, call path."""
        metadata = self._vocabulary.metadata
        return {
            "name": metadata["name"],
            "algorithm": metadata["algorithm"],
            "reference": metadata["reference"],
            "vocab_size": self.vocab_size,
            "special_tokens": len(self._special.ids),
            "special_policy": metadata["special_policy"],
            "unicode_version": metadata["unicode_version"],
            **self._encoder.describe(),
            "digest": self._vocabulary.digest,
            "path": None if self._vocabulary.path is None else str(self._vocabulary.path),
        }

    def __repr__(self) -> str:
        metadata = self._vocabulary.metadata
        return f"Tokenizer({metadata['name']!r}, {metadata['algorithm']}, {self.vocab_size} ids)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self._vocabulary == other._vocabulary

    def __hash__(self) -> int:
        return hash((Tokenizer, self._vocabulary))

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        # immutable, and libraries copy what they were given (scikit-learn's clone)
        return self

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[Vocabulary]]:
        return Tokenizer, (self._vocabulary,)

    def __dask_tokenize__(self) -> tuple[str, str]:
        return "numba_nlp.Tokenizer", self._vocabulary.digest


def _is_text(token: str) -> bool:
    """Whether a str can be written as UTF-8."""
    try:
        token.encode()
    except UnicodeEncodeError:
        return False
    return True


def _are_usual(
    spans: Any, unit: Any, errors: Any, nulls: Any, num_threads: Any, progress: Any, dropout: Any, seed: Any
) -> bool:
    """Whether options of a batch are those of most calls; what else they may be is asked later."""
    return (
        spans is False
        and progress is False
        and type(errors) is type(nulls) is type(unit) is str
        and errors == "strict"
        and nulls == "error"
        and unit == "char"
        and type(dropout) is float
        and dropout == 0.0
        and type(seed) is int
        and seed == 0
        and ((num_threads is None and THREADS not in os.environ) or (type(num_threads) is int and num_threads > 0))
    )


def _check_options(errors: str, unit: str) -> None:
    choice("errors", errors, ("strict", "replace"))
    choice("unit", unit, ("char", "byte"))


def _leave_to_plain(text: Any) -> None:
    """Stand-in for the fast calls where only the plain way is right."""
