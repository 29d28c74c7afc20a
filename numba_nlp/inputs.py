"""Model inputs: texts or pairs of texts through a template, cut, in windows, padded; as arrays or tensors.

:func:`model_inputs` is what a call of a tokenizer does (``tok(texts, ...)``); :func:`encode_padded` gives a matrix of
fixed width and nothing else, for array pipelines.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from numba_nlp._arguments import choice, flag, shown, string, whole
from numba_nlp._extras import extra
from numba_nlp._input_layout import NO_OFFSETS, NO_TEXTS, NO_VALUES, Layout, Texts, cut_texts, read_only, width_of
from numba_nlp._input_pairs import check_lengths, check_pairing, split_pairs
from numba_nlp._input_plan import choose_template, plan_padding, plan_truncation
from numba_nlp._input_settings import InputSettings
from numba_nlp._ragged_edges import array_to_torch
from numba_nlp.ragged import Ragged
from numba_nlp.text_rows import TextRows

__all__ = ["ModelInputs", "encode_padded", "model_inputs"]


class _Tokenizer(Protocol):
    """What is asked of a tokenizer."""

    @property
    def input_settings(self) -> InputSettings: ...

    @property
    def encode_batch(self) -> Callable[..., Ragged]: ...

    @property
    def token_to_id(self) -> Callable[[str], int]: ...

    @property
    def word_numbers(self) -> Callable[[TextRows, Ragged, Any], NDArray[np.int32]]: ...


class ModelInputs(dict[str, Any]):
    """Arrays that a model takes, by the names that transformers gives them.

    A ``dict``, so ``model(**inputs)`` works, whose entries are attributes too: ``inputs.input_ids``. What is there
    depends on the call, see :func:`model_inputs`.
    """

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"there is no {name!r} in these model inputs; there is {', '.join(self) or 'nothing'}")

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def to(self, device: Any, **options: Any) -> ModelInputs:
        """Move the tensors to a device, in place.

        Parameters
        ----------
        device : str, torch.device, int
        **options
            Of ``torch.Tensor.to``, such as ``non_blocking=True``.

        Returns
        -------
        ModelInputs
            Itself.

        Raises
        ------
        TypeError
            The entries are no tensors.
        """
        for name, value in self.items():
            if not hasattr(value, "to"):
                kind = type(value).__name__
                raise TypeError(f"{name!r} is a {kind}, no tensor; make inputs with return_tensors='pt'")
        self.update({name: value.to(device, **options) for name, value in self.items()})
        return self

    def __repr__(self) -> str:
        shown = (f"{name}: {getattr(value, 'shape', value)}" for name, value in self.items())
        return f"ModelInputs({', '.join(shown)})"


def model_inputs(
    tokenizer: _Tokenizer,
    text: Any,
    text_pair: Any = None,
    *,
    add_special_tokens: bool = True,
    padding: bool | Literal["longest", "max_length", "do_not_pad"] = False,
    truncation: bool | Literal["longest_first", "only_first", "only_second", "do_not_truncate"] | None = None,
    max_length: int | None = None,
    stride: int = 0,
    pad_to_multiple_of: int | None = None,
    padding_side: Literal["right", "left"] | None = None,
    truncation_side: Literal["right", "left"] | None = None,
    pad_token: str | None = None,
    pad_id: int | None = None,
    return_tensors: Literal["np", "pt"] | None = None,
    return_attention_mask: bool | None = None,
    return_token_type_ids: bool | None = None,
    return_special_tokens_mask: bool = False,
    return_overflowing_tokens: bool = False,
    return_offsets_mapping: bool = False,
    return_length: bool = False,
    return_word_ids: bool = False,
    return_sequence_ids: bool = False,
    special: Any = None,
    errors: Literal["strict", "replace"] = "strict",
    nulls: Literal["error", "empty"] = "error",
    num_threads: int | None = None,
) -> ModelInputs:
    """Model inputs of one text or pair, or of many; the keywords are those of transformers.

    Parameters
    ----------
    text : str, bytes, or what :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch` takes
        A list of pairs (tuples or lists of two) gives the second texts as well.
    text_pair : the same, optional
        The second text of each row.
    add_special_tokens : bool, default True
        Put the texts into the template of the vocabulary.
    padding : bool or {"longest", "max_length", "do_not_pad"}, default False
        Fill inputs up to the longest one (True), or to ``max_length``.
    truncation : bool or {"longest_first", "only_first", "only_second", "do_not_truncate"}, optional
        Cut texts so that an input has at most ``max_length`` ids; True is ``"longest_first"``. By default texts are
        cut when ``max_length`` is given and ``padding`` is not.
    max_length : int, optional
        By default what the source of the vocabulary says; where it says nothing nothing is cut.
    stride : int, default 0
        With ``return_overflowing_tokens``: ids that a window shares with the one before.
    pad_to_multiple_of : int, optional
        Round the width up.
    padding_side, truncation_side : {"right", "left"}, optional
        By default those of the vocabulary.
    pad_token, pad_id : str, int, optional
        What fills; needed where the vocabulary has no padding token.
    return_tensors : {"np", "pt"}, optional
        Matrices even without padding (rows must be equally long), of NumPy or torch.
    return_attention_mask, return_token_type_ids : bool, optional
        By default what models of this kind take.
    return_special_tokens_mask, return_overflowing_tokens, return_offsets_mapping, return_length : bool
    return_word_ids, return_sequence_ids : bool
    special, errors, num_threads
        As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`.
    nulls : {"error", "empty"}
        A missing row raises, or is taken as empty text.

    Returns
    -------
    ModelInputs
        With padding or ``return_tensors`` each entry is ``int64[inputs, width]``; else a
        :class:`~numba_nlp.ragged.Ragged`; of a single text ``int64[n]``, unless ``return_tensors`` or
        ``return_overflowing_tokens`` is set.

        ``input_ids``; ``attention_mask``: 0 at padding; ``token_type_ids``; ``special_tokens_mask``: 1 at ids of the
        template and at padding; ``sequence_ids``: 0 and 1 for the texts, else -1; ``word_ids``: number of the word
        (pre-token) in its text, else -1, see the notes; ``starts``, ``ends`` (for ``return_offsets_mapping``):
        half-open ranges of characters in the text, -1 where an id comes from none (beside ``Ragged`` ids, which have
        them too, they are ``int64[m]``); ``length`` : int64[inputs], padding included; ``overflow_to_sample_mapping``
        (for ``return_overflowing_tokens``): the row of each input, int64[inputs].

    Raises
    ------
    ValueError
        An option has a value that it cannot have, ``max_length`` leaves no room, there is no padding token, or rows
        are not equally long where a matrix is asked for. What does not depend on the texts is checked first.
    InvalidTextError, MissingRowError, SpecialTokenError, TypeError
        As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`.
    UnsupportedFeatureError
        Word ids where transformers has none: Marian and M2M100, whose ids another file than the model gives.

    Notes
    -----
    Ids, types, masks and windows are those of transformers 5 with tokenizers, but: ``max_length`` below the number of
    special tokens raises (there nothing is cut); windows that would never cover a text raise (there the whole text
    follows, or the process panics); all windows have the types of the template; an empty second text is a second text
    for a single text too; word ids and ``sequence_ids`` are arrays, with -1 for None.

    Words are what the pre-tokenizer of the reference leaves: of a ``tokenizer.json`` or checkpoint folder those of
    tokenizers. A SentencePiece ``.model`` by itself has no pre-tokenizer; its words are those of the classes that
    transformers makes of such models: Unigram, word and character models are cut before each space (T5, XLNet, ALBERT,
    XLM-R), with BPE a text is one word (Llama), and a user-defined piece is a word of its own in both. Words of codes
    of subword-nmt and of CTRL are what white space parts.
    """
    return_tensors = choice("return_tensors", return_tensors, (None, "np", "pt"))
    choice("nulls", nulls, ("error", "empty"))
    for name, value in (
        ("return_special_tokens_mask", return_special_tokens_mask),
        ("return_overflowing_tokens", return_overflowing_tokens),
        ("return_offsets_mapping", return_offsets_mapping),
        ("return_length", return_length),
        ("return_word_ids", return_word_ids),
        ("return_sequence_ids", return_sequence_ids),
    ):
        flag(name, value)
    for name, asked in (
        ("return_attention_mask", return_attention_mask),
        ("return_token_type_ids", return_token_type_ids),
    ):
        if asked is not None:
            flag(name, asked)
    if return_tensors == "pt":
        extra("torch")  # before any work is done
    _check_tokenizer(tokenizer)
    text, text_pair = split_pairs(text, text_pair)
    is_single = isinstance(text, (str, bytes))
    check_pairing(text, text_pair, is_single)
    settings = tokenizer.input_settings
    template = choose_template(settings, text_pair is not None, add_special_tokens)
    truncated = plan_truncation(
        settings,
        template,
        truncation=truncation,
        max_length=max_length,
        stride=stride,
        side=truncation_side,
        is_padded=padding is not False,
        wants_windows=return_overflowing_tokens,
    )
    padded = plan_padding(
        settings,
        truncated,
        padding=padding,
        max_length=max_length,
        multiple_of=pad_to_multiple_of,
        side=padding_side,
        pad_id=_pad_id(tokenizer, pad_token, pad_id),
    )
    options = {"special": special, "errors": errors, "nulls": nulls, "num_threads": num_threads}
    first, second = _encode(
        tokenizer, [text] if is_single else text, [text_pair] if is_single and text_pair is not None else text_pair,
        return_offsets_mapping, return_word_ids, options,
    )  # fmt: skip
    windows = cut_texts(first, second, template, truncated, return_overflowing_tokens)
    lengths = windows.lengths(template)

    width = width_of(lengths, padded, return_tensors is not None)
    n = lengths.size
    offsets = np.concatenate(([0], np.cumsum(lengths))) if width is None else np.arange(n + 1) * width
    dtype = np.int32 if width is None else np.int64
    layout = Layout(template, windows, offsets, padded is not None and padded.left, dtype)
    entries = template.entries
    flat: dict[str, NDArray[Any]] = {
        "input_ids": layout.values(template.parts, first.values, second.values, 0 if padded is None else padded.pad_id)
    }
    if return_token_type_ids or (return_token_type_ids is None and "token_type_ids" in settings.names):
        flat["token_type_ids"] = layout.marks(template.type_ids, settings.pad_type_id)
    if return_attention_mask or (return_attention_mask is None and "attention_mask" in settings.names):
        flat["attention_mask"] = layout.marks(entries(1, 1, 1), 0)
    if return_special_tokens_mask:
        flat["special_tokens_mask"] = layout.marks(entries(0, 0, 1), 1)
    if return_sequence_ids:
        flat["sequence_ids"] = layout.marks(entries(0, 1, -1), -1)
    if return_word_ids:
        flat["word_ids"] = layout.values(entries(-1, -1, -1), first.words, second.words, -1)
    spans: dict[str, NDArray[Any]] = {}
    if return_offsets_mapping:
        of_spans = Layout(template, windows, offsets, padded is not None and padded.left, np.int64)
        nowhere = entries(-1, -1, -1)
        spans["starts"] = of_spans.values(nowhere, first.starts, second.starts, -1)
        spans["ends"] = of_spans.values(nowhere, first.ends, second.ends, -1)

    inputs = ModelInputs()
    if width is not None:
        inputs.update({name: array.reshape(n, width) for name, array in {**flat, **spans}.items()})
    else:
        for name, array in flat.items():
            inputs[name] = Ragged._trusted(array, offsets, *(spans.values() if name == "input_ids" else ()))
        inputs.update(spans)
    if return_length:
        inputs["length"] = lengths if width is None else np.full(n, width, np.int64)
    if return_overflowing_tokens:
        inputs["overflow_to_sample_mapping"] = windows.rows
    if is_single and return_tensors is None and not return_overflowing_tokens:
        _unwrap(inputs)
    if return_tensors == "pt":
        inputs.update({name: array_to_torch(array) for name, array in inputs.items()})
    return inputs


def encode_padded(
    tokenizer: _Tokenizer,
    texts: Any,
    length: int,
    *,
    dtype: DTypeLike = np.int32,
    add_special_tokens: bool = True,
    padding_side: Literal["right", "left"] | None = None,
    truncation_side: Literal["right", "left"] | None = None,
    pad_token: str | None = None,
    pad_id: int | None = None,
    special: Any = None,
    errors: Literal["strict", "replace"] = "strict",
    nulls: Literal["error", "empty"] = "error",
    num_threads: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ids of texts as an array of fixed width, and where they are: for dask, xarray and other array pipelines.

    Parameters
    ----------
    tokenizer : Tokenizer
    texts : what :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch` takes, or an array of strings of any shape
    length : int
        Width: longer rows are cut, shorter ones filled.
    dtype : {int32, int64}
    add_special_tokens, padding_side, truncation_side, pad_token, pad_id, special, errors, nulls, num_threads
        As of :func:`model_inputs`.

    Returns
    -------
    ids, mask : dtype[..., length], dtype[..., length]
        The mask is 1 at ids and 0 at padding. The shape before the last axis is that of an array of texts.

    Raises
    ------
    ValueError
        The type is another one, ``length`` is less than the number of special tokens, or there is no padding token.
    InvalidTextError, MissingRowError, SpecialTokenError, TypeError
        As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`.

    Examples
    --------
    >>> import numba_nlp as nlp
    >>> tok = nlp.load_tokenizer("gpt2.safetensors")  # doctest: +SKIP
    >>> ids, mask = nlp.encode_padded(tok, ["To be", "or"], 4, pad_id=50256)  # doctest: +SKIP
    >>> ids.tolist()  # doctest: +SKIP
    [[2514, 307, 50256, 50256], [273, 50256, 50256, 50256]]
    """
    kind = _id_dtype(dtype)
    _check_tokenizer(tokenizer)
    choice("nulls", nulls, ("error", "empty"))
    length = whole("length", length, 0)
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"`texts` is one {type(texts).__name__}; pass a list or an array of texts")
    settings = tokenizer.input_settings
    template = choose_template(settings, False, add_special_tokens)
    truncated = plan_truncation(
        settings, template, truncation=True, max_length=length, stride=0, side=truncation_side, is_padded=True,
        wants_windows=False, name="length",
    )  # fmt: skip
    padded = plan_padding(
        settings, truncated, padding="max_length", max_length=length, multiple_of=None, side=padding_side,
        pad_id=_pad_id(tokenizer, pad_token, pad_id),
    )  # fmt: skip
    assert padded is not None
    shape: tuple[int, ...] | None = None
    if isinstance(texts, np.ndarray) and texts.ndim != 1:
        shape, texts = texts.shape, texts.reshape(-1)
    options = {"special": special, "errors": errors, "nulls": nulls, "num_threads": num_threads}
    first, second = _encode(tokenizer, texts, None, False, False, options)
    windows = cut_texts(first, second, template, truncated, False)
    n = windows.rows.size
    layout = Layout(template, windows, np.arange(n + 1) * length, padded.left, kind)
    ids = layout.values(template.parts, first.values, second.values, padded.pad_id)
    mask = layout.marks(template.entries(1, 1, 1), 0)
    full_shape = (*((n,) if shape is None else shape), length)
    return ids.reshape(full_shape), mask.reshape(full_shape)


def _id_dtype(dtype: Any) -> type[np.int32] | type[np.int64]:
    """The one of the two types that is meant."""
    found = None
    # NumPy warns of the names that begin with "a", which are bytes
    if isinstance(dtype, (type, np.dtype)) or (isinstance(dtype, str) and not dtype.startswith("a")):
        with suppress(TypeError, ValueError):
            found = np.dtype(dtype)
    for kind in (np.int32, np.int64):
        if found == np.dtype(kind):
            return kind
    raise ValueError(f"`dtype` must be int32 or int64, got {shown(dtype)}")


def _check_tokenizer(tokenizer: Any) -> None:
    if not isinstance(getattr(tokenizer, "input_settings", None), InputSettings):
        raise TypeError(f"`tokenizer` must be a Tokenizer, got {shown(tokenizer)}; load_tokenizer makes one")


def _pad_id(tokenizer: _Tokenizer, pad_token: str | None, pad_id: int | None) -> int | None:
    if pad_token is None:
        if pad_id is not None and (isinstance(pad_id, bool) or not isinstance(pad_id, (int, np.integer))):
            raise TypeError(f"`pad_id` must be an int, got {type(pad_id).__name__}")
        if pad_id is not None and not -(2**31) <= pad_id < 2**31:
            raise ValueError(f"`pad_id` must fit int32, got {pad_id}")
        return None if pad_id is None else int(pad_id)
    if pad_id is not None:
        raise ValueError("give `pad_token` or `pad_id`, not both")
    return tokenizer.token_to_id(string("pad_token", pad_token))


def _encode(
    tokenizer: _Tokenizer, texts: Any, pairs: Any, spans: bool, words: bool, options: dict[str, Any]
) -> tuple[Texts, Texts]:
    """Encode first and second texts, without special tokens; all are checked before any is encoded."""
    checks = {name: options[name] for name in ("errors", "nulls")}
    if pairs is not None:
        pairs = TextRows.from_any(pairs, **checks)
    if pairs is not None or words:
        texts = TextRows.from_any(texts, **checks)

    def encode(rows: Any) -> Texts:
        encoded = tokenizer.encode_batch(rows, spans=spans, **options)
        starts, ends = encoded.starts, encoded.ends
        numbers = tokenizer.word_numbers(rows, encoded, options["special"]) if words else NO_VALUES
        no_spans = NO_OFFSETS
        return Texts(
            encoded.values,
            read_only(encoded.offsets),
            no_spans if starts is None else starts,
            no_spans if ends is None else ends,
            numbers,
        )

    if pairs is None:
        return encode(texts), NO_TEXTS
    check_lengths(len(texts), len(pairs))
    return encode(texts), encode(pairs)


def _unwrap(inputs: ModelInputs) -> None:
    """Take the one row out of each entry."""
    for name, value in inputs.items():
        if isinstance(value, Ragged):
            inputs[name] = value.values.astype(np.int64)
        elif value.ndim == 2:
            inputs[name] = value[0]
