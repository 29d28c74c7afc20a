"""What Marian, M2M100 and CTRL folders are refused for, and by what words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError, VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from tests.python_checkpoints import ctrl_folder, load, m2m100_folder, marian_folder, write_json

MAKERS: dict[str, Callable[..., Path]] = {"marian": marian_folder, "m2m100": m2m100_folder, "ctrl": ctrl_folder}


def change(path: Path, **entries: Any) -> None:
    """Change entries of a JSON file; None takes one out."""
    value = {**json.loads(path.read_text(encoding="utf-8")), **entries}
    write_json(path, {key: entry for key, entry in value.items() if entry is not None})


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"unk_token": "<nothing>"}, "lacks '<nothing>', the unk_token"),
        (
            {"added_tokens_decoder": {"3": {"content": "<x>", "single_word": True, "rstrip": True}}},
            "'<x>' has single_word besides",
        ),
        (
            {"added_tokens_decoder": {"3": {"content": "<x>", "lstrip": True}, "4": {"content": " y"}}},
            "' y' begins or ends with white space",
        ),
        ({"extra_special_tokens": ["a<x>b", "<x>"]}, "'<x>' stands within the added token 'a<x>b'"),
        ({"extra_special_tokens": [3]}, "extra_special_tokens must be a token"),
        ({"pad_token": 7}, "pad_token must be a token"),
        ({"padding_side": "top"}, "padding_side must be 'right' or 'left'"),
        ({"model_max_length": "long"}, "model_max_length must be a number"),
        ({"model_input_names": "input_ids"}, "model_input_names must be"),
        ({"split_special_tokens": "yes"}, "split_special_tokens must be true or false"),
    ],
)
def test_settings(tmp_path: Path, kind: str, config: dict[str, Any], words: str) -> None:
    folder = MAKERS[kind](tmp_path, **config)
    with pytest.raises((SourceFormatError, UnsupportedFeatureError), match=words):
        load(kind, folder)


@pytest.mark.parametrize(
    ("kind", "config", "words"),
    [
        ("marian", {"sp_model_kwargs": {"enable_sampling": True}}, "sp_model_kwargs"),
        ("marian", {"eos_token": None}, "eos_token is null"),
        ("marian", {"separate_vocabs": 1}, "separate_vocabs must be true or false"),
        ("m2m100", {"src_lang": "xx"}, "src_lang='xx' is no language of this model; it has af, am"),
        ("m2m100", {"language_codes": "other"}, "language_codes must be 'm2m100' or 'wmt21'"),
        ("m2m100", {"language_codes": []}, r"language_codes must be 'm2m100' or 'wmt21', got \[\]"),
        ("m2m100", {"language_codes": "wmt21", "src_lang": "fr"}, "src_lang='fr' is no language"),
        ("m2m100", {"num_madeup_words": -1}, "num_madeup_words"),
    ],
)
def test_settings_of_one_class(tmp_path: Path, kind: str, config: dict[str, Any], words: str) -> None:
    folder = MAKERS[kind](tmp_path, **config)
    with pytest.raises((SourceFormatError, UnsupportedFeatureError), match=words):
        load(kind, folder)


def test_texts_of_the_target_need_its_language(tmp_path: Path) -> None:
    folder = m2m100_folder(tmp_path)
    with pytest.raises(SourceFormatError, match="tgt_lang='fr'"):
        load("m2m100", folder, target=True)


@pytest.mark.parametrize("kind", MAKERS)
def test_vocabularies(tmp_path: Path, kind: str) -> None:
    folder = MAKERS[kind](tmp_path)
    path = folder / "vocab.json"
    whole = path.read_text(encoding="utf-8")
    for entries, words in (({"new": 5}, "'new' has the id 5, which"), ({"new": -1}, "'new': expected an id")):
        change(path, **entries)
        with pytest.raises(SourceFormatError, match=words):
            load(kind, folder)
        path.write_text(whole, encoding="utf-8")
    write_json(path, {})
    with pytest.raises(SourceFormatError, match="expected an object of tokens and ids"):
        load(kind, folder)
    path.unlink()
    with pytest.raises(SourceFormatError, match=r"vocab\.json' is missing"):
        load(kind, folder)


def test_tokens_by_name(tmp_path: Path) -> None:
    tokenizer = load("marian", marian_folder(tmp_path))
    for token in ("</s>", "\u2581the", ">>fra<<", "日本"):
        assert tokenizer.id_to_token(tokenizer.token_to_id(token)) == token
    assert tokenizer.id_to_bytes(tokenizer.token_to_id("\u2581the")) == b" the"
    assert tokenizer.special_tokens["</s>"] == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unknown_token_id", 10**6),
        ("unknown_token_id", None),
        ("decoder_drop", 3),
        ("language_codes", 1),
        ("special_suffix", 1),
    ],
)
def test_metadata_out_of_range(tmp_path: Path, name: str, value: Any) -> None:
    vocabulary = load("marian", marian_folder(tmp_path)).vocabulary
    with pytest.raises(VocabularyFormatError, match=name):
        Vocabulary(vocabulary.arrays, {**vocabulary.metadata, name: value})


def test_a_part_of_the_arrays_is_refused(tmp_path: Path) -> None:
    vocabulary = load("marian", marian_folder(tmp_path)).vocabulary
    arrays = {name: array for name, array in vocabulary.arrays.items() if name != "token_kinds"}
    with pytest.raises(VocabularyFormatError, match="token_kinds"):
        Vocabulary(arrays, vocabulary.metadata)
