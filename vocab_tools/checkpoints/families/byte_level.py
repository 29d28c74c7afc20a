"""GPT-2, RoBERTa and what is read as they are (BART, Longformer, LED, MVP): byte-level BPE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.vocabulary_files import MERGED_FILES, bpe_of, flag, required_id
from vocab_tools.checkpoints.family import Family, Native

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_END = "<|endoftext|>"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    prefix = flag(options, "add_prefix_space")
    return {
        "model": bpe_of(native, suffix=""),
        "pre_tokenizer": _byte_level(prefix),
        "decoder": _byte_level(True),
    }


def _byte_level(prefix: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True}


def _finish_roberta(document: Document, options: dict[str, Any]) -> None:
    document.state["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": required_id(document, options, "sep_token"),
        "cls": required_id(document, options, "cls_token"),
        "trim_offsets": flag(options, "trim_offsets"),
        "add_prefix_space": flag(options, "add_prefix_space"),
    }


_GPT2 = Family(
    names=("GPT2Tokenizer",),
    files=MERGED_FILES,
    model="BPE",
    defaults={
        "errors": "replace",
        "unk_token": _END,
        "bos_token": _END,
        "eos_token": _END,
        "pad_token": None,
        "add_prefix_space": False,
    },
    build=_build,
)
_ROBERTA = Family(
    names=("RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer"),
    files=MERGED_FILES,
    model="BPE",
    defaults={
        "errors": "replace",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "cls_token": "<s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "mask_token": "<mask>",
        "add_prefix_space": False,
        "trim_offsets": True,
    },
    build=_build,
    finish=_finish_roberta,
)
FAMILIES = (_GPT2, _ROBERTA)
