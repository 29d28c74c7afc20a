"""The schema of WordPiece: what keeps kernels inside their arrays is checked, whatever the file holds."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp._encoders.rows import refuse_alignment
from numba_nlp.errors import AlignmentError, NumbaNlpError, VocabularyFormatError
from numba_nlp.kernels.tables.double_array import BASE_SHIFT, HAS_VALUE, MAX_UNITS, ROOT, VALUE_FLAG, step
from numba_nlp.vocabulary import Vocabulary
from tests.wordpiece_cases import ALL_OPTIONS, ALPHABET, PIECES, named, toy_wordpiece

TOY = toy_wordpiece()
CONTENT = TOY.to_bytes()
HEADER_STOP = 8 + struct.unpack("<Q", CONTENT[:8])[0]
Arrays = dict[str, Any]
#: A unit is ``kind | code point << 3 | class << 24``, or ``5 | place << 3 | number << 24`` for several.
LETTER_A, WORD = ord("a") << 3, 0x10FFFF << 3


def changed(change: Callable[[Arrays], None]) -> Arrays:
    arrays = {name: array.copy() for name, array in TOY.arrays.items()}
    change(arrays)
    return arrays


def put(name: str, index: Any, value: Any) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][index] = value

    return change


def cut_piece(first: int) -> Callable[[Arrays], None]:
    """A piece that ends with its first bytes of a longer character: b"\\xe3" or b"\\xe3\\x81"."""

    def change(arrays: Arrays) -> None:
        units, at = arrays["trie_units"], ROOT
        for byte in "\u3042".encode()[:first]:
            at = int(step(units, at, byte))
        units[at] |= HAS_VALUE
        units[int(units[at]) >> BASE_SHIFT ^ 256] = VALUE_FLAG

    return change


def inner(units: Any) -> Any:
    return np.flatnonzero(units & np.uint32(VALUE_FLAG) == 0)[1:]


def with_base(base: int) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        units = arrays["trie_units"]
        units[inner(units)[0]] = int(units[inner(units)[0]]) & 0x1FF | base << BASE_SHIFT

    return change


def same_children(arrays: Arrays) -> None:
    units = arrays["trie_units"]
    first, second = (int(place) for place in inner(units)[:2])
    units[first] = int(units[first]) & 0xFF | int(units[second]) >> BASE_SHIFT << BASE_SHIFT


def wrong_value(arrays: Arrays) -> None:
    units = arrays["trie_units"]
    (end, *_) = (place for place in inner(units).tolist() if int(units[place]) & HAS_VALUE)
    units[int(units[end]) >> BASE_SHIFT ^ 256] = VALUE_FLAG | len(PIECES)


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=named)
def test_what_is_compiled_is_accepted(options: dict[str, bool]) -> None:
    vocabulary = toy_wordpiece(**options)
    assert Vocabulary.from_bytes(vocabulary.to_bytes()) == vocabulary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("wordpiece", 0, len(PIECES)), r"`wordpiece` holds the id \d+ of unknown words"),
        (put("wordpiece", 0, -1), "`wordpiece` holds the id -1 of unknown words"),
        (put("wordpiece", 1, -1), "`wordpiece` allows words of -1 characters"),
        (put("wordpiece", 1, 2**31), "`wordpiece` allows words of 2147483648 characters"),
        (put("wordpiece", 2, -1), "`wordpiece` holds the node -1 of pieces that go on"),
        (put("wordpiece", 2, 1 << 24), "`wordpiece` holds the node 16777216 of pieces that go on"),
        (lambda arrays: put("wordpiece", 2, np.argmax(arrays["trie_units"] == 2**32 - 1))(arrays), "holds the node"),
        (with_base(MAX_UNITS - 1), "`trie_units` has a node whose children lie outside of it"),
        (wrong_value, "`trie_units` has a value that is no id"),
        (same_children, "two nodes with the same children"),
        (cut_piece(1), "a piece that ends within a character"),
        (cut_piece(2), "a piece that ends within a character"),
        (lambda arrays: arrays.update(trie_units=arrays["trie_units"][:-1]), "`trie_units` has no root, or no length"),
        (
            lambda arrays: arrays.update(normal_blocks=np.append(arrays["normal_blocks"], np.uint32(0))),
            "`normal_blocks` has length",
        ),
        (put("normal_blocks", 65, 6), "`normal_blocks` holds 0x6 at index 65"),
        (put("normal_blocks", 65, 0x110000 << 3), "`normal_blocks` holds 0x880000 at index 65"),
        (put("normal_blocks", 65, 5 | 0x1FFFFF << 3 | 1 << 24), "which is no unit of a character"),
        (put("normal_blocks", 65, WORD), r"`normal_blocks` makes 4 bytes of a character from U\+0000 on, expected 3"),
        (put("normal_blocks", 65, 5 | 0 << 3 | 2 << 24), r"makes \d characters of a character from U\+0000 on|bytes"),
        (put("normal_several", 0, 0x110000 << 3), "`normal_several` holds the code point 0x110000"),
        (put("normal_index", 0, 65535), "`normal_index` holds 65535"),
        (put("pair_kinds", 100, 2), "`pair_kinds` holds 2"),
        (put("piece_kinds", 7, 5), "`piece_kinds` holds 5"),
        (lambda arrays: arrays.update(decoded_offsets=arrays["decoded_offsets"][:-1]), "`decoded_offsets` has length"),
        (put("special_ids", 0, -1), "`special_ids` holds -1"),
        (put("special_bytes", 1, ord("Z")), "expected distinct non-empty contents in ascending order"),
    ],
)
def test_damaged_arrays_are_refused(change: Callable[[Arrays], None], message: str) -> None:
    with pytest.raises(VocabularyFormatError, match=message):
        Vocabulary(changed(change), TOY.metadata)


def test_what_a_unit_may_say_is_accepted() -> None:
    vocabulary = Vocabulary(changed(put("normal_blocks", 65, LETTER_A)), TOY.metadata)
    assert nlp.Tokenizer(vocabulary).encode("A").tolist() == [PIECES.index("a")]


def flipped(position: int, mask: int) -> bytes:
    content = bytearray(CONTENT)
    content[position] ^= mask
    return bytes(content)


TEXT = "".join(ALPHABET) * 2 + " ".join(PIECES) + "ab" * 70


@given(st.integers(HEADER_STOP, len(CONTENT) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_refused_or_harmless(position: int, mask: int) -> None:
    try:
        vocabulary = Vocabulary.from_bytes(flipped(position, mask), verify=False)
    except VocabularyFormatError:
        return
    check_use(vocabulary)


@given(st.data())
def test_changed_numbers_are_refused_or_harmless(data: st.DataObject) -> None:
    """Whole elements of the arrays that kernels follow, at places in use."""
    arrays = {name: array.copy() for name, array in TOY.arrays.items()}
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(("trie_units", "wordpiece", "normal_blocks", "normal_several", "pair_kinds")))
        used = np.flatnonzero(arrays[name] != 2**32 - 1) if name == "trie_units" else np.arange(arrays[name].size)
        place = int(used[data.draw(st.integers(0, used.size - 1))])
        bits = 8 * arrays[name].itemsize
        bit = data.draw(st.integers(0, bits - 1))
        arrays[name].view(f"u{arrays[name].itemsize}")[place] ^= 1 << bit
    try:
        vocabulary = Vocabulary(arrays, TOY.metadata)
    except VocabularyFormatError:
        return
    check_use(vocabulary)


def check_use(vocabulary: Vocabulary) -> None:
    """Whatever a vocabulary says, ids are ids, no more of them than bytes, and nothing crashes."""
    tok = nlp.Tokenizer(vocabulary)
    for text in (TEXT, *ALPHABET[::9]):
        ids = tok.encode(text, special="plain")
        assert ids.size <= len(text.encode())
        assert ((ids >= 0) & (ids < vocabulary.size)).all()
        # spans are laid over the ids, so tables that contradict each other (on what is white space, say) are noticed
        with contextlib.suppress(AlignmentError):
            again, starts, ends = tok.encode(text, spans=True, special="plain")
            assert ((starts >= 0) & (starts <= ends) & (ends <= len(text))).all()
            assert np.array_equal(again, ids)


def test_contradictions_are_errors_of_this_package() -> None:
    with pytest.raises(AlignmentError, match="spans of row 3: the text does not give these ids") as raised:
        refuse_alignment("spans of row 3")
    assert isinstance(raised.value, NumbaNlpError)
    assert isinstance(raised.value, RuntimeError)
