"""NLLB: BPE over a SentencePiece model, and the code of the language before the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.parts import FAIRSEQ_TOKENS, MODEL_FILES, mask_with, merging
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.language import language_of
from vocab_tools.checkpoints.languages import NLLB_LANGUAGES
from vocab_tools.checkpoints.stage_json import bpe, metaspace, precompiled, regex, sequence
from vocab_tools.checkpoints.templates import named_token, template

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME = "NllbTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    if options["extra_special_tokens"] is None:
        given = options["additional_special_tokens"]
        options["extra_special_tokens"] = list(NLLB_LANGUAGES) if given is None else given
    options["mask_token"] = mask_with(options["mask_token"], special=True, normalized=True)
    vocab, merges = merging(native, _NAME)
    spaces = regex(" {2,}", " ")
    return {
        "model": bpe(vocab, merges, unk_token=str(options["unk_token"])),
        "normalizer": None
        if native.charsmap is None
        else sequence("normalizer", [precompiled(native.charsmap), spaces]),
        "pre_tokenizer": metaspace(),
        "decoder": metaspace(),
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    end = named_token(options, "eos_token", _NAME)
    code, number = language_of(document, options, "eng_Latn", NLLB_LANGUAGES)
    before, behind = ([], [end, code]) if options["legacy_behaviour"] else ([code], [end])
    document.state["post_processor"] = template(
        [*before, "$A", *behind],
        [*before, "$A", "$B", *behind],
        {end: document.token_id(end), code: number},
        source=_NAME,
    )


_NLLB = Family(
    names=(_NAME,),
    files=MODEL_FILES,
    model="BPE",
    defaults={
        **FAIRSEQ_TOKENS,
        "src_lang": None,
        "tgt_lang": None,
        "target": False,
        "additional_special_tokens": None,
        "extra_special_tokens": None,
        "legacy_behaviour": False,
    },
    build=_build,
    finish=_finish,
)
FAMILIES = (_NLLB,)
