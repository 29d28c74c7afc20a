"""Names of checkpoints: told from paths, and found in a hand-built cache of the hub without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import SourceFormatError
from tests.checkpoint_folders import bert_files, write_folder
from vocab_tools.checkpoints.hub import is_hub_name

_COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache as huggingface_hub lays it out: files are links into ``blobs``."""
    repository = tmp_path / "hub" / "models--someone--a-bert"
    files = {**bert_files(), "config.json": {"model_type": "bert"}}
    blobs = write_folder(repository / "blobs", files)
    for folder in ("", "inner"):
        snapshot = repository / "snapshots" / _COMMIT / folder
        snapshot.mkdir(parents=True, exist_ok=True)
        for name in files:
            (snapshot / name).symlink_to(blobs / name)
    write_folder(repository / "refs", {"main": _COMMIT})
    return tmp_path / "hub"


def test_from_the_cache(cache: Path) -> None:
    tokenizer = nlp.load_tokenizer("someone/a-bert", cache_dir=cache, local_files_only=True)
    assert tokenizer.vocabulary.metadata["name"] == "a-bert"
    assert tokenizer.encode("the fox", add_special_tokens=True).tolist() == [2, 5, 9, 3]
    same = vocab_tools.compile("someone/a-bert", cache_dir=cache, local_files_only=True, revision=_COMMIT)
    assert same == tokenizer.vocabulary
    inner = vocab_tools.compile(
        "someone/a-bert", cache_dir=cache, local_files_only=True, subfolder="inner", do_lower_case=False
    )
    assert inner.metadata["lowercase"] is False


@pytest.mark.parametrize("name", ["someone/other", "nothing-of-this-name"])
def test_not_in_the_cache(cache: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"{name}: there is no such file or folder, and no checkpoint"):
        nlp.load_tokenizer(name, cache_dir=cache, local_files_only=True)


@pytest.mark.parametrize("subfolder", ["..", "a/../..", "/etc", "a\\b", "c:x", 3])
def test_a_subfolder_stays_inside(cache: Path, subfolder: object) -> None:
    with pytest.raises(SourceFormatError, match="subfolder= must be a path within the checkpoint"):
        nlp.load_tokenizer("someone/a-bert", cache_dir=cache, local_files_only=True, subfolder=subfolder)


def test_a_missing_subfolder(cache: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder 'other'"):
        nlp.load_tokenizer("someone/a-bert", cache_dir=cache, local_files_only=True, subfolder="other")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(FileNotFoundError, match=r"no such file or folder; .* pip install 'numba_nlp\[hub\]'"):
        nlp.load_tokenizer("someone/a-bert")


@pytest.mark.parametrize("name", ["gpt2", "openai-community/gpt2", "Qwen/Qwen2.5-0.5B", "a/b_c.d", "x1"])
def test_names(name: str) -> None:
    assert is_hub_name(name)


@pytest.mark.parametrize(
    "source",
    [
        "vocab.json", "owner/tokenizer.json", "model.spm", "cl100k_base.tiktoken", "x.safetensors", "/a/b", "./a",
        "../a", "a/b/c", "a/", "/", "", ".", "a b", "a/..", "a..b", "a--b", "-a", "a\n", "C:\\x", "é", Path("gpt2"),
        ["gpt2"], None, "words.tsv", "codes.fastbpe",
    ],
)  # fmt: skip
def test_no_names(source: object) -> None:
    assert not is_hub_name(source)


def test_a_folder_called_as_the_owner_makes_a_name_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistyped path costs no question to the hub."""
    monkeypatch.chdir(tmp_path)
    assert is_hub_name("data/vocabulary")
    (tmp_path / "data").mkdir()
    assert not is_hub_name("data/vocabulary")
    with pytest.raises(FileNotFoundError, match=r"^data/vocabulary: does not exist"):
        vocab_tools.compile("data/vocabulary")


@pytest.mark.parametrize(
    ("kind", "cause", "message"),
    [
        (
            "LocalEntryNotFoundError",
            ConnectionError("words\n" * 60),
            r"cannot be reached \(ConnectionError\); mend",
        ),
        ("LocalEntryNotFoundError", None, "in the cache of the Hugging Face hub, which is not asked; mend the name"),
        ("RepositoryNotFoundError", None, "on the Hugging Face hub that this account may read; mend the name"),
        ("RevisionNotFoundError", None, "of this revision on the Hugging Face hub; mend revision="),
    ],
)
def test_what_the_hub_says_becomes_one_line(
    monkeypatch: pytest.MonkeyPatch, kind: str, cause: Exception | None, message: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        kind_of_error = getattr(huggingface_hub.errors, kind)
        # what the hub answered is not needed for the message
        error = kind_of_error.__new__(kind_of_error, "many\nlines")
        raise error from cause

    huggingface_hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(FileNotFoundError, match=message) as caught:
        nlp.load_tokenizer("someone/nothing")
    assert str(caught.value).startswith("someone/nothing: there is no such file or folder, and no checkpoint of this")
    assert "\n" not in str(caught.value)


def test_a_path_that_is_there_is_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "gpt2", {})
    assert not is_hub_name("gpt2")
    with pytest.raises(SourceFormatError, match=r"no tokenizer\.json, and nothing that says"):
        vocab_tools.compile("gpt2")
