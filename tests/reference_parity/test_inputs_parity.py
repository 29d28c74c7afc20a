"""Model inputs against transformers 5: every template, option and side; and the faults that are not followed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers", reason="needs transformers 5, which needs Python 3.11")
import numba_nlp as nlp
from tests.input_cases import POST_PROCESSORS, of_kind, ours_of, reference_of
from tests.shared_data import shared

KINDS = (*POST_PROCESSORS, "gpt2")
#: Errors of ours where transformers gives something that is no model input, see the tests by hand below.
OWN_ERRORS = (
    "`max_length` must be at least the number of special tokens",
    "windows covers",
    "`stride` must be less than",
    "more than the width",
)

some_texts = st.lists(
    st.sampled_from(
        ["the ", "the", " other", "é", "日本", " ", "a", "1", "'s", "<mask>", " <mask> ", "</s>", "\n", "x"]
    ),
    max_size=7,
).map("".join)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Any, Any, dict[str, Any]]:
    rows = draw(st.lists(some_texts, min_size=1, max_size=4))
    pairs = draw(st.one_of(st.none(), st.lists(some_texts, min_size=len(rows), max_size=len(rows))))
    options = {
        "add_special_tokens": draw(st.booleans()),
        "padding": draw(st.sampled_from([False, True, "longest", "max_length", "do_not_pad"])),
        "truncation": draw(
            st.sampled_from([None, False, True, "longest_first", "only_first", "only_second", "do_not_truncate"])
        ),
        "max_length": draw(st.one_of(st.none(), st.integers(0, 12))),
        "pad_to_multiple_of": draw(st.sampled_from([None, None, 1, 3])),
        "padding_side": draw(st.sampled_from([None, "left", "right"])),
        "truncation_side": draw(st.sampled_from([None, "left", "right"])),
        "return_overflowing_tokens": draw(st.booleans()),
    }
    # without windows the stride has no effect here, but panics there when a text keeps fewer ids
    options["stride"] = draw(st.integers(0, 3)) if options["return_overflowing_tokens"] else 0
    if options["padding"] == "max_length" and options["max_length"] is None:
        options["max_length"] = 9
    return rows, pairs, options


def without_faults(ours: dict[str, Any], reference: dict[str, Any]) -> None:
    """Take our answer where that of transformers is known to be wrong; each case has a test by hand below."""
    first_inputs = {}
    rows = reference.get("overflow_to_sample_mapping", range(len(reference["input_ids"])))
    for number, row in enumerate(rows):
        first_inputs.setdefault(row, number)
    for number, row in enumerate(rows):
        if number != first_inputs[row]:
            reference["token_type_ids"][number] = ours["token_type_ids"][number]
    for name in ("starts", "ends"):
        # template tokens and padding: 0, 0 there
        ours[name] = [[max(place, 0) for place in places] for places in ours[name]]


@pytest.mark.parametrize("kind", KINDS)
@given(call=calls())
def test_inputs_are_those_of_transformers(kind: str, call: tuple[Any, Any, dict[str, Any]]) -> None:
    ours = ours_of(kind, *call)
    if isinstance(ours, ValueError) and any(message in str(ours) for message in OWN_ERRORS):
        return
    reference = reference_of(kind, *call)
    if isinstance(ours, ValueError):
        assert isinstance(reference, BaseException), ours
        return
    if isinstance(reference, BaseException):
        # the stride is checked against the template for one text, whether or not that is what is used
        assert call[2]["stride"] > 0, reference
        return
    without_faults(ours, reference)
    if kind == "normalized" and call[2]["max_length"] is not None:
        reference.update({name: ours[name] for name in ("starts", "ends")})
    assert ours == reference


@pytest.mark.parametrize("kind", KINDS)
@given(text=some_texts, pair=st.one_of(st.none(), some_texts.filter(bool)), max_length=st.integers(4, 9))
def test_single_texts_are_those_of_transformers(kind: str, text: str, pair: str | None, max_length: int) -> None:
    options = {"truncation": True, "max_length": max_length}
    ours, reference = ours_of(kind, text, pair, options), reference_of(kind, text, pair, options)
    assert isinstance(ours, dict)
    assert isinstance(reference, dict)
    ours.pop("length")
    for name in ("starts", "ends"):
        ours[name] = [max(place, 0) for place in ours[name]]
    reference.pop("length")
    assert ours == reference


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_row", [tuple, list])
@pytest.mark.parametrize(
    "options",
    [{}, {"padding": True}, {"truncation": "only_second", "max_length": 9, "return_overflowing_tokens": True}],
)
def test_pairs_in_one_list_are_those_of_transformers(kind: str, as_row: type, options: dict[str, Any]) -> None:
    firsts, seconds = ["the", "", "the other <mask>"], ["other é the 1", "x", ""]
    rows = [as_row(pair) for pair in zip(firsts, seconds, strict=True)]
    ours, reference = ours_of(kind, rows, None, options), reference_of(kind, rows, None, options)
    assert isinstance(ours, dict), ours
    assert isinstance(reference, dict), reference
    assert ours == ours_of(kind, firsts, seconds, options) == ours_of(kind, tuple(rows), None, options)
    without_faults(ours, reference)
    if kind == "normalized" and "max_length" in options:
        reference.update({name: ours[name] for name in ("starts", "ends")})
    assert ours == reference


@pytest.mark.parametrize("pairs", [None, ["over the dog", "foo bar baz qux", "z"]])
@pytest.mark.parametrize("options", [{}, {"max_length": 8}, {"padding": "max_length"}])
def test_inputs_of_bert(pairs: list[str] | None, options: dict[str, Any]) -> None:
    """Types come without being asked for, in the order of transformers."""
    from transformers import BertTokenizer

    path = str(shared("vocab/bert/uncased_vocab.txt"))
    texts = ["The quick brown fox jumps", "hello [MASK] of things", ""]
    ours = nlp.load_tokenizer(path)(texts, pairs, **{"padding": True, "truncation": True, "max_length": 40, **options})
    reference = BertTokenizer(vocab=path)(
        texts, pairs, **{"padding": True, "truncation": True, "max_length": 40, **options}
    )
    assert {name: value.tolist() for name, value in ours.items()} == dict(reference)
    assert list(ours) == list(reference)


# --- what is not followed --------------------------------------------------------------------------------------------


def test_all_windows_have_the_types_of_the_template() -> None:
    """Of tokenizers' windows only the first has them; the others keep those from before the template."""
    options = {"truncation": True, "max_length": 5, "return_overflowing_tokens": True}
    call = "turned_template", ["other the 1 é 日本"], None, options
    ours, reference = ours_of(*call), reference_of(*call)
    assert isinstance(ours, dict)
    assert isinstance(reference, dict)
    assert ours["input_ids"] == reference["input_ids"]
    assert [set(row[:-1]) for row in reference["token_type_ids"]][:2] == [{5}, {0}]
    assert {kind for row in ours["token_type_ids"] for kind in row[:-1]} == {5}


