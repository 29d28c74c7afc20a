"""Checkpoint folders: the same tokenizer.json, ids, text and model inputs as ``AutoTokenizer`` of transformers 5."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

import numba_nlp as nlp
from tests.checkpoint_folders import TEXTS, bert_files, byte_level, end_of_word, merged_files, write_folder
from tests.shared_data import shared
from vocab_tools.checkpoints.class_choice import choose_class
from vocab_tools.checkpoints.describe import read_checkpoint
from vocab_tools.checkpoints.families import KNOWN_CLASSES
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.model_types import CLASS_OF_MODEL_TYPE, WRONGLY_DECLARED

transformers = pytest.importorskip("transformers", minversion="5.0")

PARTS = ("model", "normalizer", "pre_tokenizer", "decoder", "post_processor", "added_tokens")
_MASK = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": True, "single_word": False}
_GPT2 = merged_files(byte_level("<|endoftext|>"))
_ROBERTA = merged_files(byte_level("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
_GPT = merged_files(end_of_word("<unk>"))
_CLIP = merged_files(end_of_word("<|startoftext|>", "<|endoftext|>"))
_ADDED = {
    "0": {"content": "<|endoftext|>", "special": True, "normalized": False},
    "263": {"content": "<extra>", "special": False, "normalized": False, "rstrip": True},
    "300": {"content": "<far>", "special": True},
}
_CONFIG = "tokenizer_config.json"

#: Name -> files and keyword arguments.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bert": ({**bert_files(), "config.json": {"model_type": "bert"}}, {}),
    "bert cased": (
        {
            **bert_files(),
            _CONFIG: {
                "tokenizer_class": "BertTokenizerFast",
                "do_lower_case": False,
                "model_max_length": 512,
                "clean_up_tokenization_spaces": True,
                "name_or_path": "../../etc/passwd",
                "vocab_file": "/etc/passwd",
                "special_tokens_map_file": "../../x",
            },
        },
        {},
    ),
    "bert by keywords": (
        {**bert_files(), _CONFIG: {"tokenizer_class": "BertTokenizer", "do_lower_case": False}},
        {"do_lower_case": True, "strip_accents": False, "pad_token": "[OTHER]", "padding_side": "left"},
    ),
    "bert with tokens map": (
        {
            **bert_files(),
            "config.json": {"model_type": "bert", "tokenizer_class": "ElectraTokenizer"},
            "special_tokens_map.json": {
                "mask_token": {**_MASK, "content": "[MASK]", "normalized": False},
                "cls_token": "[SEP]",
            },
            "added_tokens.json": {"[NEW]": 40},
        },
        {"additional_special_tokens": ["[NEW]", "[X]"]},
    ),
    "distilbert": (
        {
            **bert_files(),
            "config.json": {"model_type": "distilbert"},
            _CONFIG: {"tokenizer_class": "DistilBertTokenizer", "split_special_tokens": True},
        },
        {},
    ),
    "gpt2": ({**_GPT2, "config.json": {"model_type": "gpt2"}}, {}),
    "gpt2 with keywords": (
        {**_GPT2, "config.json": {"model_type": "opt"}},
        {"add_prefix_space": True, "pad_token": "<pad>", "padding_side": "left", "add_bos_token": True},
    ),
    "gpt2 with added tokens": (
        {**_GPT2, _CONFIG: {"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": _ADDED, "pad_token": "<far>"}},
        {"image_token": "<image>", "extra_special_tokens": ["<one>", "<far>"]},
    ),
    "roberta": ({**_ROBERTA, "config.json": {"model_type": "roberta"}}, {}),
    "roberta with mask": (
        {
            **_ROBERTA,
            "config.json": {"model_type": "longformer"},
            "special_tokens_map.json": {"mask_token": _MASK},
            _CONFIG: {"trim_offsets": False, "model_max_length": 1000000000000000019884624838656},
        },
        {"truncation_side": "left"},
    ),
    "bart": (
        {
            **_ROBERTA,
            "config.json": {"model_type": "bart"},
            _CONFIG: {
                "tokenizer_class": "BartTokenizer",
                "mask_token": {"__type": "AddedToken", **_MASK},
                "model_input_names": ["input_ids"],
            },
        },
        {},
    ),
    "openai-gpt": ({**_GPT, "config.json": {"model_type": "openai-gpt"}}, {}),
    "openai-gpt with tokens": (
        {
            **_GPT,
            _CONFIG: {"tokenizer_class": "OpenAIGPTTokenizerFast", "pad_token": "<pad>", "model_max_length": 512},
            "special_tokens_map.json": {"unk_token": "<unk>", "mask_token": {**_MASK, "normalized": False}},
            "added_tokens.json": {"<one>": 600},
        },
        {"add_bos_token": True, "bos_token": "<s>", "eos_token": "</s>", "extra_special_tokens": ["<one>"]},
    ),
    "clip": ({**_CLIP, "config.json": {"model_type": "clip"}}, {"pad_token": "!"}),
    "clip with tokens": (
        {
            **_CLIP,
            _CONFIG: {
                "tokenizer_class": "CLIPTokenizer",
                "added_tokens_decoder": {
                    "516": {"content": "<|startoftext|>", "special": True, "normalized": True},
                    "517": {"content": "<|endoftext|>", "special": True, "normalized": False},
                    "518": {"content": "<extra>", "special": False, "normalized": True},
                    "519": {"content": " thing ", "special": False, "normalized": False, "rstrip": True},
                },
                "clean_up_tokenization_spaces": True,
                "do_lower_case": True,
                "errors": "replace",
                "model_max_length": 77,
            },
        },
        {"padding_side": "left", "truncation_side": "left"},
    ),
    "clip with special tokens as text": (
        {**_CLIP, _CONFIG: {"tokenizer_class": "CLIPTokenizer", "split_special_tokens": True}},
        {"pad_token": "<|startoftext|>", "unk_token": "!"},
    ),
}
#: Refused by the reader: the tokenizer.json alone is compared.
DOCUMENTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bert with words added": (
        {**bert_files(), "config.json": {"model_type": "bert"}, "added_tokens.json": {"quickly": 30, "foxes": 31}},
        {},
    ),
}


def reference(folder: Path, options: dict[str, Any]) -> Any:
    return transformers.AutoTokenizer.from_pretrained(str(folder), **options)


def compare_documents(folder: Path, options: dict[str, Any]) -> None:
    ours = read_checkpoint(Folder(folder, str(folder)), options).document.state
    theirs = json.loads(reference(folder, options).backend_tokenizer.to_str())
    for part in PARTS:
        assert ours[part] == theirs[part], part


def compare_tokenizers(
    folder: Path, options: dict[str, Any], texts: tuple[str, ...] = TEXTS
) -> tuple[nlp.Tokenizer, Any]:
    """Compare all but spans; gives ours and theirs."""
    theirs, ours = reference(folder, options), nlp.load_tokenizer(folder, **options)
    for text in texts:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text, add_special_tokens=True).tolist() == ids, text
        for skip in (False, True):
            decoded = ours.decode(ids, skip_special_tokens=skip)
            assert decoded == theirs.decode(ids, skip_special_tokens=skip), text
            assert ours.decode_batch([ids, ids], skip_special_tokens=skip) == [decoded] * 2
        expected = [-1 if word is None else word for word in theirs(text).word_ids()]
        assert ours(text, return_word_ids=True).word_ids.tolist() == expected, text
        pair = theirs(text, "the b", return_token_type_ids=True)
        given = ours(text, "the b", return_token_type_ids=True)
        assert {name: values.tolist() for name, values in given.items()} == dict(pair), text
    settings = ours.input_settings
    assert settings.pad_id == theirs.pad_token_id
    assert (settings.padding_side, settings.truncation_side) == (theirs.padding_side, theirs.truncation_side)
    assert list(settings.names) == theirs.model_input_names
    assert settings.max_length == (theirs.model_max_length if theirs.model_max_length < 1e20 else None)
    if theirs.pad_token_id is not None:
        expected = theirs(list(texts), ["fox"] * len(texts), padding=True, return_tensors="np")
        given = ours(list(texts), ["fox"] * len(texts), padding=True)
        for name, values in expected.items():
            assert_array_equal(given[name], values, name)
    return ours, theirs


@pytest.mark.parametrize("case", [*CASES, *DOCUMENTS])
def test_the_same_document(tmp_path: Path, case: str) -> None:
    files, options = {**CASES, **DOCUMENTS}[case]
    compare_documents(write_folder(tmp_path / "folder", files), options)


@pytest.mark.parametrize("case", CASES)
def test_the_same_tokenizer(tmp_path: Path, case: str) -> None:
    files, options = CASES[case]
    compare_tokenizers(write_folder(tmp_path / "folder", files), options)


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({}, {}),
        ({"add_bos_token": True, "bos_token": "<s>", "eos_token": "</s>"}, {}),
        ({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "cls_token": "<s>"}, {}),
        ({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>"}, {"add_bos_token": True, "add_eos_token": True}),
    ],
)
def test_a_tokenizer_json_as_it_is(tmp_path: Path, config: dict[str, Any], options: dict[str, Any]) -> None:
    made = reference(write_folder(tmp_path / "first", CASES["roberta"][0]), {})
    document = json.loads(made.backend_tokenizer.to_str())
    document["padding"] = {
        "strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 1, "pad_type_id": 0,
        "pad_token": "<pad>",
    }  # fmt: skip
    files = {"tokenizer.json": document, _CONFIG: config, "config.json": {"model_type": "llama"}}
    if "eos_token" in config:
        config = {**config, "eos_token": "<mask>"}
    folder = write_folder(tmp_path / "folder", files)
    compare_documents(folder, options)
    compare_tokenizers(folder, options)


def test_a_class_takes_only_parts_of_a_tokenizer_json(tmp_path: Path) -> None:
    made = reference(write_folder(tmp_path / "first", CASES["roberta with mask"][0]), {})
    document = json.loads(made.backend_tokenizer.to_str())
    document["normalizer"] = {"type": "Lowercase"}
    files = {"tokenizer.json": document, _CONFIG: {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True}}
    folder = write_folder(tmp_path / "folder", files)
    compare_documents(folder, {})
    compare_tokenizers(folder, {})


def test_a_token_that_was_special_is_still_left_out(tmp_path: Path) -> None:
    made = reference(write_folder(tmp_path / "first", CASES["roberta"][0]), {})
    listed = {"4": {"content": "<mask>", "special": False, "normalized": False}}
    files = {
        "tokenizer.json": json.loads(made.backend_tokenizer.to_str()),
        _CONFIG: {"added_tokens_decoder": listed, "mask_token": None},
    }
    folder = write_folder(tmp_path / "folder", files)
    compare_documents(folder, {})
    compare_tokenizers(folder, {})


_CHOICES = [
    ({"model_type": "bert"}, {}),
    ({"model_type": "bert"}, {"tokenizer_class": "RobertaTokenizerFast"}),
    ({"model_type": "umt5"}, {"tokenizer_class": "BertTokenizer"}),
    ({"model_type": "phi3"}, {"tokenizer_class": "GPT2Tokenizer"}),
    ({"model_type": "qwen2"}, {"tokenizer_class": "PreTrainedTokenizerFast"}),
    ({"model_type": "gpt-sw3"}, {}),
    ({"model_type": "nowhere"}, {}),
    ({"model_type": "nowhere", "tokenizer_class": "GPT2TokenizerFast"}, {}),
    ({"model_type": "encoder-decoder", "encoder": {"model_type": "roberta"}, "decoder": {"model_type": "gpt2"}}, {}),
    ({}, {"tokenizer_class": "BloomTokenizerFast"}),
    ({}, {"tokenizer_class": "PreTrainedTokenizer"}),
    ({"model_type": "bert"}, {"auto_map": {"AutoTokenizer": [None, "own.Tokenizer"]}}),
    ({"model_type": "bert", "tokenizer_class": "GPT2Tokenizer"}, {"tokenizer_class": "BertTokenizer"}),
    ({"model_type": "led"}, {}),
    ({"model_type": "lxmert"}, {"tokenizer_class": "LxmertTokenizer"}),
]


@pytest.mark.parametrize(("config", "settings"), _CHOICES)
def test_the_same_class(tmp_path: Path, config: dict[str, Any], settings: dict[str, Any]) -> None:
    made = reference(write_folder(tmp_path / "first", CASES["roberta"][0]), {})
    vocabularies = {**bert_files(), **_ROBERTA, "tokenizer.json": json.loads(made.backend_tokenizer.to_str())}
    folder = write_folder(tmp_path / "folder", {**vocabularies, "config.json": config, _CONFIG: settings})
    asked: list[str] = []

    def remember(cls: type, *_: Any, **__: Any) -> None:
        asked.append(cls.__name__)

    with pytest.MonkeyPatch.context() as patch:
        base = transformers.PreTrainedTokenizerBase
        patch.setattr(base, "from_pretrained", classmethod(remember))
        reference(folder, {"trust_remote_code": False} if "auto_map" in settings else {})
    chosen = choose_class(Folder(folder, str(folder)), "tokenizer.json")
    resolved = transformers.models.auto.tokenization_auto.tokenizer_class_from_name(chosen)
    assert [resolved.__name__] == asked


def test_registered_classes_are_those_of_transformers() -> None:
    auto = transformers.models.auto.tokenization_auto
    theirs = {kind: name.removesuffix("Fast") for kind, name in auto.TOKENIZER_MAPPING_NAMES.items() if name}
    common = theirs.keys() & CLASS_OF_MODEL_TYPE.keys()
    assert len(common) > 250
    assert {kind: CLASS_OF_MODEL_TYPE[kind] for kind in common} == {kind: theirs[kind] for kind in common}
    assert len(WRONGLY_DECLARED & auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS) > 20
    for name in KNOWN_CLASSES:
        assert auto.tokenizer_class_from_name(name) is not None, name


@pytest.mark.parametrize(
    ("sources", "settings"),
    [
        ({"vocab.txt": "bert/uncased_vocab.txt"}, {"tokenizer_class": "BertTokenizer"}),
        ({"vocab.txt": "bert/cased_vocab.txt"}, {"tokenizer_class": "ElectraTokenizer", "do_lower_case": False}),
        ({"tokenizer.json": "bert/minilm_uncased_tokenizer.json"}, {"tokenizer_class": "DistilBertTokenizer"}),
        ({"vocab.json": "gpt2/vocab.json", "merges.txt": "gpt2/merges.txt"}, {"tokenizer_class": "GPT2Tokenizer"}),
        ({"tokenizer.json": "gpt2/tokenizer.json"}, {"bos_token": "<|endoftext|>"}),
        (
            {"vocab.json": "roberta_bart/vocab.json", "merges.txt": "roberta_bart/merges.txt"},
            {"tokenizer_class": "RobertaTokenizer"},
        ),
    ],
)
def test_real_vocabularies(tmp_path: Path, sources: dict[str, str], settings: dict[str, Any]) -> None:
    folder = write_folder(tmp_path / "folder", {_CONFIG: settings})
    for name, source in sources.items():
        shutil.copyfile(shared(f"vocab/{source}"), folder / name)
    languages = ("eng", "fra", "rus", "jpn", "hin")
    texts = tuple(shared(f"text/udhr/{language}.txt").read_text(encoding="utf-8")[:4000] for language in languages)
    compare_tokenizers(folder, {}, (*TEXTS, *texts))


@pytest.mark.parametrize(
    ("family", "specials", "kind"),
    [
        ("clip", ("<|startoftext|>", "<|endoftext|>"), "CLIPTokenizer"),
        ("openai-gpt", ("<unk>",), "OpenAIGPTTokenizer"),
    ],
)
def test_pairs_of_vocabulary_files_by_themselves(
    tmp_path: Path, family: str, specials: tuple[str, ...], kind: str
) -> None:
    """Without a folder's settings: the template that the class has, as for a checkpoint."""
    files = merged_files(end_of_word(*specials))
    folder = write_folder(tmp_path / "folder", {**files, "config.json": {"tokenizer_class": kind}})
    theirs = reference(folder, {})
    ours = nlp.load_tokenizer([folder / "vocab.json", folder / "merges.txt"], family=family)
    firsts, seconds = ["the thing", "", "a the b"], ["b", "the", "thing in the"]
    padded = {"padding": True} if theirs.pad_token is not None else {}
    for second in (None, seconds):
        expected = theirs(firsts, second, return_token_type_ids=True, **padded)
        found = ours(firsts, second, return_token_type_ids=True, **padded)
        for name, values in expected.items():
            rows = found[name]
            assert (rows.tolist() if padded else rows.to_list()) == values, (name, second)
