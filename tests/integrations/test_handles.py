"""Handles: small, by digest, and clear about what is not there."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import pytest

import numba_nlp as nlp
from numba_nlp.integrations.handles import TokenizerHandle, TokenizerMissingError, offer
from tests.toy_vocabulary import toy_vocabulary


def test_a_handle_is_small_and_finds_what_is_held() -> None:
    held = nlp.Tokenizer(toy_vocabulary())
    handle = TokenizerHandle(held)
    assert handle.tokenizer() is held
    data = pickle.dumps(handle)
    assert len(data) < 400
    other = pickle.loads(data)
    assert other == handle
    assert hash(other) == hash(handle)
    assert other.tokenizer() is held
    assert offer(nlp.Tokenizer(toy_vocabulary())) is held
    assert "digest=" in repr(handle)
    with pytest.raises(TypeError, match="must be a Tokenizer"):
        TokenizerHandle("gpt2.safetensors")  # type: ignore[arg-type]


def test_a_handle_finds_the_file(tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    loaded = nlp.load_tokenizer(path)
    data = pickle.dumps(TokenizerHandle(loaded))
    ids = loaded.encode("the and").tolist()
    del loaded
    gc.collect()
    handle = pickle.loads(data)
    assert handle.path == str(path)
    found = handle.tokenizer()
    assert found.encode("the and").tolist() == ids
    # one tokenizer for all tasks of a process
    assert pickle.loads(data).tokenizer() is found


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone.safetensors"
    vocabulary = toy_vocabulary(name="gone")
    vocabulary.save(path)
    loaded = nlp.load_tokenizer(path)
    data = pickle.dumps(TokenizerHandle(loaded))
    unsaved = pickle.dumps(TokenizerHandle(nlp.Tokenizer(toy_vocabulary(name="never saved"))))
    del loaded
    path.unlink()
    gc.collect()
    with pytest.raises(TokenizerMissingError, match=rf"'gone' .*no file {path}.*share\(tokenizer, client\)"):
        pickle.loads(data).tokenizer()
    toy_vocabulary(name="another").save(path)
    with pytest.raises(TokenizerMissingError, match="holds another vocabulary"):
        pickle.loads(data).tokenizer()
    with pytest.raises(TokenizerMissingError, match="not loaded from a compiled file"):
        pickle.loads(unsaved).tokenizer()
    # once it is there it is found
    vocabulary.save(path)
    assert pickle.loads(data).tokenizer().vocabulary == vocabulary
