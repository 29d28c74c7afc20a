"""The neutral description of a character BPE vocabulary: what its readers give and what the compiler takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vocab_tools.formats.description import AddedToken
from vocab_tools.formats.model_inputs import InputSettings

__all__ = ["BertOptions", "CharacterDescription"]


@dataclass(frozen=True)
class BertOptions:
    """Options of BERT's normaliser; all off is none."""

    clean_text: bool = False
    handle_chinese_chars: bool = False
    strip_accents: bool | None = False
    lowercase: bool = False


@dataclass(frozen=True)
class CharacterDescription:
    """A character BPE vocabulary as its files state it, with nothing derived yet.

    Attributes
    ----------
    name : str
    source_format : {"openai-gpt", "ctrl", "clip", "subword-nmt", "tokenizer.json", "pairs"}
    source_digest : str
        sha256 (hex) of the source.
    reference : {"tokenizers", "transformers", "subword-nmt", "pairs"}
        The library whose results are reproduced.
    words : {"bert", "white", "spaces", "whole", "clip"}
        What a word is (:mod:`numba_nlp.kernels.segment.character_words`).
    vocabulary : Mapping of str to int
        Tokens of the model and their ids, as written.
    kinds : uint8[V]
        By id: one of the ``KIND_*`` constants of :mod:`vocab_tools.formats.description`.
    merges : tuple of (str, str)
        In order of rank, each pair once, as written.
    ranks : tuple of int, optional
        Rank of each merge, never falling; by default its place.
    unknown : int
        Id of what is no token.
    fuse_unknown : bool
        Whether a run of unknown characters in a word is one token.
    prefix, suffix : str
        What tokens that go on within a word begin with, and what the last one of a word ends with: ``</w>``.
    separator : str
        Token of a symbol that others follow in its word: the symbol with this behind it; of the last symbol: without
        the suffix. Empty where symbols are tokens as they are.
    suffix_is_symbol : bool
        The suffix is a symbol by itself behind the word (subword-nmt, version 0.1).
    in_passes : bool
        All places of the best pair merge in one pass, as in subword-nmt and CTRL.
    allowed : frozenset of str, optional
        Merges that make tokens which are not among these are taken back (subword-nmt's vocabulary filter).
    byte_characters : bool
        The characters are bytes, written in GPT-2's byte alphabet; ASCII letters are taken in lower case.
    newline_ends_word : bool
        A line feed right behind a word belongs to it.
    bert : BertOptions
        For words of BERT.
    decoder : {"suffix", "separator", "separator-end", "bytes", "spaces"}
        How tokens are joined: the suffix is a space, and nothing in the last token; the separator and the space behind
        it go (the separator of the last token too, with ``"separator-end"``); bytes of the byte alphabet; a space
        between any two.
    strips : bool
        White space at both ends of decoded text goes.
    spaces_suffix : bool
        In decoded text the suffix becomes a space.
    normalized : bool
        Text is brought into the normal form NFC and into lower case first.
    added_tokens : tuple of AddedToken
    special_policy : {"raise", "match", "plain"}
        What is done with special tokens written in the text.
    special_search : {"tokenizers", "transformers"}
        By whose rules special tokens are looked for.
    template_single : tuple of int
        Ids that make up one encoded text when special tokens are asked for.
    clean_up : bool
        Decoded text loses the spaces before punctuation and English endings (transformers'
        ``clean_up_tokenization_spaces``).
    inputs : InputSettings or None
        What the source says about model inputs; None where it says nothing. Its template for one text is
        ``template_single``.
    """

    name: str
    source_format: str
    source_digest: str
    reference: str
    words: str
    vocabulary: Mapping[str, int] = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)
    merges: tuple[tuple[str, str], ...] = field(repr=False)
    unknown: int
    ranks: tuple[int, ...] | None = field(default=None, repr=False)
    fuse_unknown: bool = False
    prefix: str = ""
    suffix: str = "</w>"
    separator: str = ""
    suffix_is_symbol: bool = False
    in_passes: bool = False
    allowed: frozenset[str] | None = field(default=None, repr=False)
    byte_characters: bool = False
    newline_ends_word: bool = False
    bert: BertOptions = BertOptions()
    decoder: str = "suffix"
    strips: bool = False
    spaces_suffix: bool = False
    normalized: bool = False
    added_tokens: tuple[AddedToken, ...] = field(default=(), repr=False)
    special_policy: str = "match"
    special_search: str = "tokenizers"
    template_single: tuple[int, ...] = ()
    clean_up: bool = False
    inputs: InputSettings | None = None
