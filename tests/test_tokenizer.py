"""Encoding through the public class: ids, spans, special tokens, options and their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.errors import InvalidTextError, MissingRowError, SpecialTokenError
from tests.made_tokenizers import (
    END,
    HAMLET,
    TEXTS,
    Pair,
    bert,
    gpt2,
    gpt2_that,
    regex_cut,
    roberta_like,
)

PAIRS: dict[str, Callable[[], Pair]] = {
    "gpt2": gpt2,
    "roberta-like": roberta_like,
    "roberta-like, prefix space": lambda: roberta_like(prefix_space=True),
    "roberta-like, prefix space, untrimmed": lambda: roberta_like(prefix_space=True, trim_offsets=False),
    "regex": regex_cut,
    "bert": bert,
    "bert, with case": lambda: bert(lowercase=False),
}
any_pair = pytest.mark.parametrize("name", PAIRS)


# --- ids and spans -------------------------------------------------------------------------------------------------


@any_pair
def test_ids_and_spans_are_those_of_tokenizers(name: str) -> None:
    ours, reference = PAIRS[name]()
    texts = [*TEXTS, *HAMLET.read_text(encoding="utf-8").splitlines()[:300]]
    batch = ours.encode_batch(texts, spans=True)
    for row, text in enumerate(texts):
        expected = reference.encode(text, add_special_tokens=False)
        starts, ends = batch.spans(row)
        assert batch[row].tolist() == expected.ids, text
        assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected.offsets, text


@any_pair
def test_one_text_is_encoded_as_in_a_batch(name: str) -> None:
    ours = PAIRS[name]().ours
    for text in [*TEXTS, "<mask> x <mask>", f"a{END}b", "<cut><cut>"]:
        batch = ours.encode_batch([text], spans=True)
        assert ours.encode(text).tolist() == batch[0].tolist()
        assert ours.encode(text.encode()).tolist() == batch[0].tolist()
        ids, starts, ends = ours.encode(text, spans=True)
        assert ids.tolist() == batch[0].tolist()
        assert (starts.tolist(), ends.tolist()) == tuple(part.tolist() for part in batch.spans(0))


@given(st.text(), st.integers(0, 400))
@example("é", 1)
@example("", 0)
def test_any_text_alone_in_a_batch_and_by_the_reference(text: str, repeat: int) -> None:
    ours, reference = gpt2()
    text *= max(1, repeat // max(1, len(text)))
    ids = ours.encode(text)
    batch = ours.encode_batch(["x", text, "y"], spans=True)
    expected = reference.encode(text, add_special_tokens=False)
    assert ids.tolist() == batch[1].tolist() == expected.ids
    assert list(zip(*(part.tolist() for part in batch.spans(1)), strict=True)) == expected.offsets
    assert ours.decode(ids) == text


@pytest.mark.parametrize("unit", ["a", "é", "日", "😀", " word", "\r\n"])
@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
def test_texts_about_as_long_as_the_single_path_takes(unit: str, offset: int) -> None:
    ours = gpt2().ours
    repeated, rest = divmod(16384 + offset, len(unit.encode()))
    text = unit * repeated + "b" * rest
    assert len(text.encode()) == 16384 + offset
    ids = ours.encode(text)
    assert ids.tolist() == ours.encode_batch([text])[0].tolist()
    assert ours.decode(ids) == text


@any_pair
def test_byte_spans_are_character_spans_in_bytes(name: str) -> None:
    ours = PAIRS[name]().ours
    for text in ["plain ASCII text", "naïve café 日本語 and more"]:
        places = np.cumsum([0, *(len(character.encode()) for character in text)])
        ids, starts, ends = ours.encode(text, spans=True, unit="byte")
        other, char_starts, char_ends = ours.encode(text, spans=True)
        assert ids.tolist() == other.tolist()
        assert (starts >= places[char_starts]).all()
        assert (ends <= places[char_ends]).all()
        if text.isascii():
            # tokenizers gives the first character to a token that is nothing but the added space; it has no bytes
            full = starts < ends
            assert np.array_equal(starts[full], char_starts[full])
            assert np.array_equal(ends[full], char_ends[full])


def test_byte_spans_tile_the_text() -> None:
    ours = gpt2().ours
    for text in TEXTS:
        ids, starts, ends = ours.encode(text, spans=True, unit="byte")
        content = text.encode()
        assert b"".join(content[a:b] for a, b in zip(starts, ends, strict=True)) == content
        assert all(content[a:b] == ours.id_to_bytes(i) for i, a, b in zip(ids.tolist(), starts, ends, strict=True))


def test_return_types() -> None:
    ours = gpt2().ours
    ids, starts, ends = ours.encode("some text", spans=True)
    assert (ids.dtype, starts.dtype, ends.dtype) == (np.int32, np.int64, np.int64)
    for empty in (ours.encode(""), ours.encode(b"")):
        assert (empty.dtype, empty.shape) == (np.int32, (0,))
    single = ours.encode("some text")
    assert single.flags.writeable
    assert single.flags.owndata
    single[:] = 0
    assert ours.encode("some text").tolist() == ids.tolist()
    for options in ({}, {"spans": True}):
        for texts in ([], [""], ["", ""], [b""]):
            nothing = ours.encode_batch(texts, **options).values
            assert nothing.flags.writeable
            assert not np.shares_memory(nothing, ours.encode_batch(texts, **options).values)
    batch = ours.encode_batch(["some text", ""])
    assert isinstance(batch, nlp.Ragged)
    assert (batch.values.dtype, batch.offsets.dtype) == (np.int32, np.int64)
    assert batch.starts is batch.ends is batch.valid is None


@pytest.mark.parametrize(
    "texts",
    [[], (), iter(()), np.array([], object), np.array([], "U1")],
    ids=["list", "tuple", "iterator", "objects", "strings"],
)
def test_no_rows(texts: Any) -> None:
    batch = gpt2().ours.encode_batch(texts, spans=True)
    assert len(batch) == 0
    assert batch.offsets.tolist() == [0]
    assert batch.values.size == batch.starts.size == batch.ends.size == 0  # type: ignore[union-attr]


@any_pair
def test_rows_without_text(name: str) -> None:
    ours = PAIRS[name]().ours
    batch = ours.encode_batch([""] * 1000, spans=True)
    assert batch.offsets.tolist() == [0] * 1001
    assert ours.count_batch(["", "a", ""])[[0, 2]].tolist() == [0, 0]


def test_counts() -> None:
    ours = gpt2().ours
    assert [ours.count(text) for text in TEXTS] == ours.count_batch(TEXTS).tolist()
    assert [ours.count(text) for text in TEXTS] == [len(ours.encode(text)) for text in TEXTS]
    assert isinstance(ours.count("a"), int)
    assert ours.count_batch(TEXTS).dtype == np.int64
    template = roberta_like().ours
    assert template.count("a", add_special_tokens=True) == template.count("a") + 2
    assert (template.count_batch(["a", ""], add_special_tokens=True) - template.count_batch(["a", ""])).tolist() == [
        2,
        2,
    ]


# --- errors= nulls= num_threads= progress= -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "byte", "what"),
    [("ab\ud800c", 2, "lone surrogate U\\+D800"), (b"ab\xffc", 2, "bytes ff 63"), ("é\udfff", 2, "U\\+DFFF")],
    ids=repr,
)
def test_text_that_is_not_unicode(text: Any, byte: int, what: str) -> None:
    ours = gpt2().ours
    for call in (lambda: ours.encode(text), lambda: ours.encode(text, spans=True), lambda: ours.count(text)):
        with pytest.raises(InvalidTextError, match=what) as caught:
            call()
        assert (caught.value.row, caught.value.byte) == (0, byte)
    with pytest.raises(InvalidTextError, match=f"row 1, byte {byte}: .*errors='replace'") as caught:
        ours.encode_batch(["fine", text])
    assert (caught.value.row, caught.value.byte) == (1, byte)
    repaired = text.decode("utf-8", "replace") if isinstance(text, bytes) else text[:-2] + "\ufffd" + text[-1]
    if text == "é\udfff":
        repaired = "é\ufffd"
    assert ours.decode(ours.encode(text, errors="replace")) == repaired
    assert ours.encode_batch(["x", text], errors="replace")[1].tolist() == ours.encode(repaired).tolist()


def test_missing_rows() -> None:
    ours = gpt2().ours
    rows = ["a", None, float("nan"), "b"]
    with pytest.raises(MissingRowError, match=r"row 1 is missing.*nulls='empty'"):
        ours.encode_batch(rows)
    assert ours.encode_batch(rows, nulls="empty").to_list() == [[64], [], [], [65]]
    kept = ours.encode_batch(rows, nulls="null")
    assert kept.to_list() == [[64], None, None, [65]]
    assert ours.decode_batch(kept) == ["a", None, None, "b"]
    assert ours.count_batch(rows, nulls="null").tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("option", [{"errors": "ignore"}, {"unit": "word"}, {"nulls": "drop"}], ids=repr)
@pytest.mark.parametrize("text", ["plain", END, "é"])
def test_options_with_other_values(option: dict[str, Any], text: str) -> None:
    name = next(iter(option))
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        gpt2().ours.encode_batch([text], **option)
    if name != "nulls":
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            gpt2().ours.encode(text, **option)


@any_pair
def test_threads_do_not_change_the_result(name: str) -> None:
    ours = PAIRS[name]().ours
    lines = HAMLET.read_text(encoding="utf-8").splitlines()[: 1500 if name == "regex" else 5000]
    texts = [*lines, "", *TEXTS * 20, *lines]
    alone = ours.encode_batch(texts, spans=True, add_special_tokens=True, num_threads=1)
    for threads in (2, 3, 8, np.int64(5), 10**9):
        assert ours.encode_batch(texts, spans=True, add_special_tokens=True, num_threads=threads).equals(alone)


def test_threads_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = gpt2().ours
    texts = HAMLET.read_text(encoding="utf-8").splitlines()
    alone = ours.encode_batch(texts, num_threads=1)
    for value in ("1", "4"):
        monkeypatch.setenv("NUMBA_NLP_NUM_THREADS", value)
        assert ours.encode_batch(texts).equals(alone)
    for value in ("0", "-1", "two", "", "1.5"):
        monkeypatch.setenv("NUMBA_NLP_NUM_THREADS", value)
        with pytest.raises(ValueError, match=r"`NUMBA_NLP_NUM_THREADS` must be a whole number of at least 1, got '?"):
            ours.encode_batch(texts)
        assert ours.encode_batch(texts, num_threads=1).equals(alone)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, [1]], ids=repr)
def test_numbers_of_threads_that_are_none(threads: Any) -> None:
    with pytest.raises(ValueError, match="`num_threads` must be a whole number of at least 1"):
        gpt2().ours.encode_batch(["a"], num_threads=threads)


def test_progress_shows_rows_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    ours = roberta_like().ours
    texts = [f"the {i} <mask>" if i % 7 else None for i in range(40_000)]
    options: dict[str, Any] = {"spans": True, "add_special_tokens": True, "nulls": "null"}
    shown = ours.encode_batch(texts, progress=True, **options)
    assert "40.0k" in capsys.readouterr().err
    assert shown.equals(ours.encode_batch(texts, **options))


def test_progress_begins_after_all_checks(capsys: pytest.CaptureFixture[str]) -> None:
    ours = gpt2_that("raise")
    texts = ["a"] * 39_999
    for last, error in ((END, SpecialTokenError), ("\ud800", InvalidTextError), (None, MissingRowError)):
        with pytest.raises(error, match="row 39999"):
            ours.encode_batch([*texts, last], progress=True)
    assert capsys.readouterr().err == ""


def test_memory_follows_what_is_there_not_what_was_before() -> None:
    """Rows of the last batch say how much memory to make for the next one, which may be of another kind."""
    ours = nlp.Tokenizer(gpt2().ours.vocabulary)
    long, short = ["to be or not to be " * 20_000] * 3, ["x"] * 300_000
    for texts in (long, short, long, [*long, *short], [*short, *long], [""] * 1000, short[:10]):
        for form in (texts, nlp.TextRows.from_any(texts)):
            for threads in (1, 3):
                batch = ours.encode_batch(form, num_threads=threads)
                assert len(batch) == len(texts)
                base = batch.values if batch.values.base is None else batch.values.base
                assert base.nbytes < 64 * (batch.values.size + (1 << 19))
    assert batch.to_list() == [ours.encode("x").tolist()] * 10
