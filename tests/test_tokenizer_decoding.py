"""Ids back to text, tokens by id and by name, and what a tokenizer says about itself; loading."""

from __future__ import annotations

import copy
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import SourceFormatError, UnknownTokenError, VocabularyFormatError
from tests.made_tokenizers import END, GPT2_FILES, TEXTS, gpt2, gpt2_that, regex_cut, roberta_like
from tests.toy_vocabulary import toy_vocabulary
from tests.vocab_tools.sources import added, tokenizer_file, vocabulary, write_json

#: Ids 300, 301 and the special token 310; nothing between.
GAPS = {**vocabulary("th", "the"), "far": 300, "farther": 301, "<end>": 310}


class TensorLike:
    """What hands out its numbers as a tensor on the CPU does."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.values if dtype is None else self.values.astype(dtype)


def gaps(tmp_path: Path) -> nlp.Tokenizer:
    path = write_json(tmp_path / "tokenizer.json", tokenizer_file(GAPS, added_tokens=[added("<end>", 310)]))
    return nlp.load_tokenizer(path, allow_gaps=True)


# --- decoding ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [gpt2, roberta_like, regex_cut], ids=["gpt2", "roberta-like", "regex"])
def test_round_trips(pair: Any) -> None:
    ours, reference = pair()
    batch = ours.encode_batch(TEXTS)
    assert ours.decode_batch(batch) == TEXTS
    for text, ids in zip(TEXTS, batch, strict=True):
        assert ours.decode(ids) == text == reference.decode(ids.tolist(), skip_special_tokens=False)
        assert ours.decode_bytes(ids) == text.encode()


@given(st.lists(st.integers(0, 50256), max_size=30), st.booleans())
def test_any_ids_decode_as_by_tokenizers(ids: list[int], skip: bool) -> None:
    ours, reference = gpt2()
    text = ours.decode(ids, skip_special_tokens=skip)
    content = ours.decode_bytes(ids, skip_special_tokens=skip)
    assert text == content.decode("utf-8", "replace") == ours.decode_batch([ids], skip_special_tokens=skip)[0]
    assert text == reference.decode(ids, skip_special_tokens=skip)


def test_special_tokens_can_be_left_out() -> None:
    ours, reference = roberta_like()
    ids = ours.encode("the <mask> other", add_special_tokens=True)
    assert ours.decode(ids) == "<s>the<mask> other</s>" == reference.decode(ids.tolist(), skip_special_tokens=False)
    assert ours.decode(ids, skip_special_tokens=True) == reference.decode(ids.tolist())
    assert ours.decode_batch([ids, ids[:1]], skip_special_tokens=True) == ["the other", ""]
    assert ours.decode_bytes(ids[:1], skip_special_tokens=True) == b""


FORMS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "range": lambda ids: range(ids[0], ids[0] + 3),
    "int32": lambda ids: np.array(ids, np.int32),
    "int64": np.array,
    "uint16": lambda ids: np.array(ids, np.uint16),
    "uint64": lambda ids: np.array(ids, np.uint64),
    "big-endian": lambda ids: np.array(ids, ">i4"),
    "strided": lambda ids: np.repeat(np.array(ids, np.int32), 2)[::2],
    "reversed": lambda ids: np.array(ids[::-1])[::-1],
    "column": lambda ids: np.array([ids, ids], order="F").T[:, 0],
    "tensor-like": TensorLike,
    "numpy integers": lambda ids: [np.int16(i) for i in ids],
    "numpy objects": lambda ids: np.array(ids, object),
    "memoryview": lambda ids: memoryview(np.array(ids, np.int32)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_ids(form: str) -> None:
    ours = gpt2().ours
    ids = [464, 465, 466]
    expected = ours.decode(np.array(ids, np.int32))
    given_ids = FORMS[form](ids)
    if isinstance(given_ids, np.ndarray):
        given_ids.flags.writeable = False
    assert ours.decode(given_ids) == expected
    assert ours.decode_batch([given_ids, []]) == [expected, ""]


def test_arrow_lists_of_ids() -> None:
    ours = gpt2().ours
    batch = ours.encode_batch(["To be", None, "", "or not é"], nulls="null")
    expected = ["To be", None, "", "or not é"]
    column = batch.to_arrow()
    for rows in (column, column.cast(pa.list_(pa.int64())), pa.chunked_array([column[:1], column[1:]])):
        assert ours.decode_batch(rows) == expected
    assert ours.decode_batch(column[1:3]) == expected[1:3]
    with pytest.raises(UnknownTokenError, match=r"id 70000 \(row 1, place 1\)"):
        ours.decode_batch(pa.array([[1], [2, 70_000]]))


def test_forms_of_rows_of_ids() -> None:
    ours = gpt2().ours
    matrix = np.array([[464, 465], [466, 467]])
    expected = [ours.decode(row) for row in matrix]
    forms = matrix, matrix.astype(np.uint16), np.asfortranarray(matrix), matrix.tolist(), tuple(map(tuple, matrix))
    for rows in (
        *forms,
        iter(matrix),
        TensorRows(matrix),
        nlp.Ragged(matrix.ravel().astype(np.int32), np.array([0, 2, 4])),
    ):
        assert ours.decode_batch(rows) == expected
    assert ours.decode_batch([]) == ours.decode_batch(np.zeros((0, 3), np.int64)) == []
    assert ours.decode_batch([[], (), np.zeros(0)]) == ["", "", ""]
    assert ours.decode_batch(np.zeros((2, 0), np.int32)) == ["", ""]
    assert ours.decode([]) == ours.decode(np.zeros(0, np.float64)) == ""
    sliced = ours.encode_batch(["a", "b c", "", "d"])[1:3]
    assert ours.decode_batch(sliced) == ["b c", ""]


class TensorRows(TensorLike):
    """A matrix of the same kind."""

    def __iter__(self) -> Any:
        return map(TensorLike, self.values)


@pytest.mark.parametrize(
    "bad", [-1, 50257, 2**31, 2**31 - 1, -(2**31), 2**32, 2**32 + 464, -(2**63), 2**63, 2**64 - 1, 2**70, -(2**70)]
)
def test_ids_that_are_not_there(bad: int) -> None:
    ours = gpt2().ours
    message = rf"id {bad} \(place 2\) is not in the vocabulary, whose ids go from 0 to 50256$"
    forms: list[Any] = [[464, 465, bad], (464, 465, bad, 466), np.array([464, 465, bad], object)]
    if -(2**63) <= bad < 2**64:
        forms.append(np.array([464, 465, bad], np.uint64 if bad >= 2**63 else np.int64))
    for ids in forms:
        with pytest.raises(UnknownTokenError, match=message):
            ours.decode(ids)
        with pytest.raises(UnknownTokenError, match=rf"id {bad} \(row 1, place 2\)"):
            ours.decode_batch([[464], ids])
    with pytest.raises(UnknownTokenError, match=rf"id {bad} "):
        ours.id_to_token(bad)
    if -(2**31) <= bad < 2**31:
        values = np.array([464, 465, 466, bad], np.int32)
        rows = nlp.Ragged(values, np.array([0, 1, 1, 4]))
        with pytest.raises(UnknownTokenError, match=rf"id {bad} \(row 2, place 2\)"):
            ours.decode_batch(rows)
        with pytest.raises(UnknownTokenError, match=rf"id {bad} \(row 0, place 2\)"):
            ours.decode_batch(rows[2:])


def test_one_id_alone() -> None:
    """As transformers' tokenizers take it, and streamers of theirs give it."""
    ours, reference = gpt2()
    for one in (464, np.int64(464), np.uint16(464), np.array(464), TensorLike(464)):
        assert ours.decode(one) == reference.decode([464]) == "The"
        assert ours.decode_bytes(one) == b"The"
    assert ours.decode(50256, skip_special_tokens=True) == ""
    for unknown in (-1, 50257, 2**70):
        with pytest.raises(UnknownTokenError, match=str(unknown)):
            ours.decode(unknown)
    with pytest.raises(TypeError, match="`decode` takes a single row"):
        ours.decode_batch([464, 465])


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a"], "whole numbers, got <U1"),
        ([1.0], "whole numbers, got float64"),
        ([True], "whole numbers, got bool"),
        ([None], "whole numbers, got object"),
        ([2**70, 1.0], "whole numbers, got object"),
        (5.0, "a list or array of whole numbers, got 5.0"),
        (True, "whole numbers, got (bool|True)"),
        ("text", "a list or array of whole numbers, got 'text'"),
        (None, "a list or array of whole numbers, got None"),
        ([[1]], "one-dimensional, got 2 dimensions"),
        ([[1], [2, 3]], "one-dimensional, and is not"),
        (np.array(["2020"], "M8[Y]"), "whole numbers"),
    ],
    ids=repr,
)
def test_what_are_no_ids(ids: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        gpt2().ours.decode(ids)
    with pytest.raises(TypeError, match=rf"\(row 1\).* {message}" if "whole" in message else message):
        gpt2().ours.decode_batch([[1], ids])


@pytest.mark.parametrize("rows", ["text", b"text", 5, None, [5], [[[1]]]], ids=repr)
def test_what_are_no_rows_of_ids(rows: Any) -> None:
    with pytest.raises(TypeError, match="row"):
        gpt2().ours.decode_batch(rows)


def test_the_other_call_is_named() -> None:
    for rows in ([[1]], [[1], [2, 3]]):
        with pytest.raises(TypeError, match=r"; decode_batch takes rows$"):
            gpt2().ours.decode(rows)
    with pytest.raises(TypeError, match=r"ids \(row 0\) must be a list .*, got 1; `decode` takes a single row$"):
        gpt2().ours.decode_batch([1, 2])


def test_ids_that_end_inside_a_character() -> None:
    ours = gpt2().ours
    ids = ours.encode("日")
    assert ids.size > 1
    part = ids[:-1]
    assert ours.decode(part) == "\ufffd"
    assert ours.decode(part, errors="ignore") == ""
    for call in (lambda: ours.decode(part, errors="strict"), lambda: ours.decode_batch([part], errors="strict")):
        with pytest.raises(UnicodeDecodeError):
            call()
    assert ours.decode_batch([part, ids], errors="ignore") == ["", "日"]
    for ids_ in (part, ids):
        with pytest.raises(ValueError, match="`errors` must be 'strict', 'replace' or 'ignore', got 'backslash'"):
            ours.decode(ids_, errors="backslash")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="`errors` must be"):
            ours.decode_batch([ids_], errors="backslash")  # type: ignore[arg-type]


