"""BARThez: BPE over a SentencePiece model.

The class of transformers 5 takes Unigram vocabularies only, and fails with that of BARThez itself. With such a one this
is what the ``tokenizer.json`` of the checkpoint says, which transformers 4 took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vocab_tools.checkpoints.families.parts import FAIRSEQ_TOKENS, MODEL_FILES, mask_with, scored, two_ends
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.spm_extraction import generate_merges
from vocab_tools.checkpoints.stage_json import bpe, metaspace, precompiled, regex, sequence, unigram, word_metaspace

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]

_NAME = "BarthezTokenizer"


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    options["mask_token"] = mask_with(options["mask_token"])
    scheme = "always" if options["add_prefix_space"] else "never"
    if isinstance(native.vocab, dict):
        return {
            "model": bpe(native.vocab, _merges(native.vocab), unk_token=str(options["unk_token"])),
            "normalizer": None if native.charsmap is None else precompiled(native.charsmap),
            "pre_tokenizer": word_metaspace(scheme),
            "decoder": metaspace(scheme),
        }
    stages = [
        regex(r"\s{2,}|[\n\r\t]", " "),
        {"type": "NFC"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
    ]
    return {
        "model": unigram(scored(native, _NAME), 3),
        "normalizer": sequence("normalizer", stages),
        "pre_tokenizer": metaspace(scheme),
        "decoder": metaspace(scheme),
    }


def _merges(vocab: dict[str, int]) -> list[tuple[str, str]]:
    """Merges in the order of the checkpoint's file: by the ids of the token, of its left and of its right part."""
    return sorted(generate_merges(vocab), key=lambda parts: (vocab["".join(parts)], vocab[parts[0]], vocab[parts[1]]))


def _finish(document: Document, options: dict[str, Any]) -> None:
    # the class itself leaves Unigram texts without special tokens
    if document.state["model"]["type"] == "BPE":
        document.state["post_processor"] = two_ends(document, options, _NAME)


_BARTHEZ = Family(
    names=(_NAME,),
    files=MODEL_FILES,
    model=None,
    defaults={**FAIRSEQ_TOKENS, "add_prefix_space": True},
    build=_build,
    finish=_finish,
)
FAMILIES = (_BARTHEZ,)
