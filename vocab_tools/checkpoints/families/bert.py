"""BERT and what is read as BERT (Electra, MobileBERT, LayoutLM ...), and DistilBERT: WordPiece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.families.vocabulary_files import flag, required_id, vocabulary_of
from vocab_tools.checkpoints.family import Family, Native

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document

__all__ = ["FAMILIES"]


def _build(options: dict[str, Any], native: Native) -> dict[str, Any]:
    strips = options["strip_accents"]
    if type(strips) not in (bool, type(None)):
        raise SourceFormatError(f"strip_accents must be true, false or null, got {strips!r:.80}")
    return {
        "model": {
            "type": "WordPiece",
            "unk_token": str(options["unk_token"]),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocabulary_of(native),
        },
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": flag(options, "tokenize_chinese_chars"),
            "strip_accents": strips,
            "lowercase": flag(options, "do_lower_case"),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    }


def _finish(document: Document, options: dict[str, Any]) -> None:
    first, last = required_id(document, options, "cls_token"), required_id(document, options, "sep_token")

    def special(token: list[Any], kind: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": token[0], "type_id": kind}}

    single = [special(first, 0), {"Sequence": {"id": "A", "type_id": 0}}, special(last, 0)]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, special(last, 1)]
    for token, _ in (first, last):
        if token[0] == "$" or " " in token or ":" in token:
            raise SourceFormatError(f"{document.source}: the token {token!r} cannot stand in a template")
    document.state["post_processor"] = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, *second],
        "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]} for token, number in (first, last)},
    }


def _family(names: tuple[str, ...], inputs: list[str]) -> Family:
    return Family(
        names=names,
        files={"vocab_file": "vocab.txt", "tokenizer_file": "tokenizer.json"},
        model="WordPiece",
        defaults={
            "do_lower_case": True,
            "unk_token": "[UNK]",
            "sep_token": "[SEP]",
            "pad_token": "[PAD]",
            "cls_token": "[CLS]",
            "mask_token": "[MASK]",
            "tokenize_chinese_chars": True,
            "strip_accents": None,
            "model_input_names": inputs,
        },
        build=_build,
        finish=_finish,
    )


FAMILIES = (
    _family(
        (
            "BertTokenizer",
            "ElectraTokenizer",
            "LayoutLMTokenizer",
            "LxmertTokenizer",
            "MobileBertTokenizer",
            "SqueezeBertTokenizer",
        ),
        ["input_ids", "token_type_ids", "attention_mask"],
    ),
    _family(("DistilBertTokenizer",), ["input_ids", "attention_mask"]),
)
