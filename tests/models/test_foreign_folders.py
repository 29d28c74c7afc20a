"""Folders that are something else say what they are and what to do; surplus tensors are left out when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import SourceFormatError
from tests.models.tiny import draw_ids, make_reference, save, torch

safetensors_torch = pytest.importorskip("safetensors.torch", reason="needs safetensors")

SETTINGS = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 440473133\n"


@pytest.fixture
def reference() -> Any:
    return make_reference("BertForMaskedLM", **SETTINGS)


@pytest.fixture
def folder(reference: Any, tmp_path: Path) -> Path:
    return save(reference, tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_a_pointer_of_git_lfs(folder: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_text(_POINTER)
    with pytest.raises(SourceFormatError, match=rf"{name}: this is a pointer of Git LFS, .* `git lfs pull`"):
        nlp.load_model(folder)


@pytest.mark.parametrize("with_config", [True, False])
def test_an_adapter(folder: Path, with_config: bool) -> None:
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "someone/a-bert", "peft_type": "LORA"}')
    if not with_config:
        (folder / "config.json").unlink()
    with pytest.raises(SourceFormatError, match=r"an adapter of peft .* model 'someone/a-bert' by merge_and_unload"):
        nlp.load_model(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tf_model.h5", r"'tf_model.h5' holds weights of TensorFlow, which are not read: .*from_tf=True"),
        ("flax_model.msgpack", r"'flax_model.msgpack' holds weights of Flax, .*from_flax=True"),
        ("bert_model.ckpt.index", "'bert_model.ckpt.index' holds weights of a training program"),
        ("model.onnx", "'model.onnx' holds weights of ONNX"),
        ("model-q4.gguf", "'model-q4.gguf' holds weights of llama.cpp"),
    ],
)
def test_weights_of_another_kind(folder: Path, name: str, message: str) -> None:
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(
        SourceFormatError, match=rf"no weights that can be read; wanted: .*; {message}" if "'" in message else message
    ):
        nlp.load_model(folder)


def test_a_state_dict_beside_more(folder: Path, reference: Any) -> None:
    state = safetensors_torch.load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({"state_dict": state, "epoch": 3}, folder / "pytorch_model.bin")
    ids = draw_ids(2, 7, 50)
    with torch.no_grad():
        torch.testing.assert_close(nlp.load_model(folder)(ids).logits, reference(ids).logits, rtol=1e-5, atol=1e-5)


def test_surplus_tensors_are_left_out_when_asked(folder: Path, reference: Any) -> None:
    state = safetensors_torch.load_file(folder / "model.safetensors")
    more = {"crf.transitions": torch.zeros(3, 3), "crf.start": torch.zeros(3), "other.weight": torch.zeros(2)}
    safetensors_torch.save_file({**state, **more}, folder / "model.safetensors")
    with pytest.raises(
        SourceFormatError,
        match=r"without a place in the model: 'other.weight' \(ignore= takes patterns of what may be left out\)",
    ):
        nlp.load_model(folder, ignore=["crf.*"])
    ids = draw_ids(2, 7, 50)
    model = nlp.load_model(folder, ignore=("crf.*", "other.weight"))
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, reference(ids).logits, rtol=1e-5, atol=1e-5)
    # what has a place is read, whatever the patterns say
    assert torch.equal(nlp.load_model(folder, ignore=["*"])(ids).logits, model(ids).logits)
    for wrong in ("crf.*", [1]):
        with pytest.raises(TypeError, match="`ignore` must be a list of patterns, got"):
            nlp.load_model(folder, ignore=wrong)


def test_dtype_by_transformers_words(folder: Path) -> None:
    with pytest.raises(TypeError, match="no option 'torch_dtype'; use dtype="):
        nlp.load_model(folder, torch_dtype="float16")
    for named in ("float32", "bfloat16"):
        config = json.loads((folder / "config.json").read_bytes())
        (folder / "config.json").write_text(json.dumps({**config, "dtype": named}))
        assert nlp.load_model(folder, dtype="auto").dtype == nlp.load_model(folder).dtype == getattr(torch, named)
