"""XLM-R: fairseq's four special tokens first, and so every piece one id further than in its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.parts import FAIRSEQ_TOKENS, MODEL_FILES, scored, two_ends
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.stage_json import metaspace, precompiled, unigram, word_metaspace

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME = "XLMRobertaTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    scheme = "always" if options["add_prefix_space"] else "never"
    return {
        "model": unigram(scored(native, _NAME), 3),
        "normalizer": None if native.charsmap is None else precompiled(native.charsmap),
        "pre_tokenizer": word_metaspace(scheme),
        "decoder": metaspace(scheme),
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    document.state["post_processor"] = two_ends(document, options, _NAME)


_XLM_ROBERTA = Family(
    names=(_NAME,),
    files=MODEL_FILES,
    model="Unigram",
    defaults={**FAIRSEQ_TOKENS, "add_prefix_space": True},
    build=_build,
    finish=_finish,
)
FAMILIES = (_XLM_ROBERTA,)
