"""Checkpoint folders over SentencePiece models: every class with the settings that change what it builds."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from tests.spm_folders import folder_of, kinds

SPIECE, MODEL, PLAIN = "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"


class Case(NamedTuple):
    """A folder, and keywords of the caller."""

    name: str
    model: str | None
    file: str
    given: dict[str, Any]
    files: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.name}-{self.model}-{json.dumps(self.given or self.files)[:60]}"

    def write(self, path: Path) -> Path:
        return folder_of(path, self.name, self.model, self.file, **copy.deepcopy(self.files))

    def reference(self, path: Path) -> Any:
        """Transformers' tokenizer of the written folder."""
        os.environ["HF_HUB_OFFLINE"] = "1"
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(path, **copy.deepcopy(self.given))


def token(content: str, **options: bool) -> dict[str, Any]:
    """An added token as files write it."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"content": content, **flags, **options}


def _cases() -> list[Case]:
    cases: list[Case] = []

    def add(name: str, model: str, file: str, given: dict[str, Any] | None = None, **files: Any) -> None:
        cases.append(Case(name, model, file, given or {}, files))

    def config(name: str, model: str, file: str, settings: dict[str, Any]) -> None:
        add(name, model, file, tokenizer_config=settings)

    for kind in ("unigram_t5", "unigram_plain", "unigram_spaces"):
        add("T5Tokenizer", kind, SPIECE)
    sentinels = [f"<extra_id_{number}>" for number in range(100)]
    t5 = ("T5Tokenizer", "unigram_t5", SPIECE)
    add(*t5, {"extra_ids": 5})
    config(*t5, {"extra_ids": 0})
    config(*t5, {"extra_ids": 7, "additional_special_tokens": ["<x>"]})
    config(*t5, {"eos_token": "<end>", "pad_token": "<pad>", "add_eos_token": True})
    add(
        *t5,
        special_tokens_map={
            "eos_token": "</s>",
            "unk_token": token("<unk>"),
            "additional_special_tokens": sentinels,
        },
    )
    add(*t5, added_tokens={"<new>": 520, "<more>": 521})
    by_id = {
        "0": token("<pad>"),
        "1": token("</s>"),
        "420": token("<extra_id_99>", lstrip=True, rstrip=True),
        "530": token("<hi>", special=False, normalized=True),
    }
    config(*t5, {"added_tokens_decoder": by_id})
    for given in (
        {},
        {"do_lower_case": True},
        {"keep_accents": True},
        {"mask_token": "<m>"},
        {"additional_special_tokens": ["<z>"]},
        {"sep_token": "<q>"},
        {"unk_id": 2},
    ):
        add("XLNetTokenizer", "unigram_xlnet", SPIECE, given)
    for given in (
        {},
        {"do_lower_case": False},
        {"keep_accents": True},
        {"add_prefix_space": False},
        {"cls_token": "("},
        {"add_bos_token": True},
    ):
        add("AlbertTokenizer", "unigram_albert", SPIECE, given)
    for settings in (
        {},
        {"add_prefix_space": False},
        {"bos_token": "<B>", "cls_token": "<B>"},
        {"mask_token": {"__type": "AddedToken", **token("<mask>", lstrip=True)}},
    ):
        config("XLMRobertaTokenizer", "unigram", MODEL, settings)
    add("XLMRobertaTokenizer", "unigram", MODEL, special_tokens_map={"mask_token": token("<mask>", lstrip=True)})
    for given in (
        {},
        {"src_lang": "fr_XX"},
        {"additional_special_tokens": ["<t>", "ar_AR"]},
        {"tgt_lang": "de_DE"},
    ):
        for name in ("MBartTokenizer", "MBart50Tokenizer"):
            add(name, "unigram", MODEL, given)
            config(name, "unigram_plain", MODEL, given)
    for given in (
        {"extra_special_tokens": ["eng_Latn", "fra_Latn"]},
        {
            "additional_special_tokens": ["eng_Latn", "fra_Latn"],
            "src_lang": "fra_Latn",
            "legacy_behaviour": True,
        },
    ):
        add("NllbTokenizer", "bpe", MODEL, given)
        config("NllbTokenizer", "bpe_plain", MODEL, given)
    for given in ({}, {"add_prefix_space": False}, {"unk_token": "<u>"}):
        add("CamembertTokenizer", "unigram", MODEL, given)
    pegasus = ("PegasusTokenizer", "unigram_t5", SPIECE)
    for given in (
        {},
        {"mask_token_sent": None},
        {"offset": 10},
        {"mask_token": "<mask_1>"},
        {"additional_special_tokens": ["<mask_1>", "<w>"]},
    ):
        add(*pegasus, given)
    config(*pegasus, {"additional_special_tokens": ["<mask_1>", "<w>"]})
    for given in (
        {},
        {"legacy": True},
        {"add_prefix_space": False},
        {"add_bos_token": True},
        {"add_eos_token": True, "add_bos_token": False},
        {"unk_token": None},
    ):
        add("LlamaTokenizer", "bpe_llama", PLAIN, given)
        config("LlamaTokenizer", "bpe_user", PLAIN, given)
    for given in ({}, {"add_prefix_space": False}):
        add("BarthezTokenizer", "unigram", MODEL, given)
    for kind in kinds():
        for settings in (
            {},
            {"legacy": False},
            {"add_bos_token": True, "extra_special_tokens": ["<br>", "<zz>"]},
        ):
            config("TokenizersBackend", kind, PLAIN, settings)
    renamed = {
        "3": token("<|renamed|>"),
        "4": token("<swap>"),
        "430": token("<far>", special=False, normalized=True),
    }
    config("TokenizersBackend", "bpe_user", PLAIN, {"added_tokens_decoder": renamed})
    config("TokenizersBackend", "unigram_xlnet", PLAIN, {"added_tokens_decoder": renamed})
    return cases


CASES = _cases()
