"""Checkpoints of GPT and CLIP with their published vocabularies, against transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numba_nlp as nlp
from tests.checkpoint_folders import TEXTS, write_folder
from tests.reference_parity.test_character_json_parity import texts as fuzzed_texts
from tests.reference_parity.test_checkpoint_parity import compare_tokenizers
from tests.shared_data import shared
from tools.character_references import transformers_tokenizer

pytest.importorskip("transformers", minversion="5.0")

_CONFIG = "tokenizer_config.json"
_FILE_OF = {"gpt": "vocab/openai_gpt/vocab_40000.bpe", "clip": "vocab/clip/bpe_simple_vocab_16e6.txt.gz"}
_MADE = (
    *(
        "<|startoftext|>a photo of a cat<|endoftext|>",
        "<|STARTOFTEXT|> A\tPHOTO  OF\u00a0CATS<|EndOfText|>",
        "'LL we've",
    ),
    *(
        "<unk> the\n\nTHE The <UNK>",
        "\ufb01ne \u1e9b\u0323 e\u0301 \u0130stanbul \u65e5\u672c",
        "</w> a</w>b",
        " ",
        "!! !",
    ),
)


def gpt_files(folder: Path, config: dict[str, Any]) -> Path:
    """``vocab.json`` and ``merges.txt`` of OpenAI's GPT."""
    names = {"encoder_bpe_40000.json": "vocab.json", "vocab_40000.bpe": "merges.txt"}
    write_folder(folder, {_CONFIG: config, "config.json": {"model_type": "openai-gpt"}})
    for name, wanted in names.items():
        shutil.copyfile(shared(f"vocab/openai_gpt/{name}"), folder / wanted)
    return folder


def clip_document(folder: Path, config: dict[str, Any]) -> Path:
    """CLIP's ``tokenizer.json``."""
    write_folder(folder, {_CONFIG: config, "config.json": {"model_type": "clip"}})
    shutil.copyfile(shared("vocab/clip/tokenizer.json"), folder / "tokenizer.json")
    return folder


def clip_files(folder: Path, config: dict[str, Any]) -> Path:
    """``vocab.json`` and ``merges.txt`` with the contents of CLIP's ``tokenizer.json``."""
    model = json.loads(shared("vocab/clip/tokenizer.json").read_text(encoding="utf-8"))["model"]
    merges = "\n".join(["#version: 0.2", *model["merges"], ""])
    files = {_CONFIG: config, "vocab.json": model["vocab"], "merges.txt": merges, "config.json": {"model_type": "clip"}}
    return write_folder(folder, files)


_LISTED = {
    "49406": {"content": "<|startoftext|>", "special": True, "normalized": True},
    "49407": {"content": "<|endoftext|>", "special": True, "normalized": False},
}
CASES: dict[str, tuple[Callable[[Path, dict[str, Any]], Path], dict[str, Any]]] = {
    "gpt": (gpt_files, {"pad_token": "<unk>"}),
    "clip document": (clip_document, {"tokenizer_class": "CLIPTokenizer", "added_tokens_decoder": _LISTED}),
    "stable diffusion": (clip_files, {"pad_token": "!", "model_max_length": 77, "clean_up_tokenization_spaces": True}),
    "clip as it is": (clip_document, {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<|endoftext|>"}),
}


def real_texts() -> tuple[str, ...]:
    languages = ("eng", "fra", "rus", "jpn", "hin")
    return tuple(shared(f"text/udhr/{language}.txt").read_text(encoding="utf-8")[:3000] for language in languages)


@pytest.mark.parametrize("case", CASES)
def test_published_vocabularies(tmp_path: Path, case: str) -> None:
    make, config = CASES[case]
    folder = make(tmp_path / "folder", config)
    given = (*TEXTS, *_MADE, *fuzzed_texts()[:150], *real_texts())
    compare_inputs(*compare_tokenizers(folder, {}, given), [text[:200] for text in given])


def compare_inputs(ours: nlp.Tokenizer, theirs: Any, given: list[str]) -> None:
    """Spans, masks and lengths of padded and cut inputs, of texts and of pairs."""
    others = [*given[1:], "the end"]
    for pairs in (None, others):
        options = {"padding": True, "truncation": True, "max_length": 24}
        expected = theirs(
            given, pairs, return_offsets_mapping=True, return_special_tokens_mask=True, return_tensors="np", **options
        )
        found = ours(given, pairs, return_offsets_mapping=True, return_special_tokens_mask=True, **options)
        # ids of the template: -1, -1 here and 0, 0 there; marks that stay and change places are in no text here
        spans = np.maximum(np.stack([found["starts"], found["ends"]], axis=2), 0)
        assert_array_equal(spans, expected.pop("offset_mapping"))
        for name, values in expected.items():
            assert_array_equal(found[name], values, name)


@pytest.mark.parametrize("name", ["gpt", "clip"])
def test_what_transformers_writes(tmp_path: Path, name: str) -> None:
    """A ``tokenizer.json`` by itself, with a template that adds nothing (GPT) or with CLIP's."""
    shared(_FILE_OF[name])
    theirs = transformers_tokenizer(name)
    theirs.save_pretrained(tmp_path)
    document = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    kinds = {"gpt": "TemplateProcessing", "clip": "RobertaProcessing"}
    assert document["post_processor"]["type"] == kinds[name]
    ours = nlp.load_tokenizer(tmp_path / "tokenizer.json")
    for text in (*TEXTS, *_MADE):
        assert ours.encode(text, add_special_tokens=True).tolist() == theirs(text)["input_ids"]
    pair = theirs("the cat", "a dog", return_token_type_ids=True)
    found = ours("the cat", "a dog", return_token_type_ids=True)
    assert {key: found[key].tolist() for key in pair} == dict(pair)
