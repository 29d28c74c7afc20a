"""The neutral description of a vocabulary: what every reader gives and what the compiler takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocab_tools.formats.stages.normalizers import Normalizer

if TYPE_CHECKING:
    from vocab_tools.formats.model_inputs import InputSettings

__all__ = [
    "KIND_ABSENT",
    "KIND_BYTE",
    "KIND_CONTROL",
    "KIND_NORMAL",
    "KIND_USER_DEFINED",
    "MAX_IDS",
    "TEXT_PLACE",
    "AddedToken",
    "Description",
]

KIND_NORMAL = 0
#: A special token.
KIND_CONTROL = 2
#: An added token that is not special.
KIND_USER_DEFINED = 3
#: A piece of one byte.
KIND_BYTE = 5
#: An id that the vocabulary leaves unused.
KIND_ABSENT = 255

#: Largest number of ids that is accepted, gaps included; guards against one absurd id asking for gigabytes.
MAX_IDS = 1 << 24
#: Stands for the text itself in a template.
TEXT_PLACE = -1


@dataclass(frozen=True)
class AddedToken:
    """A token that is matched in the text before it is cut into pieces.

    Attributes
    ----------
    content : str
        The text that is matched.
    id : int
    special : bool
        Left out when decoding with ``skip_special_tokens``.
    lstrip, rstrip : bool
        White space to the left, to the right is taken into the match.
    single_word : bool
        Matched only where no word character touches it.
    normalized : bool
        Matched in the normalised text, after the tokens that are not.
    """

    content: str
    id: int
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


@dataclass(frozen=True)
class Description:
    """A byte-level BPE vocabulary as its files state it, with nothing derived yet.

    Attributes
    ----------
    name : str
        What people call it: a known encoding's name, else the file's stem.
    source_format : {"gpt2", "tokenizer.json", "tiktoken"}
    source_digest : str
        sha256 (hex) of the source; of the digests of its files where there are several.
    reference : {"tokenizers", "tiktoken"}
        The library whose results are reproduced.
    pieces : list of (bytes or None)
        By id: the bytes that a pre-token must consist of to be this piece of the model; None for ids that no text
        can reach through the model (added tokens outside the model, gaps).
    decoded : list of bytes
        By id: what the reference's decoder makes of it; ``b""`` for gaps.
    kinds : uint8[V]
        By id: one of the ``KIND_*`` constants.
    merges : int32[M, 3] or None
        Ids of left part, right part and product, in order of rank; None where any two neighbours merge whose
        concatenation is a piece, the lowest id first (rank files).
    added_tokens : tuple of AddedToken
    pattern, pattern_regex : str
        Name of the scanner ("regex" when there is none) and the pre-token pattern as a regular expression.
    add_prefix_space : bool
        A space is put before every stretch of text between added tokens that does not start with a space (U+0020).
    trim_offsets : bool
        Spans leave out the spaces (U+0020) at the ends of a token.
    trim_keeps_prefix_space : bool
        With ``trim_offsets``: one leading space of a token at the start of the text counts as the one that
        ``add_prefix_space`` put there, and is not trimmed.
    ignore_merges : bool
        A pre-token that is itself a piece gives that piece without merging.
    normalizers : tuple of normalizers
        What is done to text before it is cut, in this order.
    special_policy : {"raise", "match", "plain"}
        What is done with special tokens written in the text.
    template_single : tuple of int
        Ids that make up one encoded text when special tokens are asked for, ``TEXT_PLACE`` for the text itself;
        empty when nothing is added.
    inputs : InputSettings or None
        What the source says about model inputs; None where it says nothing. Its template for one text is
        ``template_single``.
    """

    name: str
    source_format: str
    source_digest: str
    reference: str
    pieces: list[bytes | None] = field(repr=False)
    decoded: list[bytes] = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)
    merges: NDArray[np.int32] | None = field(repr=False)
    added_tokens: tuple[AddedToken, ...] = field(repr=False)
    pattern: str
    pattern_regex: str
    add_prefix_space: bool = False
    trim_offsets: bool = False
    trim_keeps_prefix_space: bool = False
    ignore_merges: bool = False
    normalizers: tuple[Normalizer, ...] = ()
    special_policy: str = "match"
    template_single: tuple[int, ...] = ()
    inputs: InputSettings | None = None
