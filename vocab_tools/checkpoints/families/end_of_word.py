"""OpenAI's first GPT, and CLIP: BPE with ``</w>`` at the end of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.vocabulary_files import MERGED_FILES, bpe_of, required_id
from vocab_tools.checkpoints.family import Family, Native

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_SUFFIX = "</w>"
_START, _END = "<|startoftext|>", "<|endoftext|>"
#: What CLIP takes for a word.
_CLIP_WORDS = rf"{_START}|{_END}|'s|'t|'re|'ve|'m|'ll|'d|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+".replace(
    "<|", r"<\|"
).replace("|>", r"\|>")
_BYTE_LEVEL = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}


def _build_gpt(options: dict[str, Any], native: Native) -> dict[str, Any]:
    return {
        "model": bpe_of(native, suffix=_SUFFIX, unk_token=str(options["unk_token"])),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "BPEDecoder", "suffix": _SUFFIX},
    }


def _build_clip(options: dict[str, Any], native: Native) -> dict[str, Any]:
    white_space = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    words = {"type": "Split", "pattern": {"Regex": _CLIP_WORDS}, "behavior": "Removed", "invert": True}
    return {
        "model": bpe_of(native, suffix=_SUFFIX, unk_token=str(options["unk_token"])),
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, white_space, {"type": "Lowercase"}]},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [words, {**_BYTE_LEVEL, "add_prefix_space": False}],
        },
        "decoder": {**_BYTE_LEVEL, "add_prefix_space": True},
    }


def _finish_clip(document: Document, options: dict[str, Any]) -> None:
    document.state["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": required_id(document, options, "eos_token"),
        "cls": required_id(document, options, "bos_token"),
        "trim_offsets": False,
        "add_prefix_space": False,
    }


_GPT = Family(
    names=("OpenAIGPTTokenizer",),
    files=MERGED_FILES,
    model="BPE",
    defaults={"unk_token": "<unk>"},
    build=_build_gpt,
)
_CLIP = Family(
    names=("CLIPTokenizer",),
    files=MERGED_FILES,
    model="BPE",
    defaults={"unk_token": _END, "bos_token": _START, "eos_token": _END, "pad_token": _END},
    build=_build_clip,
    finish=_finish_clip,
    # the class wraps the decoder of tokenizers: the suffix is a space, and white space at both ends goes
    changes={"spaces_suffix": True, "strips": True},
)
FAMILIES = (_GPT, _CLIP)
