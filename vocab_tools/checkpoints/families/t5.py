"""T5: pieces of the model, and sentinels ``<extra_id_99>`` to ``<extra_id_0>`` behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.families.parts import SPIECE_FILES, scored
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.options import number_of
from vocab_tools.checkpoints.stage_json import metaspace, precompiled, unigram, word_metaspace
from vocab_tools.checkpoints.templates import named_token, template

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME = "T5Tokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    count, given = number_of(options, "extra_ids", 100), options["additional_special_tokens"]
    sentinels = [f"<extra_id_{number}>" for number in range(count)]
    if given is None:
        options["additional_special_tokens"] = sentinels
    else:
        known = sum("<extra_id_" in str(token) for token in given)
        if not known:
            options["additional_special_tokens"] = [*given, *sentinels]
        elif 0 < count != known:
            raise SourceFormatError(
                f"{_NAME}: extra_ids={count}, but additional_special_tokens holds {known} of the sentinels; give "
                f"all of them, or extra_ids={known}"
            )
    return {
        "model": unigram(scored(native, _NAME), 2),
        "normalizer": None if native.charsmap is None else precompiled(native.charsmap),
        "pre_tokenizer": word_metaspace(),
        "decoder": metaspace(),
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    # the end is written so even where the vocabulary calls it otherwise
    end = document.token_id(named_token(options, "eos_token", _NAME))
    document.state["post_processor"] = template(
        ["$A", "</s>"], ["$A", "</s>", "$B", "</s>"], {"</s>": end}, source=_NAME
    )


_T5 = Family(
    names=(_NAME,),
    files=SPIECE_FILES,
    model="Unigram",
    defaults={
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "extra_ids": 100,
        "additional_special_tokens": None,
    },
    build=_build,
    finish=_finish,
)
FAMILIES = (_T5,)