# --- tokens --------------------------------------------------------------------------------------------------------


def test_tokens_and_ids_are_inverse_for_every_id() -> None:
    ours, reference = gpt2()
    assert ours.vocab_size == reference.get_vocab_size() == 50257
    for number in range(ours.vocab_size):
        token, content = ours.id_to_token(number), ours.id_to_bytes(number)
        assert token == reference.id_to_token(number)
        assert ours.token_to_id(token) == ours.token_to_id(content) == number
    assert ours.id_to_token(np.int64(262)) == "Ġthe"  # type: ignore[arg-type]
    assert ours.id_to_bytes(262) == b" the"


@pytest.mark.parametrize("token", ["nope nope", "", b"", "日", b"\xff\xff\xff", "<|endoftext|>>", " the"], ids=repr)
def test_tokens_that_are_not_there(token: Any) -> None:
    with pytest.raises(UnknownTokenError, match="no token"):
        gpt2().ours.token_to_id(token)
    assert issubclass(UnknownTokenError, KeyError)


@pytest.mark.parametrize("token", [None, 5, ["a"]], ids=repr)
def test_what_is_no_token(token: Any) -> None:
    with pytest.raises(TypeError, match="`token` must be str or bytes"):
        gpt2().ours.token_to_id(token)
    for bad in ("a", 1.0, None, [1]):
        with pytest.raises(TypeError, match="ids must be"):
            gpt2().ours.id_to_token(bad)  # type: ignore[arg-type]


