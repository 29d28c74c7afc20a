"""Sentences: their places are exact, and the rules hold in several languages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.pipelines.chunking import cut_text
from numba_nlp.pipelines.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text).tolist()]


@pytest.mark.parametrize(
    "expected",
    [
        ["To be, or not to be.", "That is it!", "Is it?", "It is..."],
        ["Mr. Smith met Dr. J. R. Brown at 3.14 p.m. on Monday.", "He left."],
        ['"Stand!" he said.', '"Who?"', "(Nobody.)", "Well."],
        ["See e.g. Fig. 3 and No. 5.", "No.", "But I.", "Then so."],
        ["It costs 3.5 million.", "¿Qué?", "¡Sí!", "Vale…", "Bien."],
        ["Ist das z.B. so?", "Ja."],
        ["هل هذا صحيح؟", "نعم."],
        ["यह सच है।", "हाँ।"],
        ["Εἶναι;", "Ναί."][1:],
        ["Version 2.0.1 is out", "a new paragraph"],
    ],
)
def test_sentences_with_spaces(expected: list[str]) -> None:
    separator = "\n\n" if expected[-1] == "a new paragraph" else " "
    assert sentences(separator.join(expected)) == expected
    assert sentences(f"  {separator.join(expected)}\n") == expected


def test_sentences_without_spaces() -> None:
    assert sentences("今日は晴れ。明日は雨！「本当？」はい。") == ["今日は晴れ。", "明日は雨！", "「本当？」", "はい。"]
    assert sentences("你好。3.5 元？好的") == ["你好。", "3.5 元？", "好的"]


@pytest.mark.parametrize("text", ["", " \n\t", "\u2029"])
def test_no_sentence(text: str) -> None:
    assert sentence_spans(text).shape == (0, 2)


_TEXTS = st.text(st.sampled_from(list("abIN .!?。\n\"')\u2029…é1")), max_size=60)


@given(_TEXTS)
def test_sentences_and_spaces_are_the_text(text: str) -> None:
    spans = sentence_spans(text)
    edges = [0, *spans.ravel().tolist(), len(text)]
    assert edges == sorted(edges)
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    assert not "".join(gaps).strip()
    assert all(part and part == part.strip() for part in (text[start:end] for start, end in spans.tolist()))


class Letters:
    """A tokenizer of one id for each character that is no space."""

    def encode(self, text: str, *, spans: bool = False) -> object:
        places = np.array([place for place, letter in enumerate(text) if not letter.isspace()], np.int64)
        ids = np.array([ord(text[place]) for place in places], np.int32)
        return (ids, places, places + 1) if spans else ids

    def count_batch(self, texts: list[str]) -> np.ndarray:
        return np.array([self.encode(text).size for text in texts])  # type: ignore[attr-defined]


def greedy(text: str, room: int) -> list[str]:
    """Parts by the definition: sentences as long as there is room; those that are too long between words."""
    size = Letters().encode
    pieces = []
    for sentence in sentences(text):
        left = sentence
        while size(left).size > room:  # type: ignore[attr-defined]
            ends = [end for end in range(1, len(left)) if left[end].isspace() and not left[end - 1].isspace()]
            fitting = [end for end in ends if size(left[:end]).size <= room]  # type: ignore[attr-defined]
            if fitting:
                cut = fitting[-1]
            else:
                cut = next(end for end in range(len(left), 0, -1) if size(left[:end]).size <= room)  # type: ignore[attr-defined]
            pieces.append(left[:cut].strip())
            left = left[cut:].strip()
        pieces.append(left)
    parts: list[list[str]] = []
    counts: list[int] = []
    for piece in pieces:
        n = size(piece).size  # type: ignore[attr-defined]
        if parts and counts[-1] + n <= room:
            parts[-1].append(piece)
            counts[-1] += n
        else:
            parts.append([piece])
            counts.append(n)
    return ["".join("".join(part).split()) for part in parts]


@given(_TEXTS, st.integers(1, 20), st.sampled_from(["", "ab "]))
def test_parts_are_as_long_as_may_be(text: str, room: int, prefix: str) -> None:
    tokenizer = Letters()
    before = len(prefix.strip())
    found = cut_text(text, room + before, lambda part: tokenizer.encode(prefix + part), tokenizer, before)  # type: ignore[arg-type,return-value]
    assert all(chunk.ids.size <= room + before for chunk in found)
    assert ["".join(text[chunk.start : chunk.end].split()) for chunk in found] == greedy(text, room)
    edges = [0, *(edge for chunk in found for edge in (chunk.start, chunk.end)), len(text)]
    assert not "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)).strip()


def test_no_room_for_a_character() -> None:
    tokenizer = Letters()
    with pytest.raises(ValueError, match="there is no room for the character 'a'"):
        cut_text("ab", 2, lambda part: tokenizer.encode("..." + part), tokenizer, 3)  # type: ignore[arg-type,return-value]
