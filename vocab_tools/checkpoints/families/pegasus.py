"""Pegasus: two masks and a hundred unknown tokens before the pieces of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.families.parts import SPIECE_FILES, scored
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.options import number_of
from vocab_tools.checkpoints.stage_json import metaspace, precompiled, regex, sequence, unigram
from vocab_tools.checkpoints.templates import named_token, template

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME = "PegasusTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    given, sentences = options["additional_special_tokens"], options["mask_token_sent"]
    # tokens with options of their own are equal to no text, in the reference too
    named = sentences is not None and sentences not in (given or ())
    unused = [f"<unk_{number}>" for number in range(2, number_of(options, "offset", 103))]
    options["additional_special_tokens"] = [sentences, *unused] if named else unused
    vocab = scored(native, _NAME)
    unknown = (str(options["unk_token"]), 0.0)
    if unknown not in vocab[1:]:
        raise SourceFormatError(
            f"{_NAME}: the unknown token {unknown[0]!r} must be a piece with the score 0 behind the first two of the "
            "model, and this model has none; is it the model of a Pegasus?"
        )
    runs = regex(" {2,}", " ")
    first = regex(r"\n", " ") if native.charsmap is None else precompiled(native.charsmap)
    return {
        "model": unigram(vocab, vocab.index(unknown, 1)),
        "normalizer": sequence("normalizer", [first, runs]),
        "pre_tokenizer": metaspace(),
        "decoder": metaspace(),
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    end = named_token(options, "eos_token", _NAME)
    document.state["post_processor"] = template(
        f"$A {end}", f"$A $B {end}", {end: document.token_id(end)}, source=_NAME
    )


_PEGASUS = Family(
    names=(_NAME,),
    files=SPIECE_FILES,
    model="Unigram",
    defaults={
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask_2>",
        "mask_token_sent": "<mask_1>",
        "additional_special_tokens": None,
        "offset": 103,
    },
    build=_build,
    finish=_finish,
)
FAMILIES = (_PEGASUS,)
