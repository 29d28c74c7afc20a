"""What models take: lists, arrays and tensors; and what they refuse, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from tests.models.tiny import draw_ids, make_reference, save, torch

VOCABULARY = 60
SETTINGS = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return nlp.load_model(save(make_reference("BertForMaskedLM", **SETTINGS), tmp_path_factory.mktemp("inputs")))


@pytest.mark.parametrize(
    "kind",
    [
        "list",
        "tuple",
        "int64",
        "int32",
        "uint8",
        "uint16",
        ">i8",
        "read-only",
        "columns",
        "every other",
        "int32 tensor",
        "uint8 tensor",
        "uint16 tensor",
        "uint32 tensor",
        "uint64 tensor",
    ],
)
def test_kinds_of_ids_and_masks(model: Any, kind: str) -> None:
    ids = draw_ids(3, 8, VOCABULARY)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    expected = model(ids, mask).logits

    def change(values: Any) -> Any:
        array = values.numpy().copy()
        if kind == "list":
            return array.tolist()
        if kind == "tuple":
            return tuple(map(tuple, array.tolist()))
        if kind == "read-only":
            array.flags.writeable = False
            return array
        if kind == "columns":
            return np.asfortranarray(array)
        if kind == "every other":
            return np.repeat(array, 2, axis=1)[:, ::2]
        if kind.endswith("tensor"):
            return values.to(getattr(torch, kind.removesuffix(" tensor")))
        return array.astype(kind)

    assert torch.equal(model(change(ids), change(mask)).logits, expected)
    assert torch.equal(model(ids, mask.bool().numpy()).logits, expected)


def test_what_a_tokenizer_gives_goes_in(model: Any) -> None:
    """The names of the arguments are those of ``ModelInputs``."""
    inputs = {name: draw_ids(2, 6, 2, least=0).numpy() for name in ("token_type_ids", "attention_mask")}
    assert model(**inputs, input_ids=draw_ids(2, 6, VOCABULARY).numpy()).logits.shape == (2, 6, VOCABULARY)


def test_no_rows(model: Any) -> None:
    assert model(np.zeros((0, 5), np.int64)).logits.shape == (0, 5, VOCABULARY)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2, 3], r"`input_ids` must be of the shape \[rows, width\], got \[3\]; one row alone goes into a list"),
        ([[]], "must have at least one token in a row, got 1 rows without any; leave empty texts out"),
        ([[1], []], "`input_ids` must be rows of one length; pad them"),
        ([[[1]]], r"got \[1, 1, 1\]"),
        ([[1, 2], [3]], "`input_ids` must be rows of one length; pad them"),
        ([[1, 2], [3, 60]], r"must be from 0 to 59, the model has no 60 \(row 1, position 1\)"),
        ([[1, -1], [3, 60]], r"the model has no -1 \(row 0, position 1\)"),
        ([[1] * 21], r"rows of 21 tokens, the model has 20 positions; truncate them, .*max_length=20"),
    ],
)
def test_ids_that_are_refused(model: Any, ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(ids)


@pytest.mark.parametrize("ids", [[[1.0, 2.0]], [["a"]], [[True, False]], torch.ones(1, 2), [[None]], None])
def test_ids_that_are_no_whole_numbers(model: Any, ids: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="`input_ids` must be"):
        model(ids)


@pytest.mark.parametrize("mask", [[[1, 1]], [1, 1, 1], [[[1, 1, 1]]], [[1], [1]]])
def test_masks_of_another_shape(model: Any, mask: Any) -> None:
    with pytest.raises(ValueError, match=r"`attention_mask` must have the shape .*\[1, 3\], got"):
        model([[1, 2, 3]], mask)


@pytest.mark.parametrize("mask", [[[0.0, -1e9, 0.0]], [[1, 2, 1]], [[1, 0.5, 1]], [[1, float("nan"), 1]]])
def test_masks_that_are_none(model: Any, mask: Any) -> None:
    with pytest.raises(ValueError, match="`attention_mask` must be 1 for tokens that count and 0 for padding"):
        model([[1, 2, 3]], mask)


def test_types_that_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r"`token_type_ids` must be from 0 to 1, the model has no 2 \(row 0"):
        model([[1, 2, 3]], None, [[0, 1, 2]])
    with pytest.raises(
        ValueError, match=r"`token_type_ids` must have the shape of `input_ids`, \[1, 3\], got \[1, 2\]"
    ):
        model([[1, 2, 3]], None, [[0, 1]])


def test_what_is_no_array_is_named(model: Any) -> None:
    with pytest.raises(TypeError, match=r"got dict, a mapping; unpack it with \*\*: model\(\*\*tok\("):
        model({"input_ids": [[1, 2]]})
    for text in ("To be", ["To be", "or not"], [b"To be"], [["To", "be"]]):
        with pytest.raises(TypeError, match=r"must be whole numbers, got text; tokenize first: model\(\*\*tok\("):
            model(text)
    with pytest.raises(TypeError, match="must be rows of whole numbers or bool, of one length, got NoneType"):
        model(None)


@pytest.mark.parametrize("name", ["labels", "inputs_embeds", "position_ids", "past_key_values", "return_dict"])
def test_arguments_that_only_transformers_has(model: Any, name: str) -> None:
    message = f"unexpected keyword argument '{name}'; this call takes input_ids, attention_mask, token_type_ids"
    for call in (model, model.embed):
        with pytest.raises(TypeError, match=message):
            call([[1, 2]], **{name: None})
