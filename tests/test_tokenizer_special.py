"""Special tokens written in the text, and those that ``add_special_tokens`` puts around it."""

from __future__ import annotations

from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import InvalidTextError, SpecialTokenError
from numba_nlp.kernels.segment.special_matcher import FLAG_NORMALIZED, FLAG_SINGLE_WORD
from numba_nlp.vocabulary import Vocabulary
from tests.made_tokenizers import END, TEXTS, gpt2, gpt2_that, roberta_like, spans_of
from tests.toy_vocabulary import toy_arrays, toy_metadata

# --- templates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix_space", [False, True])
def test_template_is_that_of_tokenizers(prefix_space: bool) -> None:
    ours, reference = roberta_like(prefix_space=prefix_space)
    texts = [*TEXTS, "the <mask> other", "<s>", "a</s>b"]
    batch = ours.encode_batch(texts, spans=True, add_special_tokens=True)
    for row, text in enumerate(texts):
        expected = reference.encode(text, add_special_tokens=True)
        starts, ends = (part.tolist() for part in batch.spans(row))
        assert batch[row].tolist() == expected.ids == ours.encode(text, add_special_tokens=True).tolist()
        assert (starts[0], ends[0], starts[-1], ends[-1]) == (-1, -1, -1, -1)
        assert list(zip(starts[1:-1], ends[1:-1], strict=True)) == expected.offsets[1:-1]


def test_without_a_template_nothing_is_added() -> None:
    ours = gpt2().ours
    assert ours.encode("a b", add_special_tokens=True).tolist() == ours.encode("a b").tolist()


def test_template_of_missing_rows() -> None:
    ours = roberta_like().ours
    rows = ["a", None, "", None]
    empty = ours.encode_batch(rows, add_special_tokens=True, nulls="empty", spans=True)
    assert empty.row_lengths.tolist() == [3, 2, 2, 2]
    assert empty.valid is None
    null = ours.encode_batch(rows, add_special_tokens=True, nulls="null", spans=True)
    assert null.row_lengths.tolist() == [3, 0, 2, 0]
    assert null.valid is not None
    assert null.valid.tolist() == [True, False, True, False]
    assert null.to_list()[1] is None
    nlp.Ragged(null.values, null.offsets, null.starts, null.ends, null.valid)


# --- special tokens ------------------------------------------------------------------------------------------------


def test_special_tokens_in_the_text() -> None:
    ours = gpt2().ours
    text = f"a {END} b{END}"
    matched = [64, 220, 50256, 275, 50256]
    assert ours.encode(text).tolist() == matched
    assert ours.encode(text, special="match").tolist() == matched
    assert ours.encode(text, special={END}).tolist() == matched
    assert ours.encode(text, special=[END, END]).tolist() == matched
    plain = ours.encode(text, special="plain")
    assert 50256 not in plain.tolist()
    assert ours.decode(plain) == text
    _, starts, ends = ours.encode(text, spans=True)
    assert [text[a:b] for a, b in zip(starts, ends, strict=True)] == ["a", " ", END, " b", END]
    assert spans_of(gpt2().reference, text) == list(zip(starts.tolist(), ends.tolist(), strict=True))


def test_special_tokens_that_are_refused() -> None:
    ours = gpt2_that("raise")
    assert ours.describe()["special_policy"] == "raise"
    for call in (
        lambda: ours.encode(f"é {END}"),
        lambda: ours.encode(f"é {END}", spans=True),
        lambda: ours.encode(f"é {END}", special=()),
        lambda: ours.encode_batch([f"é {END}"]),
        lambda: ours.count(f"é {END}"),
    ):
        with pytest.raises(
            SpecialTokenError, match=r"'<\|endoftext\|>' \(row 0, byte 3\).*special=\"match\""
        ) as caught:
            call()
        assert 'special="plain"' in str(caught.value)
        assert f"special={{{END!r}}}" in str(caught.value)
    with pytest.raises(SpecialTokenError, match="row 2, byte 1"):
        ours.encode_batch(["fine", "<|endoftext", f"x{END}", END])
    assert ours.encode("<|endoftext").tolist() == gpt2().ours.encode("<|endoftext").tolist()
    assert ours.encode(f"x{END}", special="match").tolist() == [87, 50256]
    assert ours.encode(f"x{END}", special="plain").tolist() == gpt2().ours.encode(f"x{END}", special="plain").tolist()


def test_a_plain_vocabulary_takes_special_tokens_as_text() -> None:
    ours = gpt2_that("plain")
    assert ours.encode(f"x{END}").tolist() == gpt2().ours.encode(f"x{END}", special="plain").tolist()
    assert ours.encode(f"x{END}", special="match").tolist() == [87, 50256]


def test_some_special_tokens_are_matched_and_others_refused() -> None:
    ours = roberta_like().ours
    assert ours.encode("a<s>", special={"<s>"}).tolist()[-1] == ours.token_to_id("<s>")
    with pytest.raises(SpecialTokenError, match="'</s>'"):
        ours.encode("<s></s>", special={"<s>"})
    with pytest.raises(SpecialTokenError, match="row 1"):
        ours.encode_batch(["a", "<s>"], special=[])


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ("Match", "must be 'raise', 'match', 'plain' or a collection"),
        ("", "must be 'raise', 'match', 'plain' or a collection"),
        ({"<nope>"}, r"'<nope>' is no special token of this vocabulary; it has '<\|endoftext\|>'"),
        (7, "must be a policy or a collection"),
    ],
)
def test_policies_that_are_none(special: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gpt2().ours.encode("text", special=special)
    with pytest.raises(ValueError, match=message):
        gpt2().ours.encode_batch(["text"], special=special)


def test_many_collections_of_special_tokens() -> None:
    ours = roberta_like().ours
    tokens = list(ours.special_tokens)
    for mask in range(1 << len(tokens)):
        chosen = {token for bit, token in enumerate(tokens) if mask >> bit & 1}
        text = "".join(sorted(chosen))
        assert set(ours.encode(text, special=chosen).tolist()) == {ours.special_tokens[token] for token in chosen}


def test_how_often_special_tokens_stand_in_texts() -> None:
    """Letter by letter: whatever options a token has, and whether or not it would be matched there."""
    ours = roberta_like().ours
    texts = ["<s>a<s></s>", None, "", b"<mask> <mas <mask>s", "é</s"]
    assert ours.special_texts(texts) == {"<s>": 2, "</s>": 1, "<mask>": 2}
    assert ours.special_texts(["nothing", None]) == ours.special_texts([]) == {}
    counts = {token: sum(text.count(token) for text in TEXTS) for token in ours.special_tokens}
    assert ours.special_texts(TEXTS) == {token: count for token, count in counts.items() if count}
    with pytest.raises(TypeError, match="`texts` is one str"):
        ours.special_texts("<s>")
    with pytest.raises(InvalidTextError, match="row 1"):
        ours.special_texts(["a", b"\xff"])


def test_special_tokens_that_are_looked_for_in_normalized_text_are_counted_as_they_are_written() -> None:
    arrays = toy_arrays()
    arrays["special_flags"][0] |= FLAG_NORMALIZED | FLAG_SINGLE_WORD
    ours = nlp.Tokenizer(Vocabulary(arrays, toy_metadata()))
    assert ours.special_texts(["a<|end|>b", "<|END|>"]) == {"<|end|>": 1}
