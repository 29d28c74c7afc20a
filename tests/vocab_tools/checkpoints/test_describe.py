"""Checkpoint folders that are refused: by the name of what is wrong, with the file that says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import NumbaNlpError, SourceFormatError, UnsupportedFeatureError
from tests.checkpoint_folders import bert_files, byte_level, merged_files, write_folder

_CONFIG = "tokenizer_config.json"
_BERT = {**bert_files(), "config.json": {"model_type": "bert"}}
_GPT2 = {**merged_files(byte_level("<|endoftext|>")), "config.json": {"model_type": "gpt2"}}
_LISTED = {"content": "[X]", "special": True}

REFUSED: list[tuple[dict[str, Any], type[NumbaNlpError], str]] = [
    ({**_BERT, _CONFIG: "{"}, SourceFormatError, r"tokenizer_config\.json:1: not JSON"),
    ({**_BERT, _CONFIG: "[]"}, SourceFormatError, r"tokenizer_config\.json: expected an object, got list"),
    ({**_BERT, "config.json": ""}, SourceFormatError, r"config\.json: the file is empty"),
    ({**_BERT, "added_tokens.json": {"a": -1}}, SourceFormatError, r"added_tokens\.json: 'a': expected an id"),
    ({**_BERT, "special_tokens_map.json": {"cls_token": {}}}, SourceFormatError, r"cls_token: .* content of a token"),
    ({**_BERT, _CONFIG: {"tokenizer_class": 3}}, SourceFormatError, "tokenizer_class: expected the name"),
    (
        {**_BERT, _CONFIG: {"tokenizer_class": "TapasTokenizer"}},
        UnsupportedFeatureError,
        "class 'TapasTokenizer' is not supported; known are .*BertTokenizer.* and TokenizersBackend",
    ),
    ({**_BERT, "config.json": {"model_type": "whisper"}}, UnsupportedFeatureError, "'WhisperTokenizer' is not"),
    (
        {**_BERT, "config.json": {}, _CONFIG: {"auto_map": {"AutoTokenizer": ["own.A", None]}}},
        UnsupportedFeatureError,
        "auto_map: the tokenizer is code of the checkpoint, which is never run",
    ),
    ({**_BERT, _CONFIG: {"vocab": "/etc/passwd"}}, UnsupportedFeatureError, "vocab = '/etc/passwd': this setting"),
    ({**_BERT, _CONFIG: {"merges": [["a", "b"]]}}, UnsupportedFeatureError, "merges = .*: this setting"),
    (
        {**_BERT, _CONFIG: {"fast_tokenizer_files": ["../../tokenizer.json"]}},
        UnsupportedFeatureError,
        "fast_tokenizer_files = .* are not supported",
    ),
    ({**_BERT, _CONFIG: {"added_tokens_decoder": []}}, SourceFormatError, "added_tokens_decoder: expected an object"),
    ({**_BERT, _CONFIG: {"added_tokens_decoder": {"x": _LISTED}}}, SourceFormatError, "expected ids as keys, got 'x'"),
    (
        {**_BERT, _CONFIG: {"added_tokens_decoder": {"1": {**_LISTED, "strip": True}}}},
        SourceFormatError,
        "'strip' is no option of an added token",
    ),
    (
        {**_BERT, _CONFIG: {"added_tokens_decoder": {"1": {**_LISTED, "lstrip": 1}}}},
        SourceFormatError,
        "lstrip must be true or false",
    ),
    ({**_BERT, _CONFIG: {"pad_token": {"content": "[PAD]"}}}, SourceFormatError, "pad_token: expected a token"),
    ({**_BERT, _CONFIG: {"extra_special_tokens": [3]}}, SourceFormatError, "extra_special_tokens: expected an array"),
    ({**_BERT, _CONFIG: {"cls_token": None}}, SourceFormatError, "cls_token is null, but this tokenizer class"),
    ({**_BERT, _CONFIG: {"sep_token": "a b"}}, SourceFormatError, "the token 'a b' cannot stand in a template"),
    ({**_BERT, _CONFIG: {"unk_token": None}}, SourceFormatError, "unk_token: 'None' is no piece"),
    ({**_BERT, _CONFIG: {"do_lower_case": "yes"}}, SourceFormatError, "do_lower_case must be true or false"),
    ({**_BERT, _CONFIG: {"strip_accents": 1}}, SourceFormatError, "strip_accents must be true, false or null"),
    ({**_BERT, _CONFIG: {"padding_side": "up"}}, SourceFormatError, "padding_side must be 'right' or 'left'"),
    ({**_BERT, _CONFIG: {"model_max_length": 0}}, SourceFormatError, "model_max_length must be a number of ids"),
    ({**_BERT, _CONFIG: {"model_input_names": "ids"}}, SourceFormatError, "model_input_names must be an array"),
    (
        {**_BERT, _CONFIG: {"clean_up_tokenization_spaces": "no"}},
        SourceFormatError,
        "clean_up_tokenization_spaces must be true or false",
    ),
    (
        {**_GPT2, _CONFIG: {"split_special_tokens": True}, "added_tokens.json": {"word": 300}},
        UnsupportedFeatureError,
        "split_special_tokens = true together with added tokens that are not special",
    ),
    (
        {
            **_GPT2,
            _CONFIG: {
                "clean_up_tokenization_spaces": True,
                "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True,
            },
        },
        UnsupportedFeatureError,
        "even_though_it_will_corrupt_output = true is not supported",
    ),
    ({**_GPT2, _CONFIG: {"fix_mistral_regex": True}}, UnsupportedFeatureError, "fix_mistral_regex = true is not"),
    ({**_GPT2, _CONFIG: {"add_bos_token": True, "bos_token": "a:b"}}, SourceFormatError, "'a:b' cannot stand in a"),
    (
        {name: content for name, content in _GPT2.items() if name != "merges.txt"},
        SourceFormatError,
        r"the file 'merges\.txt' is missing",
    ),
    ({"config.json": {"model_type": "gpt2"}}, SourceFormatError, "GPT2Tokenizer needs vocab.json and merges.txt"),
    (
        {"tekken.json": "{}", "config.json": {"model_type": "mistral"}},
        UnsupportedFeatureError,
        "would read tekken.json",
    ),
    ({}, SourceFormatError, "no tokenizer.json, and nothing that says .* there is no file"),
    ({"tokenizer.json": "{}"}, SourceFormatError, r"tokenizer\.json: it holds no model"),
    (
        {"tokenizer.json": {"model": {"vocab": 3}}, "config.json": {"model_type": "gpt2"}},
        SourceFormatError,
        r"tokenizer\.json: model\.vocab: expected an object or an array",
    ),
]


@pytest.mark.parametrize(("files", "error", "message"), REFUSED)
def test_refused_by_name(tmp_path: Path, files: dict[str, Any], error: type[Exception], message: str) -> None:
    folder = write_folder(tmp_path / "folder", files)
    with pytest.raises(error, match=message) as raised:
        vocab_tools.compile(folder)
    assert str(folder) in str(raised.value)


def test_a_keyword_that_nobody_takes(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "folder", _BERT)
    with pytest.raises(TypeError, match=r"'lower' is no option of BertTokenizer; it takes .*do_lower_case"):
        nlp.load_tokenizer(folder, lower=True)
    with pytest.raises(TypeError, match="'src_lang' is no option of BertTokenizer"):
        nlp.load_tokenizer(folder, src_lang="en")
    with pytest.raises(SourceFormatError, match=r"family= does not apply to .*, which is a checkpoint"):
        nlp.load_tokenizer(folder, family="gpt2")


def test_settings_name_no_file(tmp_path: Path) -> None:
    secret = write_folder(tmp_path / "elsewhere", {"vocab.txt": "[UNK]\nsecret\n"}) / "vocab.txt"
    config = {"vocab_file": str(secret), "tokenizer_file": "../elsewhere/vocab.txt", "merges_file": str(secret)}
    folder = write_folder(tmp_path / "folder", {**_BERT, _CONFIG: config})
    tokenizer = nlp.load_tokenizer(folder)
    assert tokenizer.id_to_token(5) == "the"
    assert "secret" not in [tokenizer.id_to_token(number) for number in range(tokenizer.vocabulary.size)]


def test_gpt2_has_no_padding_token(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "folder", _GPT2)
    tokenizer = nlp.load_tokenizer(folder)
    with pytest.raises(ValueError, match="no padding token; choose one with pad_token="):
        tokenizer(["a", "a b"], padding=True)
    padded = nlp.load_tokenizer(folder, pad_token="<|endoftext|>", padding_side="left")
    assert padded(["a", "a a"], padding=True)["attention_mask"].tolist()[0][0] == 0
    assert padded.input_settings.pad_id == 0


def test_name_and_policy(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "my-model", _GPT2)
    assert vocab_tools.compile(folder).metadata["name"] == "my-model"
    named = vocab_tools.compile(folder, name="x", special="raise")
    assert (named.metadata["name"], named.metadata["special_policy"]) == ("x", "raise")


def test_clean_up_is_kept_in_the_file(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "folder", {**_BERT, _CONFIG: {"clean_up_tokenization_spaces": True}})
    plain, cleaned = nlp.load_tokenizer(folder, clean_up_tokenization_spaces=False), nlp.load_tokenizer(folder)
    ids = plain.encode("don ' t read .")
    assert (plain.decode(ids), cleaned.decode(ids)) == ("don ' t read.", "don't read.")
    assert cleaned.decode_batch([ids, ids[:1], []]) == ["don't read.", "don", ""]
    cleaned.vocabulary.save(tmp_path / "x.safetensors")
    assert nlp.load_tokenizer(tmp_path / "x.safetensors").decode(ids) == "don't read."
