"""ALBERT: as XLNet, with the template of BERT."""

from __future__ import annotations

from typing import Any

from vocab_tools.checkpoints.families.parts import SPIECE_FILES, accents_and_case, scored
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.stage_json import metaspace, unigram, word_metaspace
from vocab_tools.checkpoints.templates import template

__all__ = ["FAMILIES"]

_NAME = "AlbertTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    vocab = scored(native, _NAME)
    ids = {piece: number for number, (piece, _) in enumerate(vocab)}
    scheme = "always" if options["add_prefix_space"] else "never"
    lower, accents = options["do_lower_case"], options["keep_accents"]
    return {
        "model": unigram(vocab, 1),
        "normalizer": accents_and_case(accents=accents, lower=lower, charsmap=native.charsmap),
        "pre_tokenizer": word_metaspace(scheme),
        "decoder": metaspace(scheme),
        # written so whatever the two are called, and before any token is added
        "post_processor": template(
            "[CLS]:0 $A:0 [SEP]:0",
            "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            {"[CLS]": ids.get(str(options["cls_token"])), "[SEP]": ids.get(str(options["sep_token"]))},
            source=_NAME,
        ),
    }


_ALBERT = Family(
    names=(_NAME,),
    files=SPIECE_FILES,
    model="Unigram",
    defaults={
        "do_lower_case": True,
        "keep_accents": False,
        "bos_token": "[CLS]",
        "eos_token": "[SEP]",
        "unk_token": "<unk>",
        "sep_token": "[SEP]",
        "pad_token": "<pad>",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "add_prefix_space": True,
        "trim_offsets": True,
    },
    build=_build,
)
FAMILIES = (_ALBERT,)
