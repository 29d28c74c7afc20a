"""Tensors that are read in another way than the usual one, or hold no numbers that a model can have."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import SourceFormatError
from tests.models.tiny import assert_same, draw_ids, make_reference, save, torch

safetensors_torch = pytest.importorskip("safetensors.torch", reason="needs safetensors")

VOCABULARY = 60
SETTINGS = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
}
WORDS = "bert.embeddings.word_embeddings.weight"
DECODER = "cls.predictions.decoder.weight"
BIAS = "cls.predictions.bias"


@pytest.fixture(scope="module")
def reference() -> Any:
    return make_reference("BertForMaskedLM", **SETTINGS)


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, reference: Any) -> Write:
    """Write a folder with changed tensors, as safetensors or as PyTorch's file."""

    def write(changed: dict[str, Any], *, pickled: bool = True) -> Path:
        save(reference, tmp_path)
        path = tmp_path / "model.safetensors"
        tensors = {**safetensors_torch.load_file(path), **changed}
        path.unlink()
        if pickled:
            torch.save(tensors, tmp_path / "pytorch_model.bin")
        else:
            safetensors_torch.save_file(tensors, path, metadata={"format": "pt"})
        return tmp_path

    return write


def test_a_compressed_archive(write: Write, reference: Any) -> None:
    """Torch would map the compressed bytes as numbers."""
    folder = write({})
    path = folder / "pytorch_model.bin"
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    ids = draw_ids(2, 9, VOCABULARY)
    with torch.no_grad():
        assert_same(nlp.load_model(folder)(ids), reference(ids))


def nested() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may change, torch says
        return torch.nested.nested_tensor([torch.zeros(24), torch.zeros(24)])


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: torch.zeros(VOCABULARY, device="meta"), "on the device 'meta'"),
        (lambda: torch.eye(VOCABULARY).to_sparse(), "sparse_coo"),
        (lambda: 3.0, "float"),
    ],
)
def test_tensors_without_numbers_in_memory(write: Write, make: Callable[[], Any], named: str) -> None:
    with pytest.raises(SourceFormatError, match=f"'{BIAS}' of 'pytorch_model.bin' is no dense tensor but .*{named}"):
        nlp.load_model(write({BIAS: make()}))


def test_nested_tensors(write: Write) -> None:
    with pytest.raises(SourceFormatError, match=r"pytorch_model\.bin"):
        nlp.load_model(write({BIAS: nested()}))


@pytest.mark.parametrize("pickled", [True, False], ids=["pytorch", "safetensors"])
def test_numbers_of_eight_bits(write: Write, pickled: bool) -> None:
    values = torch.zeros(VOCABULARY).to(torch.float8_e4m3fn)
    with pytest.raises(
        SourceFormatError, match=rf"'{BIAS}' holds .*(F8_E4M3|float8_e4m3fn), which is not supported; .*bfloat16"
    ):
        nlp.load_model(write({BIAS: values}, pickled=pickled))


@pytest.mark.parametrize("kind", [torch.int64, torch.bool, torch.float8_e4m3fn], ids=str)
def test_an_output_of_other_numbers_is_not_tied(write: Write, reference: Any, kind: Any) -> None:
    """Though it be equal to the embeddings, whose numbers are whole here."""
    words = torch.ones_like(reference.bert.embeddings.word_embeddings.weight)
    with pytest.raises(SourceFormatError, match=rf"'{DECODER}' holds {kind}, "):
        nlp.load_model(write({WORDS: words, DECODER: words.to(kind)}))
