"""The ``tokenizer.json`` of a trained vocabulary: the stages that cut text as it was cut for training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vocab_tools.compiler.patterns import choose_pattern
from vocab_tools.formats.character_description import BertOptions
from vocab_tools.training.cuts import METASPACE, UNCASED

__all__ = ["added_tokens", "bpe_model", "bpe_stages", "document", "wordpiece_model", "wordpiece_stages"]

Json = dict[str, Any]
_STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def document(added: list[Json], stages: Mapping[str, Json | None], model: Json) -> Json:
    """All of a file; stages that are not given are null."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        **{stage: stages.get(stage) for stage in _STAGES},
        "model": model,
    }


def added_tokens(vocabulary: Mapping[str, int], special: Sequence[str], user_defined: Sequence[str]) -> list[Json]:
    """Tokens that are matched in the text before it is cut."""
    contents = dict.fromkeys(special, True) | dict.fromkeys(user_defined, False)
    return [
        {
            "id": vocabulary[content],
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": is_special,
        }
        for content, is_special in sorted(contents.items(), key=lambda item: vocabulary[item[0]])
    ]


def bpe_model(
    vocabulary: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    *,
    unk_token: str | None,
    prefix: str,
    suffix: str,
    byte_fallback: bool,
) -> Json:
    """The model of a BPE vocabulary."""
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk_token,
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
        "fuse_unk": False,
        "byte_fallback": byte_fallback,
        "ignore_merges": False,
        "vocab": _by_id(vocabulary),
        "merges": [list(pair) for pair in merges],
    }


def _by_id(vocabulary: Mapping[str, int]) -> Json:
    return dict(sorted(vocabulary.items(), key=lambda item: item[1]))


def bpe_stages(
    kind: str, cut: str | BertOptions, *, add_prefix_space: bool, suffix: str, byte_fallback: bool
) -> dict[str, Json | None]:
    """Stages of a BPE vocabulary of a kind."""
    if kind == "byte-level":
        assert isinstance(cut, str)
        return {
            "pre_tokenizer": _byte_level_words(cut, add_prefix_space),
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        }
    if kind == "sentencepiece":
        return {"pre_tokenizer": _metaspace(), "decoder": _byte_decoder() if byte_fallback else _metaspace()}
    decoder: Json | None = {"type": "BPEDecoder", "suffix": suffix} if suffix else None
    if cut == "whitespace":
        return {"pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": decoder}
    if cut == "none":
        return {"decoder": decoder}
    return {"normalizer": _bert_normalizer(cut), "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": decoder}


def _byte_level_words(cut: str, add_prefix_space: bool) -> Json:
    choice = choose_pattern(cut, "tokenizers")
    plain = {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": choice.name == "gpt2",
    }
    if choice.name == "gpt2":
        return plain
    splits = [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
        for regex in choice.regex.split("\n")
    ]
    return {"type": "Sequence", "pretokenizers": [*splits, plain]}


def _metaspace() -> Json:
    return {"type": "Metaspace", "replacement": METASPACE, "prepend_scheme": "always", "split": True}


def _byte_decoder() -> Json:
    return {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": METASPACE}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    }


def _bert_normalizer(cut: str | BertOptions) -> Json:
    return {"type": "BertNormalizer", **asdict(cut if isinstance(cut, BertOptions) else UNCASED)}


def wordpiece_model(vocabulary: Mapping[str, int], unk_token: str, prefix: str, limit: int) -> Json:
    """The model of a WordPiece vocabulary."""
    return {
        "type": "WordPiece",
        "unk_token": unk_token,
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": limit,
        "vocab": _by_id(vocabulary),
    }


def wordpiece_stages(vocabulary: Mapping[str, int], options: BertOptions, prefix: str) -> dict[str, Json | None]:
    """Stages of a WordPiece vocabulary; texts are framed where the vocabulary has BERT's tokens for that."""
    post = None
    if "[CLS]" in vocabulary and "[SEP]" in vocabulary:
        post = {
            "type": "BertProcessing",
            "sep": ["[SEP]", vocabulary["[SEP]"]],
            "cls": ["[CLS]", vocabulary["[CLS]"]],
        }
    return {
        "normalizer": _bert_normalizer(options),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": post,
        "decoder": {"type": "WordPiece", "prefix": prefix, "cleanup": True},
    }
