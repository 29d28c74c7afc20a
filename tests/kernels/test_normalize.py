"""Normalizers: kernels against their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from numba_nlp._stages.normalizer import normalizer_tables
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment import normalize_edits, normalize_forms, normalize_program
from numba_nlp.kernels.segment.graphemes import ClusterTables, cluster_end
from numba_nlp.kernels.segment.normalize_forms import FormTables, new_form_scratch, normal_form
from numba_nlp.kernels.segment.normalize_maps import MapTables, map_characters, surround_characters
from numba_nlp.kernels.segment.normalize_precompiled import CharsmapTables, apply_charsmap
from numba_nlp.kernels.segment.normalize_program import new_normalizer_scratch, normalize, normalize_rows
from numba_nlp.kernels.segment.normalize_text import UNCHANGED, Aligned, copy_aligned, load_aligned, new_aligned
from numba_nlp.reference.segment import graphemes as plain_graphemes
from numba_nlp.reference.segment import normalize_edits as plain_edits
from numba_nlp.reference.segment import normalize_forms as plain_forms
from numba_nlp.reference.segment import normalize_maps as plain_maps
from numba_nlp.reference.segment import normalize_precompiled as plain_precompiled
from numba_nlp.reference.segment import normalize_text as plain_text
from tests.normalizer_cases import (
    character_map,
    characters_of,
    form_rules,
    frozen,
    marked_texts,
    rows_of,
    texts,
    two_stage_value,
)
from vocab_tools.compiler.normalization import MAPS, normalization_tables
from vocab_tools.compiler.stages import compile_normalizers
from vocab_tools.formats.stages import normalizers
from vocab_tools.formats.stages.patterns import Pattern

FORMS = ("NFD", "NFKD", "NFC", "NFKC")
#: U+FDFA, three bytes, decomposes to 33; byte spelling doubles.
ROOM = 80
UNWRITTEN = 7


def tables_of(kind, prefix):
    shipped = normalization_tables().arrays
    return kind(*(shipped[f"{prefix}_{field}"] for field in kind._fields))


def loaded(text):
    """A text as an aligned buffer that does not begin at 0, and its range in it."""
    data = np.frombuffer(b"##" + text.encode() + b"#", np.uint8)
    source = new_aligned(data.size + 3, aligned=True)
    source.text[:5] = ord("?")
    stop = load_aligned(data, 2, data.size - 1, source, 5)
    return source, 5, stop


def applied(step, text):
    """What a kernel makes of a text, as characters; the text itself where it says that it stays."""
    source, start, stop = loaded(text)
    target = new_aligned(ROOM * len(text.encode()) + 64, aligned=True)
    end = step(source, start, stop, target, 3)
    if end == UNCHANGED:
        return characters_of(source, start, stop)
    assert end >= 0
    return characters_of(target, 3, end)


def without_ranges(step, text):
    """Text that a kernel writes when nobody asks for ranges."""
    data = np.frombuffer(text.encode() or b"#", np.uint8)
    source, target = (new_aligned(ROOM * data.size + 64, aligned=False) for _ in range(2))
    stop = load_aligned(data, 0, len(text.encode()), source, 0)
    end = step(source, 0, stop, target, 0)
    return text if end == UNCHANGED else target.text[:end].tobytes().decode()


def agree(step, expected, text):
    found = applied(step, text)
    assert found == expected
    assert without_ranges(step, text) == plain_text.text_of(expected)
    say_when_full(step, text, len(plain_text.text_of(expected).encode()))


def say_when_full(step, text, n):
    """Every room that is too small is said, and nothing is written beyond it."""
    source, start, stop = loaded(text)
    for room in range(0, n, max(n // 6, 1)):
        target = new_aligned(n, aligned=True)
        target.text[room:] = UNWRITTEN
        short = Aligned(target.text[:room], target.starts[:room], target.ends[:room])
        assert step(source, start, stop, short, 0) in (STATUS_OUTPUT_FULL, UNCHANGED)
        assert (target.text[room:] == UNWRITTEN).all()


def test_a_raw_row_comes_from_itself():
    source, start, stop = loaded("a\u00e9\U0001f600")
    expected = [("a", 0, 1), ("\u00e9", 1, 3), ("\U0001f600", 3, 7)]
    assert characters_of(source, start, stop) == expected == plain_text.load_aligned("a\u00e9\U0001f600")


def test_copies_say_when_full():
    data = np.frombuffer("ab\u00e9".encode(), np.uint8)
    source, target = new_aligned(4, aligned=True), new_aligned(3, aligned=True)
    assert load_aligned(data, 0, 4, source, 0) == 4
    assert load_aligned(data, 0, 4, target, 0) == STATUS_OUTPUT_FULL
    assert copy_aligned(source, 0, 3, target, 1) == STATUS_OUTPUT_FULL
    assert copy_aligned(source, 2, 4, target, 1) == 3
    assert characters_of(target, 1, 3) == [("\u00e9", 2, 4)]


@pytest.mark.parametrize("number", range(4))
@given(text=st.one_of(texts, marked_texts))
@example("")
@example("\u0301" * 40 + "\u0323" * 40)
@example("e" + "\u0345\u0323\u0301\u0334" * 12 + "\u1100\u1161\u11a8\u11a8")
def test_normal_forms(number, text):
    tables, scratch = tables_of(FormTables, "form"), new_form_scratch(2000)

    def step(*arguments):
        *source, target, at = arguments
        return normal_form(tables, number, *source, scratch, target, at)

    expected = plain_forms.normal_form(form_rules(), FORMS[number], plain_text.load_aligned(text))
    agree(step, expected, text)


def test_marks_keep_count_of_what_they_replace():
    """Ranges are given out in the order of the result: the dot has the place of the acute that it went before."""
    result = plain_forms.normal_form(form_rules(), "NFC", plain_text.load_aligned("q\u0301\u0323\u0344"))
    assert result == [("q", 0, 1), ("\u0323", 1, 3), ("\u0301", 3, 5), ("\u0308", 5, 7), ("\u0301", 5, 7)]


def test_settled_text_is_not_touched():
    tables, scratch = tables_of(FormTables, "form"), new_form_scratch(64)
    source, start, stop = loaded("plain, \u00e9t\u00e9, \u65e5\u672c, \ud55c\uad6d")
    nowhere = new_aligned(0, aligned=True)
    assert normal_form(tables, normalize_forms.NFC, source, start, stop, scratch, nowhere, 0) == UNCHANGED
    assert normal_form(tables, normalize_forms.NFD, source, start, stop, scratch, nowhere, 0) == STATUS_OUTPUT_FULL


def test_a_stretch_beyond_the_scratch_is_said():
    tables, scratch = tables_of(FormTables, "form"), new_form_scratch(30)
    source, start, stop = loaded("\u0301" * 100)
    target = new_aligned(1000, aligned=True)
    assert normal_form(tables, normalize_forms.NFC, source, start, stop, scratch, target, 0) == STATUS_OUTPUT_FULL


@pytest.mark.parametrize("name", MAPS)
@given(text=texts)
def test_character_maps(name, text):
    compiled = compile_normalizers([normalizers.CharacterMap(other) for other in MAPS]).arrays
    tables = MapTables(*(frozen(compiled[f"map_{field}"]) for field in MapTables._fields))
    number = MAPS.index(name)
    expected = plain_maps.map_characters(character_map(name), plain_text.load_aligned(text))
    agree(lambda *arguments: map_characters(tables, number, *arguments), expected, text)


@given(text=texts, name=st.sampled_from(MAPS), content=st.sampled_from(["", " ", "\u2581x"]))
def test_surround_characters(text, name, content):
    compiled = compile_normalizers([normalizers.CharacterMap(other) for other in MAPS]).arrays
    tables = MapTables(*(frozen(compiled[f"map_{field}"]) for field in MapTables._fields))
    expected = plain_maps.surround_characters(character_map(name), content, plain_text.load_aligned(text))
    number = MAPS.index(name)
    agree(lambda *arguments: surround_characters(tables, number, string(content), *arguments), expected, text)


def string(text):
    return np.frombuffer(text.encode(), np.uint8)


contents = st.sampled_from(["", "x", "\u2581", "\u00e9\u0301", " "])


@given(text=texts, left=st.booleans(), right=st.booleans())
@example(" \u3000 ", True, True)
def test_strip(text, left, right):
    expected = plain_edits.strip(left, right, plain_text.load_aligned(text))
    agree(lambda *arguments: normalize_edits.strip(int(left), int(right), *arguments), expected, text)


@given(text=texts, content=contents)
def test_prepend(text, content):
    expected = plain_edits.prepend(content, plain_text.load_aligned(text))
    agree(lambda *arguments: normalize_edits.prepend(string(content), *arguments), expected, text)


@given(text=texts, pattern=st.sampled_from(["a", " ", "``", "ab", "\u0301", "aa"]), content=contents)
@example("aaaaa", "aa", "a")
def test_replace_string(text, pattern, content):
    expected = plain_edits.replace_string(pattern, content, plain_text.load_aligned(text))
    agree(
        lambda *arguments: normalize_edits.replace_string(string(pattern), string(content), *arguments), expected, text
    )


@given(text=texts, member=st.sampled_from([None, " ", "a", "\u0301"]), least=st.integers(1, 3), content=contents)
@example("a  b a", " ", 2, "\u2581")
@example("a \u3000b\n", None, 1, "")
def test_replace_runs(text, member, least, content):
    number = normalize_edits.ANY_WHITE_SPACE if member is None else ord(member)
    expected = plain_edits.replace_runs(member, least, content, plain_text.load_aligned(text))
    agree(lambda *arguments: normalize_edits.replace_runs(number, least, string(content), *arguments), expected, text)


@given(text=texts, cuts=st.sets(st.integers(0, 24)), content=contents)
@example("abcd", {0, 1, 2, 3}, "\u00e9")
def test_replace_matches(text, cuts, content):
    places = sorted(place for place in cuts if place <= len(text))
    matches = list(zip(places[::2], places[1::2], strict=False))
    sizes = [len(text[:place].encode()) for place in range(len(text) + 1)]
    starts = np.array([sizes[first] for first, _ in matches], np.int64)
    ends = np.array([sizes[last] for _, last in matches], np.int64)
    expected = plain_edits.replace_matches(matches, content, plain_text.load_aligned(text))
    agree(lambda *arguments: normalize_edits.replace_matches(starts, ends, string(content), *arguments), expected, text)


@given(text=texts)
def test_spell_bytes(text):
    agree(normalize_edits.spell_bytes, plain_edits.spell_bytes(plain_text.load_aligned(text)), text)


def test_every_byte_has_a_character():
    spelling = [plain_edits.spelled(byte) for byte in range(256)]
    assert [normalize_edits.spelled(byte) for byte in range(256)] == spelling
    assert len(set(spelling)) == 256


def cluster_class(character):
    return two_stage_value("cluster", character)


@given(text=texts)
@example("\u0915\u094d\u200d\u0915\u0301\u0915")
@example("\U0001f468\u0301\u200d\U0001f468\u200d\u200d\U0001f468")
@example("\u1100\u1161\u11a8\u11a8\uac00\u11a8\u1161\u0600\u0600a\r\n\r\u0301")
def test_clusters(text):
    tables = tables_of(ClusterTables, "cluster")
    data = np.frombuffer(text.encode() or b" ", np.uint8)
    found, place = [], 0
    while place < len(text.encode()):
        end = int(cluster_end(tables, data, place, len(text.encode())))
        found.append(data[place:end].tobytes().decode())
        place = end
    assert found == plain_graphemes.clusters(cluster_class, text)


def charsmap_of(rules):
    """A double array over distinct first bytes and longer keys, by the simplest search for free places."""
    units, used, bases = {0: 0}, {0}, set()

    def place(node, keys):
        labels = sorted({key[0] if key else 0 for key in keys})
        offset = next(
            number
            for number in range(1, 1 << 20)
            if number not in bases and all(number ^ label not in used for label in labels)
        )
        bases.add(offset)
        used.update(offset ^ label for label in labels)
        units[node] |= (node ^ offset) << 10
        for label in labels:
            child = offset ^ label
            if label == 0:
                units[child] = 1 << 31 | keys[b""]
                units[node] |= 1 << 8
            else:
                units[child] = label
                place(child, {key[1:]: value for key, value in keys.items() if key and key[0] == label})

    text = bytearray()
    values = {}
    for key, replacement in rules.items():
        values[key] = len(text)
        text += replacement.encode() + b"\x00"
    if values:
        place(0, values)
    array = np.zeros(max(used) + 1, np.uint32)
    for number, unit in units.items():
        array[number] = unit
    return CharsmapTables(frozen(array), np.frombuffer(bytes(text) or b"\x00", np.uint8))


keys = st.one_of(
    st.sampled_from(["a", "e\u0301", "\u00c5", "\r\n", "\u00a9\u200d", "\u0915\u094d", " ", "\u1100"]).map(str.encode),
    st.sampled_from([b"\xe0", b"\xc3", b"ab", b"e"]),
)


@given(text=texts, rules=st.dictionaries(keys, st.sampled_from(["", "x", "\u00e9", "..."]), max_size=6))
@example("\u00c5\u0301", {"\u00c5".encode(): "A"})
@example("a\r\nb", {b"\r": " "})
def test_charsmaps(text, rules):
    charsmap, clusters = charsmap_of(rules), tables_of(ClusterTables, "cluster")
    expected = plain_precompiled.apply_charsmap(rules, cluster_class, plain_text.load_aligned(text))
    agree(lambda *arguments: apply_charsmap(charsmap, clusters, *arguments), expected, text)


def test_a_charsmap_that_leads_nowhere_ends_the_search():
    clusters = tables_of(ClusterTables, "cluster")
    for units in ([], [1 << 31], [1023 << 10], [ord("a") << 10, 0], [1 << 10] + [ord("a") | 1 << 8 | 500 << 10] * 99):
        charsmap = CharsmapTables(np.array(units, np.uint32), np.zeros(0, np.uint8))
        assert without_ranges(lambda *rest: apply_charsmap(charsmap, clusters, *rest), "abc") in ("abc", "bc")  # noqa: B023


#: Descriptions, and what their twins do.
STEPS = {
    normalizers.NormalForm("NFKC"): lambda text: plain_forms.normal_form(form_rules(), "NFKC", text),
    normalizers.NormalForm("NFD"): lambda text: plain_forms.normal_form(form_rules(), "NFD", text),
    normalizers.CharacterMap("lowercase"): lambda text: plain_maps.map_characters(character_map("lowercase"), text),
    normalizers.CharacterMap("nmt"): lambda text: plain_maps.map_characters(character_map("nmt"), text),
    normalizers.Strip(True, True): lambda text: plain_edits.strip(True, True, text),
    normalizers.Prepend("\u2581"): lambda text: plain_edits.prepend("\u2581", text),
    normalizers.Replace(Pattern(" "), "\u2581"): lambda text: plain_edits.replace_string(" ", "\u2581", text),
    normalizers.Replace(Pattern(r"\s{2,}", is_regex=True), " "): lambda text: plain_edits.replace_runs(
        None, 2, " ", text
    ),
    normalizers.ByteLevel(): plain_edits.spell_bytes,
}


@given(rows=st.lists(texts, max_size=4), steps=st.lists(st.sampled_from(list(STEPS)), max_size=4))
def test_programs(rows, steps):
    arrays = {name: frozen(array.copy()) for name, array in compile_normalizers(steps).arrays.items()}
    tables = normalizer_tables(arrays)
    data, starts, ends = rows_of(rows)
    target = new_aligned(80 * data.size + 80 * len(rows) + 640, aligned=True)
    scratch = new_normalizer_scratch(target.text.size, aligned=True)
    out_starts, out_ends = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    done = normalize_rows(tables, data, starts, ends, 0, scratch, target, 7, out_starts, out_ends)
    assert done == len(rows)
    for row, start, end in zip(rows, out_starts, out_ends, strict=True):
        expected = plain_text.load_aligned(row)
        for step in steps:
            expected = STEPS[step](expected)
        assert characters_of(target, start, end) == expected


def test_rows_wait_for_room():
    arrays = compile_normalizers([normalizers.NormalForm("NFKD")]).arrays
    tables = normalizer_tables({name: frozen(array.copy()) for name, array in arrays.items()})
    data, starts, ends = rows_of(["ab", "\ufdfa" * 5, "c"])
    out_starts, out_ends = np.zeros(3, np.int64), np.zeros(3, np.int64)
    target, scratch = new_aligned(16, aligned=True), new_normalizer_scratch(64, aligned=True)
    assert normalize_rows(tables, data, starts, ends, 0, scratch, target, 0, out_starts, out_ends) == 1
    assert out_ends[0] == 2
    target, scratch = new_aligned(800, aligned=True), new_normalizer_scratch(800, aligned=True)
    assert normalize_rows(tables, data, starts, ends, 1, scratch, target, 2, out_starts, out_ends) == 3
    assert target.text[2 : out_ends[2]].tobytes().decode() == "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 " \
        "\u0639\u0644\u064a\u0647 \u0648\u0633\u0644\u0645" * 5 + "c"  # fmt: skip
    short = new_normalizer_scratch(2, aligned=True)
    assert normalize(tables, data, 2, 17, short, target, 0) == STATUS_OUTPUT_FULL


def test_operations_are_those_of_the_table():
    documented = [line.split("``")[1] for line in normalize_program.__doc__.splitlines() if line.startswith("``OP_")]
    assert len(documented) == normalize_program.OPERATIONS
    assert [getattr(normalize_program, name) for name in documented] == list(range(normalize_program.OPERATIONS))
