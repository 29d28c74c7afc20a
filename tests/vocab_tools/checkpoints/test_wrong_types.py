"""Settings of any JSON type in any field: a tokenizer, or an error of this package that names the folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import NumbaNlpError, SourceFormatError
from tests.checkpoint_folders import bert_files, byte_level, end_of_word, merged_files, write_folder
from tests.python_checkpoints import ctrl_folder
from vocab_tools.checkpoints.describe import describe
from vocab_tools.checkpoints.families import family_of
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.settings import NAMED_TOKENS


def unigram_folder(path: Path, *pieces: str) -> Path:
    """A ``tokenizer.json``, of which such classes take the vocabulary only."""
    vocab = [[piece, 0.0] for piece in pieces] + [["\u2581the", -1.0], ["a", -2.0]]
    return write_folder(path, {"tokenizer.json": {"model": {"type": "Unigram", "unk_id": 0, "vocab": vocab}}})


MAKERS: dict[str, Callable[[Path], Path]] = {
    "BertTokenizer": lambda path: write_folder(path, bert_files()),
    "GPT2Tokenizer": lambda path: write_folder(path, merged_files(byte_level("<|endoftext|>"))),
    "CLIPTokenizer": lambda path: write_folder(path, merged_files(end_of_word("<|startoftext|>", "<|endoftext|>"))),
    "CTRLTokenizer": lambda path: ctrl_folder(write_folder(path, {})),
    "T5Tokenizer": lambda path: unigram_folder(path, "<pad>", "</s>", "<unk>"),
    "MBartTokenizer": lambda path: unigram_folder(path, "<s>", "<pad>", "</s>", "<unk>", "en_XX", "<mask>"),
}
_OF_ALL = (
    *NAMED_TOKENS, "image_token", "tokenizer_class", "extra_special_tokens", "additional_special_tokens",
    "model_specific_special_tokens", "added_tokens_decoder", "auto_map", "fast_tokenizer_files", "vocab", "merges",
    "model_input_names", "model_max_length", "max_len", "pad_token_type_id", "padding_side", "truncation_side",
    "add_bos_token", "add_eos_token", "add_prefix_space", "clean_up_tokenization_spaces", "split_special_tokens",
    "fix_mistral_regex", "legacy",
)  # fmt: skip
_OF_CONFIG = ("model_type", "tokenizer_class", "model_name", "_name_or_path", "encoder")
_contents = st.sampled_from(["<x>", "the", "[PAD]", "</s>", ""])
_plain = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 700), st.just(10**30), st.floats(), _contents, st.sampled_from(["left"])
)
#: Objects that are nearly tokens.
_tokens = st.fixed_dictionaries(
    {"content": st.one_of(_contents, _contents, _plain)},
    optional={
        "__type": st.sampled_from(["AddedToken", "Other"]),
        "special": st.one_of(st.booleans(), _plain),
        "lstrip": st.one_of(st.booleans(), _plain),
        "more": _plain,
    },
)
_keys = st.sampled_from(["0", "5", "520", "a", "content", "__type", "", "-1"])
_values = st.recursive(
    st.one_of(_plain, _tokens),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_keys, inner, max_size=3)),
    max_leaves=5,
)


@pytest.fixture(scope="module", params=MAKERS)
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    return name, MAKERS[name](tmp_path_factory.mktemp("checkpoints") / name)


def describe_with(path: Path, files: dict[str, Any]) -> None:
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"):
        (path / name).unlink(missing_ok=True)
    try:
        describe(Folder(write_folder(path, files), str(path)), {})
    except NumbaNlpError as error:
        assert str(path) in str(error)  # noqa: PT017


@given(data=st.data())
def test_any_type_in_any_field(checkpoint: tuple[str, Path], data: st.DataObject) -> None:
    name, path = checkpoint
    family = family_of(name)
    assert family is not None
    keys = st.sampled_from(sorted({*_OF_ALL, *family.defaults}))
    fields = st.dictionaries(keys, _values, min_size=1, max_size=3)
    config = data.draw(st.one_of(fields, fields, _values))
    files = {"tokenizer_config.json": {"tokenizer_class": name, **config} if isinstance(config, dict) else config}
    if data.draw(st.booleans()):
        files["special_tokens_map.json"] = data.draw(st.one_of(fields, fields, _values))
    if data.draw(st.booleans()):
        tokens = st.dictionaries(_contents, st.one_of(st.integers(0, 700), _plain), max_size=3)
        files["added_tokens.json"] = data.draw(st.one_of(tokens, tokens, _values))
    if data.draw(st.booleans()):
        models = st.one_of(st.sampled_from(["bert", "umt5", "encoder-decoder", "gpt2"]), _values)
        of_config = st.dictionaries(st.sampled_from(_OF_CONFIG), models, max_size=3)
        files["config.json"] = data.draw(st.one_of(of_config, of_config, _values))
    describe_with(path, files)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tokenizer_config.json": {"extra_special_tokens": 3}}, "extra_special_tokens: expected an array .*, got 3"),
        ({"tokenizer_config.json": {"additional_special_tokens": True}}, "extra_special_tokens: expected an array"),
        (
            {
                "tokenizer_config.json": {"extra_special_tokens": 1.5},
                "special_tokens_map.json": {"extra_special_tokens": ["<x>"]},
            },
            "extra_special_tokens: expected an array .*, got 1.5",
        ),
        (
            {
                "tokenizer_config.json": {"model_specific_special_tokens": [3]},
                "special_tokens_map.json": {"extra_special_tokens": {"a": "b"}},
            },
            r"model_specific_special_tokens: expected an object of tokens, got \[3\]",
        ),
        ({"tokenizer_config.json": {"pad_token_type_id": "0"}}, "pad_token_type_id must be a small number, got '0'"),
    ],
)
def test_what_the_error_says(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    files["tokenizer_config.json"]["tokenizer_class"] = "BertTokenizer"
    path = write_folder(tmp_path / "folder", {**bert_files(), **files})
    with pytest.raises(SourceFormatError, match=message) as raised:
        describe(Folder(path, str(path)), {})
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("name", [[], {}, 3, None])
def test_names_of_models_that_are_none(tmp_path: Path, name: Any) -> None:
    path = write_folder(
        tmp_path / "folder", {**bert_files(), "config.json": {"model_type": "bert", "model_name": name}}
    )
    describe(Folder(path, str(path)), {})
