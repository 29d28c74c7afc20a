"""CamemBERT: as XLM-R, but the special tokens of fairseq are called ``NOTUSED`` where the model has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.parts import (
    FAIRSEQ_TOKENS,
    MODEL_FILES,
    mask_with,
    scored,
    two_ends,
)
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.stage_json import metaspace, precompiled, unigram, word_metaspace

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME = "CamembertTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    if options["additional_special_tokens"] is None:
        options["additional_special_tokens"] = ["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"]
    options["mask_token"] = mask_with(options["mask_token"], special=True, normalized=False)
    vocab, unknown = scored(native, _NAME), str(options["unk_token"])
    scheme = "always" if options["add_prefix_space"] else "never"
    return {
        "model": unigram(vocab, next((i for i, (piece, _) in enumerate(vocab) if piece == unknown), 0)),
        "normalizer": None if native.charsmap is None else precompiled(native.charsmap),
        "pre_tokenizer": word_metaspace(scheme),
        "decoder": metaspace(scheme),
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    document.state["post_processor"] = two_ends(document, options, _NAME)


_CAMEMBERT = Family(
    names=(_NAME,),
    files=MODEL_FILES,
    model=None,
    defaults={**FAIRSEQ_TOKENS, "additional_special_tokens": None, "add_prefix_space": True},
    build=_build,
    finish=_finish,
)
FAMILIES = (_CAMEMBERT,)