def test_special_tokens() -> None:
    assert gpt2().ours.special_tokens == {END: 50256}
    ours = roberta_like().ours
    assert ours.special_tokens["<s>"] == 0
    assert set(ours.special_tokens) == {"<s>", "</s>", "<pad>", "<mask>"}
    with pytest.raises(TypeError):
        ours.special_tokens["x"] = 1  # type: ignore[index]


def test_ids_with_gaps(tmp_path: Path) -> None:
    ours = gaps(tmp_path)
    assert ours.vocab_size == 311
    assert ours.token_to_id("farther") == 301
    assert ours.decode([300, 310, 301]) == "far<end>farther"
    for absent in (258, 299, 302, 309):
        with pytest.raises(UnknownTokenError, match=rf"id {absent} \(row 0, place 1\).*0 to 310 with gaps"):
            ours.decode_batch([[300, absent]])
        with pytest.raises(UnknownTokenError, match="with gaps"):
            ours.id_to_token(absent)
    assert ours.decode(ours.encode("the far <end>")) == "the far <end>"
    for number in [*range(258), 300, 301, 310]:
        assert ours.token_to_id(ours.id_to_token(number)) == number == ours.token_to_id(ours.id_to_bytes(number))


# --- what it says about itself -------------------------------------------------------------------------------------


