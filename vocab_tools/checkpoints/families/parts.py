"""What several classes over SentencePiece models share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba_nlp.errors import UnsupportedFeatureError
from vocab_tools.checkpoints.family import Native
from vocab_tools.checkpoints.settings import AddedTokenOptions
from vocab_tools.checkpoints.stage_json import precompiled, sequence, string
from vocab_tools.checkpoints.templates import named_token, template

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = [
    "FAIRSEQ_TOKENS",
    "MODEL_FILES",
    "SPIECE_FILES",
    "accents_and_case",
    "mask_with",
    "merging",
    "scored",
    "two_ends",
]

SPIECE_FILES = {"vocab_file": "spiece.model", "tokenizer_file": "tokenizer.json"}
MODEL_FILES = {"vocab_file": "sentencepiece.bpe.model", "tokenizer_file": "tokenizer.json"}
FAIRSEQ_TOKENS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "cls_token": "<s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}


def scored(native: Native, name: str) -> list[tuple[str, float]]:
    """The pieces and scores that a Unigram class needs.

    Raises
    ------
    UnsupportedFeatureError
        The vocabulary is that of another model.
    """
    if not isinstance(native.vocab, list):
        found = "none" if native.vocab is None else "one without scores, as of BPE"
        raise UnsupportedFeatureError(
            f"{name} of transformers 5 takes a Unigram vocabulary, and this folder has {found}, with which it fails; "
            "compile the .model or the tokenizer.json by itself, by its path"
        )
    return native.vocab


def merging(native: Native, name: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The tokens and merges that a BPE class needs.

    Raises
    ------
    UnsupportedFeatureError
        The vocabulary is that of another model.
    """
    if not isinstance(native.vocab, dict):
        found = "none" if native.vocab is None else "one of Unigram"
        raise UnsupportedFeatureError(
            f"{name} of transformers 5 takes a BPE vocabulary, and this folder has {found}; compile its .model or "
            "tokenizer.json by itself, by its path"
        )
    return native.vocab, native.merges or []


def mask_with(mask: Any, **options: bool) -> Any:
    """A mask given as text takes the space before it, as a word does."""
    return AddedTokenOptions(mask, lstrip=True, **options) if isinstance(mask, str) else mask


def accents_and_case(*, accents: bool, lower: bool, charsmap: bytes | None) -> dict[str, Any]:
    """The normalizer of XLNet and ALBERT: quotes, accents (unless they are kept), case, and the charsmap."""
    stages: list[dict[str, Any]] = [string("``", '"'), string("''", '"')]
    if not accents:
        stages += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if lower:
        stages.append({"type": "Lowercase"})
    if charsmap is not None:
        stages.append(precompiled(charsmap))
    return sequence("normalizer", stages)


def two_ends(document: Document, options: dict[str, Any], name: str) -> dict[str, Any]:
    """The template of RoBERTa: ``<s> A </s>``, and ``<s> A </s> </s> B </s>``, all of type 0."""
    start, end = named_token(options, "bos_token", name), named_token(options, "eos_token", name)
    ids = {start: document.token_id(start), end: document.token_id(end)}
    return template([start, "$A", end], [start, "$A", end, end, "$B", end], ids, source=name)
