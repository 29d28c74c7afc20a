"""mBART and mBART-50: pieces one id further, a code for every language, and the code of the text around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.parts import FAIRSEQ_TOKENS, MODEL_FILES, mask_with, scored
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.language import language_of
from vocab_tools.checkpoints.languages import MBART50_LANGUAGES, MBART_LANGUAGES
from vocab_tools.checkpoints.stage_json import metaspace, precompiled, regex, sequence, unigram, word_metaspace
from vocab_tools.checkpoints.templates import named_token, template

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME, _NAME50 = "MBartTokenizer", "MBart50Tokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    given = options["additional_special_tokens"] or ()
    options["additional_special_tokens"] = [
        *MBART_LANGUAGES,
        *(token for token in given if token not in MBART_LANGUAGES),
    ]
    options["mask_token"] = mask_with(options["mask_token"])
    return {
        "model": unigram(scored(native, _NAME), 3),
        "normalizer": None,  # not even the charsmap of the model, as in the reference
        "pre_tokenizer": word_metaspace(),
        "decoder": metaspace(),
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    end = named_token(options, "eos_token", _NAME)
    code, number = language_of(document, options, "en_XX", MBART_LANGUAGES)
    document.state["post_processor"] = template(
        ["$A", end, code], ["$A", "$B", end, code], {end: document.token_id(end), code: number}, source=_NAME
    )


def _build50(options: dict[str, Any], native: Native) -> dict[str, Any]:
    options["additional_special_tokens"] = [*(options["additional_special_tokens"] or ()), *MBART50_LANGUAGES]
    options["mask_token"] = mask_with(options["mask_token"])
    vocab = scored(native, _NAME50)
    pieces = {piece for piece, _ in vocab}
    if pieces.isdisjoint(MBART50_LANGUAGES):
        named = [(str(options[key]), 0.0) for key in ("cls_token", "pad_token", "eos_token", "unk_token")]
        codes = [(code, 0.0) for code in MBART50_LANGUAGES]
        vocab = [*named, *vocab[3:], *codes, (str(options["mask_token"]), 0.0)]
    stages = [] if native.charsmap is None else [precompiled(native.charsmap)]
    return {
        "model": unigram(vocab, 3),
        "normalizer": sequence("normalizer", [*stages, regex(" {2,}", " ")]),
        "pre_tokenizer": metaspace(),
        "decoder": metaspace(),
    }


def _finish50(document: Document, options: dict[str, Any]) -> None:
    end = named_token(options, "eos_token", _NAME50)
    code, number = language_of(document, options, "en_XX", MBART50_LANGUAGES)
    document.state["post_processor"] = template(
        [code, "$A", end], [code, "$A", "$B", end], {code: number, end: document.token_id(end)}, source=_NAME50
    )


_LANGUAGES = {"src_lang": None, "tgt_lang": None, "target": False}

_MBART = Family(
    names=(_NAME,),
    files=MODEL_FILES,
    model="Unigram",
    defaults={**FAIRSEQ_TOKENS, **_LANGUAGES, "additional_special_tokens": None},
    build=_build,
    finish=_finish,
)
_MBART50 = Family(
    names=(_NAME50,),
    files=MODEL_FILES,
    model="Unigram",
    # unlike the others, this class has no token for the start
    defaults={
        **{key: token for key, token in FAIRSEQ_TOKENS.items() if key != "bos_token"},
        **_LANGUAGES,
        "additional_special_tokens": None,
    },
    build=_build50,
    finish=_finish50,
)
FAMILIES = (_MBART, _MBART50)
