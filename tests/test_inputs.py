"""Model inputs: forms of the result, errors before work is done, fixed widths for arrays."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from numba_nlp.errors import InvalidTextError, MissingRowError, SpecialTokenError
from tests.input_cases import POST_PROCESSORS, of_kind
from tests.made_tokenizers import END, gpt2, gpt2_that, regex_cut
from tests.toy_vocabulary import toy_arrays, toy_metadata, toy_vocabulary

TEXTS = ["the other", "", "the the the"]


@pytest.fixture(scope="module")
def bert() -> nlp.Tokenizer:
    return of_kind("bert_template").ours


# --- forms -----------------------------------------------------------------------------------------------------------


def test_without_padding_rows_keep_their_lengths(bert: nlp.Tokenizer) -> None:
    inputs = bert(TEXTS)
    assert list(inputs) == ["input_ids", "attention_mask"]
    encoded = bert.encode_batch(TEXTS, add_special_tokens=True, spans=True)
    assert isinstance(inputs.input_ids, nlp.Ragged)
    assert inputs.input_ids.to_list() == encoded.to_list()
    assert inputs.attention_mask.to_list() == [[1] * len(row) for row in encoded]
    spanned = bert(TEXTS, return_offsets_mapping=True)
    assert spanned.input_ids.equals(encoded)
    assert spanned["starts"] is spanned.input_ids.starts
    assert spanned["ends"] is spanned.input_ids.ends
    nlp.Ragged(*(getattr(spanned.input_ids, name) for name in ("values", "offsets", "starts", "ends")))


def test_padded_inputs_are_matrices(bert: nlp.Tokenizer) -> None:
    inputs = bert(
        TEXTS, padding=True, return_token_type_ids=True, return_special_tokens_mask=True, return_offsets_mapping=True,
        return_length=True, return_word_ids=True, return_sequence_ids=True, pad_to_multiple_of=4,
    )  # fmt: skip
    rows = bert.encode_batch(TEXTS, add_special_tokens=True)
    ids, mask = rows.to_padded(2, pad_to_multiple_of=4)
    assert inputs.input_ids.tolist() == ids.tolist()
    assert inputs.attention_mask.tolist() == mask.tolist()
    for name, array in inputs.items():
        assert array.dtype == np.int64
        assert array.shape == ((3,) if name == "length" else ids.shape)
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert inputs.length.tolist() == [8] * 3
    nowhere = (inputs.special_tokens_mask == 1).tolist()
    for name in ("starts", "ends", "word_ids", "sequence_ids"):
        assert (inputs[name] == -1).tolist() == nowhere
    assert inputs.token_type_ids.sum() == 0


def test_one_text_gives_arrays_without_a_batch_axis(bert: nlp.Tokenizer) -> None:
    ids = bert.encode("the other", add_special_tokens=True).tolist()
    for text in ("the other", b"the other"):
        inputs = bert(text, return_offsets_mapping=True)
        assert inputs.input_ids.tolist() == ids
        assert {array.shape for array in inputs.values()} == {(len(ids),)}
        assert {array.dtype for array in inputs.values()} == {np.dtype(np.int64)}
    assert bert("the other", padding="max_length", max_length=9).input_ids.shape == (9,)
    assert bert("the other", return_tensors="np").input_ids.tolist() == [ids]
    windows = bert("the other", max_length=3, return_overflowing_tokens=True)
    assert len(windows.input_ids) == len(ids) - 2
    assert windows.overflow_to_sample_mapping.tolist() == [0] * len(windows.input_ids)
    pair = bert("the", "other", return_token_type_ids=True)
    assert pair.token_type_ids.tolist() == [0] * 4 + [1] * (pair.input_ids.size - 4)


def test_no_texts(bert: nlp.Tokenizer) -> None:
    assert len(bert([]).input_ids) == 0
    assert bert([], [], padding=True).input_ids.shape == (0, 0)
    assert bert([], padding="max_length", max_length=5).input_ids.shape == (0, 5)
    assert bert([], max_length=3, return_overflowing_tokens=True).overflow_to_sample_mapping.shape == (0,)


@pytest.mark.parametrize("make", [list, tuple, iter, lambda texts: np.array(texts, object), nlp.TextRows.from_any])
def test_texts_of_any_kind(bert: nlp.Tokenizer, make: Any) -> None:
    expected = bert(TEXTS, TEXTS[::-1]).input_ids
    assert bert(make(TEXTS), make(TEXTS[::-1]), return_word_ids=True).input_ids.equals(expected)


@pytest.mark.parametrize("options", [{}, {"padding": True}, {"max_length": 6, "return_overflowing_tokens": True}])
def test_threads_do_not_change_the_result(bert: nlp.Tokenizer, options: dict[str, Any]) -> None:
    texts = TEXTS * 300
    one, three = (bert(texts, texts[1:] + texts[:1], num_threads=n, **options) for n in (1, 3))
    for name, value in one.items():
        other = three[name]
        assert value.equals(other) if isinstance(value, nlp.Ragged) else np.array_equal(value, other)


def test_word_ids_of_other_patterns() -> None:
    """No reference has word ids for these cuts; every space of the text starts a word here."""
    ours, reference = regex_cut()
    for text in ("the Theatre 123", "<cut>the<cut><cut>", ""):
        expected = [-1 if word is None else word for word in reference.encode(text).word_ids]
        assert ours(text, return_word_ids=True).word_ids.tolist() == expected


def test_special_tokens_in_the_text() -> None:
    text = f"a{END}b"
    assert gpt2().ours(text, return_word_ids=True, return_special_tokens_mask=True) == {
        "input_ids": pytest.approx(np.array([64, 50256, 65])),
        "attention_mask": pytest.approx(np.ones(3)),
        "special_tokens_mask": pytest.approx(np.zeros(3)),
        "word_ids": pytest.approx(np.arange(3)),
    }
    assert END not in gpt2().ours.decode(gpt2().ours(text, special="plain").input_ids[:2])
    with pytest.raises(SpecialTokenError, match="row 1"):
        gpt2_that("raise")(["a", text])


@pytest.mark.parametrize("kind", sorted(POST_PROCESSORS))
@pytest.mark.parametrize("pair", [None, ["other", ""]])
def test_every_entry_has_a_value_for_each_id(kind: str, pair: list[str] | None) -> None:
    """Systems of this kind gave segment ids and masks that were one short, or one long, for some templates."""
    inputs = of_kind(kind).ours(
        ["the", "the other"], pair, return_token_type_ids=True, return_special_tokens_mask=True, return_word_ids=True,
        return_sequence_ids=True, return_offsets_mapping=True,
    )  # fmt: skip
    lengths = inputs.input_ids.row_lengths.tolist()
    for name, value in inputs.items():
        assert value.row_lengths.tolist() == lengths if isinstance(value, nlp.Ragged) else value.size == sum(lengths)
        assert not isinstance(value, nlp.Ragged) or value.values.size == sum(lengths), name


# --- the mapping -----------------------------------------------------------------------------------------------------


def test_entries_are_attributes(bert: nlp.Tokenizer) -> None:
    inputs = bert(TEXTS, padding=True)
    assert inputs.input_ids is inputs["input_ids"]
    assert dict(**inputs).keys() == inputs.keys()
    with pytest.raises(AttributeError, match="no 'labels' in these model inputs; there is input_ids, attention_mask"):
        _ = inputs.labels
    assert repr(inputs) == "ModelInputs(input_ids: (3, 6), attention_mask: (3, 6))"
    again = pickle.loads(pickle.dumps(inputs))
    assert isinstance(again, nlp.ModelInputs)
    assert np.array_equal(again.input_ids, inputs.input_ids)


class _Tensor:
    """Stands in for torch's."""

    def __init__(self, array: Any, device: str = "cpu") -> None:
        self.array, self.device = array, device

    def to(self, device: str, non_blocking: bool = False) -> _Tensor:
        return _Tensor(self.array, f"{device} {non_blocking}")


