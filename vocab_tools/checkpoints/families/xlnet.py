"""XLNet: quotes, accents and case are evened out, and the special tokens stand behind the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.parts import SPIECE_FILES, accents_and_case, mask_with, scored
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.options import number_of
from vocab_tools.checkpoints.stage_json import metaspace, unigram, word_metaspace
from vocab_tools.checkpoints.templates import named_token, template

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME = "XLNetTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    if options["additional_special_tokens"] is None:
        options["additional_special_tokens"] = ["<eop>", "<eod>"]
    options["mask_token"] = mask_with(options["mask_token"])
    return {
        "model": unigram(scored(native, _NAME), number_of(options, "unk_id", 0)),
        # keep_accents is taken and does nothing, as in the reference
        "normalizer": accents_and_case(accents=False, lower=options["do_lower_case"], charsmap=native.charsmap),
        "pre_tokenizer": word_metaspace(),
        "decoder": metaspace(),
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    sep, cls = named_token(options, "sep_token", _NAME), named_token(options, "cls_token", _NAME)
    document.state["post_processor"] = template(
        f"$A:0 {sep}:0 {cls}:2",
        f"$A:0 {sep}:0 $B:1 {sep}:1 {cls}:2",
        {sep: document.token_id(sep), cls: document.token_id(cls)},
        source=_NAME,
    )


_XLNET = Family(
    names=(_NAME,),
    files=SPIECE_FILES,
    model="Unigram",
    defaults={
        "unk_id": 0,
        "do_lower_case": False,
        "remove_space": True,
        "keep_accents": False,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "sep_token": "<sep>",
        "pad_token": "<pad>",
        "cls_token": "<cls>",
        "mask_token": "<mask>",
        "additional_special_tokens": None,
        "padding_side": "left",
    },
    build=_build,
    finish=_finish,
)
FAMILIES = (_XLNET,)