def test_description(tmp_path: Path) -> None:
    described = gpt2().ours.describe()
    assert described["vocab_size"] == 50257
    assert described["pattern"] == "gpt2"
    assert described["scanner"] == "hand-written kernel"
    assert described["reference"] == "tokenizers"
    assert described["special_policy"] == "match"
    assert described["path"] is None
    assert regex_cut().ours.describe()["scanner"] == "regex library (exact, slower)"
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    assert nlp.load_tokenizer(path).describe()["path"] == str(path)


def test_repr_and_dask_token() -> None:
    ours = gpt2().ours
    assert repr(ours) == "Tokenizer('gpt2', byte_bpe, 50257 ids)"
    assert ours.__dask_tokenize__() == ("numba_nlp.Tokenizer", ours.vocabulary.digest)


def test_equality_follows_the_vocabulary() -> None:
    ours, same, other = gpt2().ours, nlp.Tokenizer(gpt2().ours.vocabulary), gpt2_that("raise")
    assert ours == same
    assert hash(ours) == hash(same)
    assert ours != other
    assert ours != "gpt2"
    assert len({ours, same, other}) == 2


def test_nothing_can_be_changed() -> None:
    ours = gpt2().ours
    for name in ("_vocabulary", "_policy", "anything", "vocab_size"):
        with pytest.raises(AttributeError, match=f"cannot be changed; tried to set '{name}'"):
            setattr(ours, name, 1)
    with pytest.raises(AttributeError, match="tried to delete '_vocabulary'"):
        del ours._vocabulary
    assert weakref.ref(ours)() is ours
    for array in ours.vocabulary.arrays.values():
        assert not array.flags.writeable


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies(duplicate: Any, tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    for ours in (nlp.load_tokenizer(path), nlp.Tokenizer(toy_vocabulary())):
        ours.encode("the and")
        twin = duplicate(ours)
        assert twin == ours
        assert (twin is ours) == (duplicate in (copy.copy, copy.deepcopy))
        assert copy.deepcopy(ours.vocabulary) is copy.copy(ours.vocabulary) is ours.vocabulary
        assert twin.encode("the and<|end|>").tolist() == ours.encode("the and<|end|>").tolist()


# --- loading -------------------------------------------------------------------------------------------------------


def test_loading_a_compiled_file_and_its_sources(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.safetensors"
    vocab_tools.compile(GPT2_FILES).save(path)
    loaded = nlp.load_tokenizer(path)
    assert loaded == nlp.load_tokenizer(str(path), verify=False) == gpt2().ours
    # what was asked for is kept with the source, so that this is another vocabulary of the same arrays
    asked = nlp.load_tokenizer(map(str, GPT2_FILES), family="gpt2").vocabulary
    assert asked.metadata["source_options"] == {"family": "gpt2"}
    differing = {"source_options", "metadata_digest"}
    assert {key for key, value in asked.metadata.items() if loaded.vocabulary.metadata[key] != value} == differing
    assert asked.arrays.keys() == loaded.vocabulary.arrays.keys()
    assert all(np.array_equal(array, loaded.vocabulary.arrays[key]) for key, array in asked.arrays.items())
    assert nlp.load_tokenizer(GPT2_FILES, name="mine").describe()["name"] == "mine"


def test_loading_what_is_not_there_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    with pytest.raises(FileNotFoundError):
        nlp.load_tokenizer(path)
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json: does not exist"):
        nlp.load_tokenizer(tmp_path / "tokenizer.json")
    toy_vocabulary().save(path)
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(VocabularyFormatError, match=r"toy\.safetensors"):
        nlp.load_tokenizer(path)
    path.write_bytes(content[:1000])
    with pytest.raises(VocabularyFormatError, match=r"toy\.safetensors"):
        nlp.load_tokenizer(path)


@pytest.mark.parametrize("wrong", ["gpt2.safetensors", None, Path("x")], ids=repr)
def test_a_tokenizer_is_made_of_a_vocabulary(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"`vocabulary` must be a Vocabulary, got .*; load_tokenizer takes paths"):
        nlp.Tokenizer(wrong)


def test_options_of_loading(tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    with pytest.raises(ValueError, match=r"'family' is an option of compiling, but .*toy\.safetensors.*vocab_tools"):
        nlp.load_tokenizer(path, family="gpt2")
    with pytest.raises(TypeError, match="'families' is no option of any source"):
        nlp.load_tokenizer(GPT2_FILES, families="gpt2")
    with pytest.raises(SourceFormatError, match="family='gpt9' is not known"):
        nlp.load_tokenizer(GPT2_FILES, family="gpt9")
