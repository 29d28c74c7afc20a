"""Methods in C: what callers see of a method, whichever way it answers, and what happens to what they hold."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from numba_nlp import _fastcall
from numba_nlp.errors import InvalidTextError, SpecialTokenError
from tests.made_tokenizers import gpt2
from tests.toy_vocabulary import toy_vocabulary

TEXT = "To be, or not to be: \u00e9\u65e5 a < b <|endoftex"
compiled_only = pytest.mark.skipif(not _fastcall.HAS_METHODS, reason="methods are not compiled here")


@pytest.fixture(scope="module")
def pair() -> Any:
    made = gpt2()
    # the class has its methods from here on
    made.ours.count("a")
    made.ours.encode("a")
    return made


@pytest.fixture(scope="module")
def tok(pair: Any) -> nlp.Tokenizer:
    return pair.ours


def anew(tok: nlp.Tokenizer, kind: type[nlp.Tokenizer] = nlp.Tokenizer) -> nlp.Tokenizer:
    return kind(tok.vocabulary)


def ids_of(pair: Any, text: str) -> list[int]:
    ids: list[int] = pair.reference.encode(text, add_special_tokens=False).ids
    return ids


def test_ids_and_counts(pair: Any) -> None:
    for text in ("", "a", TEXT, TEXT * 50, TEXT * 1000):
        assert pair.ours.encode(text).tolist() == ids_of(pair, text)
        assert pair.ours.count(text) == len(ids_of(pair, text))
        assert type(pair.ours.count(text)) is int
    found = pair.ours.encode(TEXT)
    assert found.dtype == np.int32
    assert found.flags.owndata
    assert found.flags.writeable


@compiled_only
def test_methods_are_compiled() -> None:
    for name in ("encode", "count"):
        method = getattr(nlp.Tokenizer, name)
        assert type(method).__name__ == "method_descriptor"
        written = getattr(nlp.Tokenizer, f"_{name}")
        assert method.__doc__ == written.__doc__.strip() or inspect.getdoc(method) == inspect.getdoc(written)
        parameters = [each.replace(annotation=each.empty) for each in inspect.signature(written).parameters.values()]
        shown = list(inspect.signature(method).parameters.values())
        assert [str(each) for each in shown] == [str(each) for each in parameters]
        assert [each.kind for each in shown][1:] == [each.kind for each in parameters][1:]


@pytest.mark.parametrize("name", ["encode", "count"])
def test_arguments_that_methods_do_not_take(tok: nlp.Tokenizer, name: str) -> None:
    method = getattr(tok, name)
    with pytest.raises(TypeError, match=rf"Tokenizer.{name}\(\) missing 1 required positional argument: 'text'"):
        method()
    with pytest.raises(TypeError, match=rf"Tokenizer.{name}\(\) got an unexpected keyword argument 'txt'"):
        method("a", txt="b")
    with pytest.raises(TypeError, match=rf"Tokenizer.{name}\(\) takes 2 positional arguments but 3 were given"):
        method("a", "b")
    with pytest.raises(TypeError, match=rf"Tokenizer.{name}\(\) takes 2 positional arguments but 100001 were given"):
        method(*["a"] * 100_000)
    for value in (None, 1, ["a"], np.str_):
        with pytest.raises(TypeError, match="`text` must be str or bytes"):
            method(value)
    with pytest.raises(InvalidTextError):
        method("\ud800")
    with pytest.raises(SpecialTokenError):
        method("<|endoftext|>", special="raise")


def test_other_ways_to_call(pair: Any) -> None:
    tok, expected = pair.ours, ids_of(pair, TEXT)

    class Text(str):
        __slots__ = ()

    assert tok.encode(text=TEXT).tolist() == expected
    assert tok.encode(*(TEXT,), **{}).tolist() == expected
    assert tok.encode(Text(TEXT)).tolist() == expected
    assert tok.encode(np.str_(TEXT)).tolist() == expected
    assert tok.encode(TEXT.encode()).tolist() == expected
    assert nlp.Tokenizer.encode(tok, TEXT).tolist() == expected
    assert nlp.Tokenizer.count(tok, text=TEXT) == len(expected)
    assert [row.tolist() for row in map(tok.encode, [TEXT, "a"])] == [expected, ids_of(pair, "a")]
    assert pickle.loads(pickle.dumps(tok.encode))(TEXT).tolist() == expected
    assert copy.deepcopy(tok).encode(TEXT).tolist() == expected


def test_a_method_taken_before_the_first_call(tok: nlp.Tokenizer) -> None:
    fresh = anew(tok)
    encode, count = fresh.encode, fresh.count
    for _ in range(3):
        assert encode(TEXT).tolist() == tok.encode(TEXT).tolist()
        assert count(TEXT) == tok.count(TEXT)


def test_subclasses(tok: nlp.Tokenizer) -> None:
    class Named(nlp.Tokenizer):
        """With a dictionary and a property."""

        @property
        def name(self) -> str:
            return "named"

    class Lower(nlp.Tokenizer):
        __slots__ = ()

        def encode(self, text: Any, **options: Any) -> Any:
            return super().encode(text.lower(), **options)

    named, lower = anew(tok, Named), anew(tok, Lower)
    for _ in range(3):
        assert named.encode(TEXT).tolist() == tok.encode(TEXT).tolist()
        assert named.count(TEXT) == tok.count(TEXT)
        assert lower.encode("ABSOLUTELY").tolist() == tok.encode("absolutely").tolist()
        # counts what its own method gives
        assert lower.count("ABSOLUTELY") == tok.count("absolutely") != tok.count("ABSOLUTELY")
    with pytest.raises((TypeError, AttributeError)):
        nlp.Tokenizer.encode("a", "b")  # type: ignore[arg-type]


def test_a_method_that_was_replaced_stays(tok: nlp.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nlp.Tokenizer, "encode", lambda self, text: np.arange(3))
    fresh = anew(tok)
    assert fresh.encode(TEXT).tolist() == [0, 1, 2]
    assert nlp.Tokenizer._encode(fresh, "a").tolist() != [0, 1, 2]
    assert fresh.encode(TEXT).tolist() == [0, 1, 2]


def test_an_object_that_was_not_made_whole() -> None:
    for name in ("encode", "count"):
        with pytest.raises(AttributeError):
            getattr(nlp.Tokenizer.__new__(nlp.Tokenizer), name)("a")


def test_first_calls_of_many_threads(tok: nlp.Tokenizer) -> None:
    expected = tok.encode(TEXT).tolist()
    for _ in range(5):
        fresh = anew(tok)

        def work(number: int, fresh: nlp.Tokenizer = fresh) -> bool:
            texts = [f"{TEXT} {number}"] * (number % 5)
            rows = [tok.encode(text).tolist() for text in texts]
            return (
                fresh.encode(TEXT).tolist() == expected
                and fresh.count(TEXT) == len(expected)
                and fresh.encode_batch(texts).to_list() == rows
            )

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(64)))


def test_nothing_is_kept(tok: nlp.Tokenizer) -> None:
    text = f"{TEXT} {tok.vocab_size}"
    rows = [text, "a"]
    calls = [
        lambda: tok.encode(text), lambda: tok.count(text), lambda: tok.encode(text, special="plain"),
        lambda: tok.encode_batch(rows), lambda: tok.encode_batch([text, "<|endoftext|>"]),
        lambda: tok.encode("x" * 20_000),
    ]  # fmt: skip
    lasting = (text, None, rows, tok, np.ndarray, np.dtype(np.int32))

    def references() -> list[int]:
        gc.collect()
        return [sys.getrefcount(one) for one in lasting]

    for call in calls:
        # what compiles, or comes from the cache, at first leaves names behind
        for _ in range(200):
            call()
        # numbers of references of what never dies do not change in newer interpreters
        before = references()
        for _ in range(200):
            call()
        after = references()
        assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True)), (before, after)


def test_a_tokenizer_dies_with_its_last_name(tok: nlp.Tokenizer) -> None:
    fresh = anew(tok)
    fresh.encode(TEXT)
    fresh.encode_batch([TEXT])
    kept = fresh.encode(TEXT)
    gone = weakref.ref(fresh)
    gc.disable()
    try:
        del fresh
        assert gone() is None
    finally:
        gc.enable()
    assert kept.tolist() == tok.encode(TEXT).tolist()


def test_few_texts(pair: Any) -> None:
    tok = pair.ours
    lists: list[Any] = [
        [],
        [""],
        ["a"],
        ["a", "", TEXT] * 5,
        [TEXT] * 256,
        ["a"] * 257,
        ["x" * 16_385],
        [TEXT * 200, TEXT * 200],
    ]
    for texts in lists:
        expected = [ids_of(pair, text) for text in texts]
        for given in (texts, tuple(texts), iter(texts)):
            found = tok.encode_batch(given)
            assert found.to_list() == expected
            assert (found.values.dtype, found.offsets.dtype) == (np.int32, np.int64)
            assert found.offsets.size == len(texts) + 1
            assert found.valid is None
        assert tok.count_batch(texts).tolist() == list(map(len, expected))
    assert tok.encode_batch(["a", b"a", np.str_("a")]).to_list() == [ids_of(pair, "a")] * 3
    with pytest.raises(TypeError):
        tok.encode_batch(["a", 1])
    with pytest.raises(InvalidTextError, match="row 1"):
        tok.encode_batch(["a", "\udfff"])
    with pytest.raises(SpecialTokenError, match="row 1"):
        tok.encode_batch(["a", "<|endoftext|>"], special="raise")


@pytest.mark.parametrize(
    "options",
    [
        {"errors": "none"}, {"unit": "word"}, {"nulls": None}, {"special": "all"}, {"num_threads": 0}, {"seed": -1},
        {"num_threads": True}, {"dropout": 2.0}, {"dropout": False}, {"spans": 0}, {"progress": None},
        {"add_special_tokens": 0},
    ],
    ids=repr,
)  # fmt: skip
def test_options_are_checked_with_few_texts(tok: nlp.Tokenizer, options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        tok.encode_batch(["a"], **options)


def test_a_tokenizer_made_anew_in_place_forgets_the_vocabulary_before(tok: nlp.Tokenizer) -> None:
    made = nlp.Tokenizer(tok.vocabulary)
    made.encode("the and")
    toy = toy_vocabulary()
    made.__init__(toy)  # type: ignore[misc]
    expected = nlp.Tokenizer(toy).encode_batch(["the and"]).to_list()[0]
    assert made.encode("the and").tolist() == expected == made.encode_batch(["the and"]).to_list()[0]
    assert made.count("the and") == len(expected)
