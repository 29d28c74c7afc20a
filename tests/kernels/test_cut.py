"""Pre-tokenizers: kernels against their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from numba_nlp._stages.cutter import cut_tables
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment import cut_items, cut_program
from numba_nlp.kernels.segment.cut_items import BEHAVIORS, CutClasses, behave
from numba_nlp.kernels.segment.cut_program import cut, cut_rows, new_cut_scratch
from numba_nlp.kernels.segment.normalize_text import load_aligned, new_aligned
from numba_nlp.reference.segment import cut_items as plain_items
from numba_nlp.reference.segment import cut_program as plain_program
from numba_nlp.reference.segment.normalize_text import load_aligned as plain_load
from numba_nlp.reference.segment.normalize_text import text_of
from tests.normalizer_cases import characters_of, frozen, texts, two_stage_value
from vocab_tools.compiler.normalization import normalization_tables
from vocab_tools.compiler.stages import compile_pre_tokenizers
from vocab_tools.formats.stages import pre_tokenizers
from vocab_tools.formats.stages.patterns import Pattern

BITS = {
    "word": cut_items.WORD,
    "space": cut_items.SPACE,
    "numeric": cut_items.NUMERIC,
    "punctuation": cut_items.PUNCTUATION,
}


def has(bit):
    return lambda character: bool(two_stage_value("cut", character) & bit)


def classes():
    shipped = normalization_tables().arrays
    return CutClasses(shipped["cut_pages"], shipped["cut_blocks"])


def items(kernel, text):
    """Items of a text that stands in the middle of a buffer, by character."""
    data = np.frombuffer(b"12" + text.encode() + b"3", np.uint8)
    ends, flags = np.zeros(data.size, np.int64), np.zeros(data.size, np.uint8)
    n = int(kernel(data, 2, data.size - 1, ends, flags))
    place_of = {len(text[:place].encode()) + 2: place for place in range(len(text) + 1)}
    found = [place_of[end] for end in ends[:n].tolist()]
    return list(zip([0, *found], found, flags[:n].astype(bool).tolist(), strict=False))


@pytest.mark.parametrize("name", BITS)
@given(text=texts, invert=st.booleans())
def test_classes(name, text, invert):
    found = items(lambda *rest: cut_items.items_of_class(classes(), BITS[name], int(invert), *rest), text)
    assert found == plain_items.items_of_class(has(BITS[name]), invert, text)


@given(text=texts)
def test_words(text):
    found = items(lambda *rest: cut_items.items_of_words(classes(), *rest), text)
    assert found == plain_items.items_of_words(has(cut_items.WORD), has(cut_items.SPACE), text)


@given(text=texts, pattern=st.sampled_from(["a", " ", "``", "ab", "\u0301", "aa"]), invert=st.booleans())
def test_strings(text, pattern, invert):
    wanted = np.frombuffer(pattern.encode(), np.uint8)
    found = items(lambda *rest: cut_items.items_of_string(wanted, int(invert), *rest), text)
    assert found == plain_items.items_of_string(pattern, invert, text)


@pytest.mark.parametrize("behavior", BEHAVIORS)
@given(lengths=st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=9), start=st.integers(0, 5))
def test_behaviors(behavior, lengths, start):
    ends = np.cumsum([length for length, _ in lengths]).astype(np.int64) + start
    flags = np.array([flag for _, flag in lengths], np.uint8)
    expected = plain_items.behave(
        behavior, list(zip([start, *ends.tolist()], ends.tolist(), flags.astype(bool).tolist(), strict=False))
    )
    pieces = np.full(len(lengths) + 2, -1, np.int64), np.full(len(lengths) + 2, -1, np.int64)
    n = int(behave(BEHAVIORS.index(behavior), start, ends, flags, len(lengths), *pieces, 2))
    assert list(zip(pieces[0][2:n].tolist(), pieces[1][2:n].tolist(), strict=True)) == expected
    if lengths:
        none = np.zeros(len(lengths) - 1, np.int64)
        assert behave(BEHAVIORS.index(behavior), start, ends, flags, len(lengths), none, none, 0) == STATUS_OUTPUT_FULL


def cuts(pieces, piece):
    return [piece[first:last] for first, last in pieces]


#: Descriptions, and what their twins do with one piece.
STEPS = {
    pre_tokenizers.Whitespace(): lambda piece: cuts(
        plain_items.behave(
            "Removed", plain_items.items_of_words(has(cut_items.WORD), has(cut_items.SPACE), text_of(piece))
        ),
        piece,
    ),
    pre_tokenizers.WhitespaceSplit(): lambda piece: cuts(
        plain_items.behave("Removed", plain_items.items_of_class(has(cut_items.SPACE), False, text_of(piece))), piece
    ),
    pre_tokenizers.Digits(False): lambda piece: cuts(
        plain_items.behave("Contiguous", plain_items.items_of_class(has(cut_items.NUMERIC), False, text_of(piece))),
        piece,
    ),
    pre_tokenizers.Punctuation("MergedWithPrevious"): lambda piece: cuts(
        plain_items.behave(
            "MergedWithPrevious", plain_items.items_of_class(has(cut_items.PUNCTUATION), False, text_of(piece))
        ),
        piece,
    ),
    pre_tokenizers.Split(Pattern("a"), "MergedWithNext", True): lambda piece: cuts(
        plain_items.behave("MergedWithNext", plain_items.items_of_string("a", True, text_of(piece))), piece
    ),
    pre_tokenizers.Metaspace("\u2581", "always", True): lambda piece: _metaspace(piece, "\u2581", "always", True),
    pre_tokenizers.Metaspace("_", "first", False): lambda piece: _metaspace(piece, "_", "first", False),
    pre_tokenizers.Metaspace("_", "never", True): lambda piece: _metaspace(piece, "_", "never", True),
}


def _metaspace(piece, replacement, scheme, split):
    written = plain_program.metaspace(replacement, scheme, piece)
    if not split:
        return [written]
    found = plain_items.items_of_string(replacement, False, text_of(written))
    return cuts(plain_items.behave("MergedWithNext", found), written)


@given(rows=st.lists(texts, max_size=3), steps=st.lists(st.sampled_from(list(STEPS)), max_size=3))
def test_programs(rows, steps):
    arrays = {name: frozen(array.copy()) for name, array in compile_pre_tokenizers(steps).arrays.items()}
    tables = cut_tables(arrays)
    rewrites = any(isinstance(step, pre_tokenizers.Metaspace) for step in steps)
    room = 8 * sum(len(row.encode()) for row in rows) + 64
    source, target = new_aligned(room, aligned=True), new_aligned(room if rewrites else 0, aligned=rewrites)
    starts, ends, at = [], [], 4
    for row in rows:
        starts.append(at)
        at = int(load_aligned(np.frombuffer(row.encode() or b" ", np.uint8), 0, len(row.encode()), source, at))
        ends.append(at)
    pieces = np.zeros(room, np.int64), np.zeros(room, np.int64)
    first = np.zeros(len(rows) + 1, np.int64)
    done = cut_rows(
        tables, source, frozen(np.array(starts, np.int64)), frozen(np.array(ends, np.int64)),
        frozen(np.zeros(0, np.int64)), 0, new_cut_scratch(room, True), target, 0, *pieces, 0, first,
    )  # fmt: skip
    assert done == len(rows)
    written = target if rewrites else source
    for row, text in enumerate(rows):
        chosen = slice(int(first[row]), int(first[row + 1]))
        found = [
            characters_of(written, a, b)
            for a, b in zip(pieces[0][chosen].tolist(), pieces[1][chosen].tolist(), strict=True)
        ]
        assert found == plain_program.cut([STEPS[step] for step in steps], plain_load(text))


def test_the_first_piece_is_that_of_the_row():
    arrays = compile_pre_tokenizers([pre_tokenizers.Metaspace("_", "first", False)]).arrays
    tables = cut_tables({name: frozen(array.copy()) for name, array in arrays.items()})
    source, target = new_aligned(8, aligned=True), new_aligned(32, aligned=True)
    stop = load_aligned(np.frombuffer(b"a b", np.uint8), 0, 3, source, 0)
    pieces = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for base, expected in ((0, b"_a_b"), (5, b"a_b")):
        n = cut(tables, source, 0, stop, base, new_cut_scratch(32, True), target, 0, *pieces, 0)
        assert n == 1
        assert target.text[pieces[0][0] : pieces[1][0]].tobytes() == expected


@given(
    text=texts,
    steps=st.lists(st.sampled_from(list(STEPS)), max_size=3),
    rooms=st.tuples(*(st.integers(0, 40) for _ in range(3))),
)
@example("a b c", [pre_tokenizers.Metaspace("\u2581", "always", True)], (40, 1, 40))
@example("a b c", [pre_tokenizers.Metaspace("\u2581", "always", True)] * 2, (40, 40, 7))
@example("a b", [pre_tokenizers.Metaspace("\u2581", "always", False)], (40, 40, 5))
@example("a b", [pre_tokenizers.Metaspace("\u2581", "always", False)], (40, 40, 4))
@example("a b", [pre_tokenizers.Metaspace("\u2581", "never", False)], (40, 40, 3))
@example("ab cd", [pre_tokenizers.Metaspace("\u2581", "never", False)], (40, 40, 6))
def test_no_room_is_said(text, steps, rooms):
    """Whatever has no room says so; what has, gives the pieces that it gives with plenty."""
    arrays = {name: frozen(array.copy()) for name, array in compile_pre_tokenizers(steps).arrays.items()}
    tables = cut_tables(arrays)
    rewrites = any(isinstance(step, pre_tokenizers.Metaspace) for step in steps)
    source = new_aligned(len(text.encode()), aligned=True)
    stop = load_aligned(np.frombuffer(text.encode() or b" ", np.uint8), 0, len(text.encode()), source, 0)
    room, n_pieces, capacity = rooms
    found = []
    for size, places, memory in ((room, n_pieces, capacity), (900, 900, 900)):
        target = new_aligned(size if rewrites else 0, aligned=rewrites)
        pieces = np.zeros(places, np.int64), np.zeros(places, np.int64)
        scratch = new_cut_scratch(memory, True)
        n = int(cut(tables, source, 0, stop, 0, scratch, target, 0, *pieces, 0))
        found.append((n, pieces[0][: max(n, 0)].tolist(), pieces[1][: max(n, 0)].tolist()))
    short, plenty = found
    assert plenty[0] >= 0
    assert short == plenty or short[0] == STATUS_OUTPUT_FULL


def test_gpt2_cuts():
    arrays = compile_pre_tokenizers([pre_tokenizers.ByteLevel(False, True)]).arrays
    tables = cut_tables({name: frozen(array.copy()) for name, array in arrays.items()})
    text = "It's  12 x\n"
    source = new_aligned(len(text), aligned=True)
    stop = load_aligned(np.frombuffer(text.encode(), np.uint8), 0, len(text), source, 0)
    pieces = np.zeros(20, np.int64), np.zeros(20, np.int64)
    n = cut(tables, source, 0, stop, 0, new_cut_scratch(20, True), new_aligned(0, False), 0, *pieces, 0)
    found = [text[a:b] for a, b in zip(pieces[0][:n], pieces[1][:n], strict=True)]
    assert found == ["It", "'s", " ", " 12", " x", "\n"]


def test_rows_wait_for_room():
    arrays = compile_pre_tokenizers([pre_tokenizers.WhitespaceSplit()]).arrays
    tables = cut_tables({name: frozen(array.copy()) for name, array in arrays.items()})
    source = new_aligned(8, aligned=True)
    load_aligned(np.frombuffer(b"a b cd e", np.uint8), 0, 8, source, 0)
    starts, ends = frozen(np.array([0, 4], np.int64)), frozen(np.array([4, 8], np.int64))
    pieces, first = (np.zeros(3, np.int64), np.zeros(3, np.int64)), np.zeros(3, np.int64)
    rest = frozen(np.zeros(0, np.int64)), 0, new_cut_scratch(8, True), new_aligned(0, False), 0
    assert cut_rows(tables, source, starts, ends, *rest, *pieces, 0, first) == 1
    assert first[1] == 2
    pieces = tuple(np.concatenate((part, [0, 0])) for part in pieces)
    assert cut_rows(tables, source, starts, ends, rest[0], 1, *rest[2:], *pieces, 2, first) == 2
    assert first.tolist() == [0, 2, 4]
    assert [pieces[0][:4].tolist(), pieces[1][:4].tolist()] == [[0, 2, 4, 7], [1, 3, 6, 8]]


def test_operations_are_those_of_the_table():
    documented = [line.split("``")[1] for line in cut_program.__doc__.splitlines() if line.startswith("``CUT_")]
    assert [getattr(cut_program, name) for name in documented] == list(range(cut_program.CUT_OPERATIONS))