def test_spans_do_not_depend_on_windows() -> None:
    """Where the post-processor has ``add_prefix_space`` tokenizers keeps the space of whatever begins a window."""
    options: dict[str, Any] = {"add_special_tokens": False}
    whole = ours_of("normalized", ["the "], None, options), reference_of("normalized", ["the "], None, options)
    options.update(max_length=1, return_overflowing_tokens=True)
    cut = ours_of("normalized", ["the "], None, options), reference_of("normalized", ["the "], None, options)
    assert whole[0]["starts"] == whole[1]["starts"] == [[0, 4]]  # type: ignore[index]
    assert cut[0]["starts"] == [[0], [4]]  # type: ignore[index]
    assert cut[1]["starts"] == [[0], [3]]  # type: ignore[index]


def test_too_little_room_for_special_tokens_is_an_error() -> None:
    """transformers leaves the text whole, longer than ``max_length``."""
    call = "bert", ["the other"], None, {"truncation": True, "max_length": 1}
    reference = reference_of(*call)
    assert isinstance(reference, dict)
    assert len(reference["input_ids"][0]) > 1
    with pytest.raises(ValueError, match="`max_length` must be at least the number of special tokens, 2, got 1"):
        of_kind("bert").ours(call[1], **call[3])


def test_windows_without_room_for_text_are_an_error() -> None:
    """transformers gives a window without text, and then one with all of it, longer than ``max_length``."""
    options = {"truncation": True, "max_length": 2, "return_overflowing_tokens": True}
    reference = reference_of("bert", ["the other"], None, options)
    assert isinstance(reference, dict)
    assert [len(row) > 2 for row in reference["input_ids"]] == [False, True]
    with pytest.raises(ValueError, match="`max_length` 2 has no room for text beside 2 special tokens"):
        of_kind("bert").ours(["the other"], **options)
    # without windows it is what was asked for
    assert of_kind("bert").ours(["the other"], truncation=True, max_length=2).input_ids.to_list() == [[0, 1]]
    # a short text beside a long one, of which nothing is kept
    options["max_length"] = 4
    with pytest.raises(ValueError, match="row 0: `max_length` 4 keeps no more ids of a text than `stride` 0"):
        of_kind("bert").ours(["the"], ["other other"], **options)


def test_an_empty_second_text_is_a_second_text() -> None:
    """transformers takes it for none, but only of a single text."""
    ours, reference = of_kind("roberta")
    assert reference("the", "")["input_ids"] != reference(["the"], [""])["input_ids"][0]
    assert ours("the", "").input_ids.tolist() == reference(["the"], [""])["input_ids"][0]


def test_a_text_longer_than_the_padding_is_an_error() -> None:
    """transformers gives rows of different length."""
    options = {"padding": "max_length", "max_length": 4, "truncation": False}
    ours, reference = of_kind("bert")
    assert {len(row) for row in reference(["the other", "the"], **options)["input_ids"]} == {4, 5}
    with pytest.raises(ValueError, match="input 0 has 5 ids, more than the width 4"):
        ours(["the other", "the"], **options)


def test_padding_to_a_length_that_nobody_gives_is_an_error() -> None:
    """transformers does not pad then."""
    ours, reference = of_kind("bert")
    assert [len(row) for row in reference(["the other", "the"], padding="max_length")["input_ids"]] == [5, 4]
    with pytest.raises(ValueError, match="padding='max_length' needs `max_length`"):
        ours(["the other", "the"], padding="max_length")