def test_tensors(bert: nlp.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = types.ModuleType("torch")
    torch.from_numpy = _Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    inputs = bert(TEXTS, padding=True, return_tensors="pt", return_length=True)
    assert all(isinstance(value, _Tensor) for value in inputs.values())
    assert inputs.input_ids.array.flags.writeable
    assert inputs.to("cuda", non_blocking=True) is inputs
    assert {tensor.device for tensor in inputs.values()} == {"cuda True"}
    with pytest.raises(TypeError, match="'input_ids' is a ndarray, no tensor; make inputs with return_tensors='pt'"):
        bert(TEXTS, padding=True).to("cuda")


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "widest"}, "`padding` must be True, False, 'longest', 'max_length' or 'do_not_pad', got 'widest'"),
        ({"padding": "max_length"}, "padding='max_length' needs `max_length`"),
        (
            {"truncation": "first"},
            "`truncation` must be .*'only_first', 'only_second' or 'do_not_truncate', got 'first'",
        ),
        ({"max_length": -1}, "`max_length` must be a whole number from 0 on, got -1"),
        ({"max_length": 1}, r"special tokens, 2, got 1; raise it or pass add_special_tokens=False"),
        ({"max_length": 5, "stride": 3}, "`stride` must be less than .* room for, 3, got 3"),
        ({"stride": -1}, "`stride` must be a whole number from 0 on"),
        ({"max_length": 5, "padding": True, "truncation": True, "pad_to_multiple_of": 2}, "multiple of .* got 5 and 2"),
        ({"padding": True, "pad_to_multiple_of": 0}, "`pad_to_multiple_of` must be a whole number from 1 on, got 0"),
        ({"padding_side": "top"}, "`padding_side` must be 'right' or 'left', got 'top'"),
        ({"truncation_side": "top"}, "`truncation_side` must be 'right' or 'left', got 'top'"),
        ({"return_tensors": "tf"}, "`return_tensors` must be None, 'np' or 'pt', got 'tf'"),
        ({"nulls": "null"}, "`nulls` must be 'error' or 'empty', got 'null'"),
        ({"padding": True, "pad_id": 1, "pad_token": "<pad>"}, "give `pad_token` or `pad_id`, not both"),
        ({"padding": True, "pad_id": 2**31}, "`pad_id` must fit int32, got 2147483648"),
    ],
)
def test_options_are_checked_before_any_text(bert: nlp.Tokenizer, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bert(["a lone surrogate: \ud800"], **options)


def test_second_texts_are_cut_where_there_are_none(bert: nlp.Tokenizer) -> None:
    options: dict[str, Any] = {"truncation": "only_second", "add_special_tokens": False}
    text = "the the the the"
    n = bert.encode(text).size
    assert len(bert(text, max_length=n, **options)["input_ids"]) == n
    with pytest.raises(
        ValueError, match=r"row 1 is longer than `max_length` \d+, .* no second text to cut; pass `text_pair`"
    ):
        bert(["the", text], max_length=n - 1, **options)


@pytest.mark.parametrize(
    "options", [{"stride": 1.5}, {"max_length": "9"}, {"max_length": True}, {"pad_id": "0", "padding": True}]
)
def test_options_of_the_wrong_type(bert: nlp.Tokenizer, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"`{next(iter(options))}` must be "):
        bert(["\ud800"], **options)


def test_texts_that_do_not_go_together(bert: nlp.Tokenizer) -> None:
    with pytest.raises(ValueError, match="`text` has 1 rows and `text_pair` 2"):
        bert(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="`text` has 1 rows and `text_pair` 2"):
        bert(iter(["a"]), iter(["b", "c"]))
    for texts in (("a", ["b"]), (["a"], "b")):
        with pytest.raises(TypeError, match="must both be one text, or both hold many"):
            bert(*texts)
    with pytest.raises(TypeError, match="`text` is None"):
        bert(None)
    pair = ("a", "b")
    with pytest.raises(TypeError, match="`text` holds pairs, so `text_pair` must be left out"):
        bert([pair], ["c"])
    with pytest.raises(TypeError, match="`text` holds pairs, but row 1 is str; pass pairs in all rows"):
        bert([pair, "c"])
    with pytest.raises(TypeError, match="row 1 must be str, bytes or missing"):
        bert(["c", pair])
    with pytest.raises(TypeError, match="`text` holds pairs, but row 1 has 3 items and not two texts"):
        bert([pair, ["a", "b", "c"]])
    with pytest.raises(TypeError, match="row 0 must be str, bytes or missing"):
        bert([("a", 3)])
    with pytest.raises(InvalidTextError):
        bert(["a"], ["\ud800"])
    with pytest.raises(MissingRowError):
        bert(["a"], [None])
    assert bert([None], ["a"], nulls="empty").input_ids.equals(bert([""], ["a"]).input_ids)


def test_rows_that_do_not_fit(bert: nlp.Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"inputs have 2 to \d+ ids, so they are no matrix; pass padding=True"):
        bert(TEXTS, return_tensors="np")
    assert bert(["a", "b"], return_tensors="np").input_ids.shape == (2, 3)
    with pytest.raises(ValueError, match="input 2 has 6 ids, more than the width 4; pass truncation=True"):
        bert(TEXTS, padding="max_length", max_length=4)
    with pytest.raises(ValueError, match="row 1: the first text is too short to be cut to `max_length` 6"):
        bert(["the", "a"], ["the", "the the the the"], truncation="only_first", max_length=6)
    with pytest.raises(ValueError, match="row 0: `max_length` 7 keeps no more ids of a text than `stride` 2"):
        bert(["the the the"], ["the the the"], max_length=7, stride=2, return_overflowing_tokens=True)


def test_a_length_that_nothing_uses_is_told(bert: nlp.Tokenizer) -> None:
    with pytest.warns(UserWarning, match=r"`max_length` \(4\) is ignored: padding=True pads to the longest row"):
        assert bert(TEXTS, padding=True, max_length=4).input_ids.shape == (3, 6)


def test_padding_without_a_padding_token() -> None:
    ours = gpt2().ours
    with pytest.raises(ValueError, match="no padding token; choose one with pad_token= or pad_id="):
        ours(["a", "b c"], padding=True)
    inputs = ours(["a", "b c"], padding=True, pad_token=END, padding_side="left")
    assert inputs.input_ids.tolist() == [[50256, 64], [65, 269]]
    assert inputs.attention_mask.tolist() == [[0, 1], [1, 1]]
    assert ours(["a", "b c"], padding=True, pad_id=-1).input_ids.tolist() == [[64, -1], [65, 269]]


# --- vocabularies ----------------------------------------------------------------------------------------------------


def test_a_vocabulary_says_what_models_take() -> None:
    settings = {
        "templates": {"single": [[256, 1], ["A", 2]], "pair": [["B", 3], [256, 1], ["A", 2]]},
        "pad": 257,
        "pad_type_id": 4,
        "padding_side": "left",
        "truncation_side": "left",
        "model_max_length": 4,
        "model_input_names": ["input_ids", "token_type_ids"],
    }
    arrays = {**toy_arrays(), "template_single": np.array([256, -1], np.int32)}
    tok = nlp.Tokenizer(nlp.Vocabulary(arrays, toy_metadata(**settings)))
    inputs = tok(["xyz", "1"], ["q", "r"], padding=True, truncation=True)
    assert inputs == {
        "input_ids": pytest.approx(np.array([[*b"q", 256, *b"yz"], [257, *b"r", 256, *b"1"]])),
        "token_type_ids": pytest.approx(np.array([[3, 1, 2, 2], [4, 3, 1, 2]])),
    }
    assert tok("xyzxyz", truncation=True).input_ids.tolist() == [256, *b"xyz"]
    assert tok(["x"], padding="max_length").input_ids.tolist() == [[257, 257, 256, *b"x"]]


def test_a_vocabulary_that_says_nothing() -> None:
    plain = nlp.Tokenizer(toy_vocabulary())
    assert plain(["a"], ["b"], return_token_type_ids=True).token_type_ids.to_list() == [[0, 1]]
    assert plain(["abc"], truncation=True).input_ids.to_list() == [[*b"abc"]]
    arrays = {**toy_arrays(), "template_single": np.array([256, -1], np.int32)}
    tok = nlp.Tokenizer(nlp.Vocabulary(arrays, toy_metadata()))
    assert tok(["a"]).input_ids.to_list() == [[256, 97]]
    with pytest.raises(ValueError, match="no template for pairs of texts; compile it again"):
        tok(["a"], ["b"])


# --- fixed widths ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.int64, "int32"])
def test_encode_padded(bert: nlp.Tokenizer, dtype: Any) -> None:
    ids, mask = nlp.encode_padded(bert, TEXTS, 4, dtype=dtype)
    assert ids.dtype == mask.dtype == np.dtype(dtype)
    expected = bert(TEXTS, padding="max_length", truncation=True, max_length=4)
    assert ids.tolist() == expected.input_ids.tolist()
    assert mask.tolist() == expected.attention_mask.tolist()
    left, left_mask = bert.encode_padded(TEXTS, 4, padding_side="left", truncation_side="left", pad_id=9)
    assert left[1].tolist() == [9, 9, 0, 1]
    assert left_mask[1].tolist() == [0, 0, 1, 1]


def test_encode_padded_keeps_the_shape_of_arrays(bert: nlp.Tokenizer) -> None:
    texts = np.array([["the", "a"], ["", "other"], ["b", "c"]])
    ids, mask = nlp.encode_padded(bert, texts, 6)
    assert ids.shape == mask.shape == (3, 2, 6)
    assert ids.reshape(6, 6).tolist() == nlp.encode_padded(bert, texts.ravel().tolist(), 6)[0].tolist()
    assert nlp.encode_padded(bert, np.array("the"), 6)[0].shape == (6,)
    assert nlp.encode_padded(bert, [], 6)[0].shape == (0, 6)
    empty = nlp.encode_padded(bert, ["the"], 0, add_special_tokens=False)
    assert empty[0].shape == (1, 0)


def test_encode_padded_checks_its_options(bert: nlp.Tokenizer) -> None:
    with pytest.raises(ValueError, match="`dtype` must be int32 or int64, got <class 'float'>"):
        nlp.encode_padded(bert, ["a"], 4, dtype=float)
    with pytest.raises(ValueError, match="`length` must be at least the number of special tokens, 2, got 1"):
        nlp.encode_padded(bert, ["a"], 1)
    with pytest.raises(TypeError, match="`texts` is one str"):
        nlp.encode_padded(bert, "a", 4)
    with pytest.raises(ValueError, match="no padding token"):
        nlp.encode_padded(gpt2().ours, ["a"], 4)
