from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.training import count_rows, cut_words, sort_rows, word_symbols, word_table
from numba_nlp.reference.training import count_rows as rows_twin
from numba_nlp.reference.training import cut_words as cut_twin
from numba_nlp.reference.training import sort_rows as sort_twin
from numba_nlp.reference.training import word_symbols as symbols_twin
from numba_nlp.reference.training import word_table as table_twin

NO_RULES = count_rows.WordRules(
    *(np.empty(0, dtype) for dtype in (np.uint16, np.uint8, np.uint16, np.uint32, np.uint32, np.uint8))
)
#: Texts of few characters, so that words repeat; white space and marks among them.
texts = st.text(st.sampled_from("ab \u2581\t\u3000é\u2582"), max_size=24)
words = st.one_of(st.binary(max_size=20), st.sampled_from([b"", b"a" * 15, b"a" * 16, b"b" * 40, b"\0", b"\0\0"]))


def rows_of(items: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return np.frombuffer(b"".join(items), np.uint8), offsets


def items_of(table: word_table.WordTable) -> dict[bytes, int]:
    sizes = np.zeros(2, np.int64)
    word_table.word_sizes(table, sizes)
    data, offsets = np.zeros(sizes[1], np.uint8), np.zeros(sizes[0] + 1, np.int64)
    counts = np.zeros(sizes[0], np.int64)
    assert word_table.write_words(table, data, offsets, counts) == sizes[0]
    return {data[offsets[i] : offsets[i + 1]].tobytes(): int(counts[i]) for i in range(counts.size)}


@given(
    counted=st.lists(st.tuples(words, st.integers(1, 2**62)), max_size=40).filter(
        lambda c: sum(n for _, n in c) < 2**63
    )
)
def test_tables_add_up_and_grow(counted):
    data, offsets = rows_of([word for word, _ in counted])
    counts = np.array([count for _, count in counted], np.int64)
    table = word_table.new_word_table(3, 8)
    done = word_table.add_table(table, data, offsets, counts, 0)
    while done < counts.size:
        larger = word_table.new_word_table(
            int(np.log2(table.entries.size // 4)) + 1, 2 * table.arena.size + int(offsets[done + 1] - offsets[done])
        )
        assert word_table.move_entries(table, larger) == len(items_of(table))
        table = larger
        done = word_table.add_table(table, data, offsets, counts, done)
    assert items_of(table) == table_twin.count_words(counted)


@given(rows=st.lists(texts, max_size=6))
@pytest.mark.parametrize(
    ("cut", "twin"),
    [
        ("whitespace", cut_twin.white_words),
        ("metaspace", cut_twin.marked_words),
        ("sentencepiece", cut_twin.spaced_words),
        ("spaces", lambda text: [word for word in text.strip("\r\n ").split(" ") if word]),
        ("none", lambda text: [text] if text else []),
    ],
)
def test_rows_are_cut_and_counted(cut, twin, rows):
    data, offsets = rows_of([row.encode() for row in rows])
    spans = [np.zeros(count_rows.BLOCK + count_rows.SLACK, np.int64) for _ in range(2)]
    table, where = word_table.new_word_table(12, 1 << 12), np.array([-1, 0])
    done = count_rows.COUNT_ROWS[cut](NO_RULES, data, offsets[:-1], offsets[1:], 0, *spans, table, where)
    assert done == len(rows)
    assert items_of(table) == rows_twin.count_rows(rows, twin)


@pytest.mark.parametrize("cut", ["whitespace", "metaspace", "sentencepiece", "spaces"])
def test_a_full_table_stops_within_a_row(cut):
    """The row goes on where it stopped, and nothing is counted twice."""
    text = " ".join(f"word{i:04d}" for i in range(3 * count_rows.BLOCK)) + "\n x"
    data, offsets = rows_of([text.encode()])
    spans = [np.zeros(count_rows.BLOCK + count_rows.SLACK, np.int64) for _ in range(2)]
    table, where, stops = word_table.new_word_table(10, 1 << 14), np.array([-1, 0]), 0
    kernel = count_rows.COUNT_ROWS[cut]
    while kernel(NO_RULES, data, offsets[:-1], offsets[1:], 0, *spans, table, where) == 0:
        assert where[0] >= 0
        larger = word_table.new_word_table(int(np.log2(table.entries.size // 4)) + 1, table.arena.size)
        word_table.move_entries(table, larger)
        table = larger
        stops += 1
    twins = {
        "whitespace": cut_twin.white_words,
        "metaspace": cut_twin.marked_words,
        "sentencepiece": cut_twin.spaced_words,
        "spaces": lambda row: row.strip("\r\n ").split(" "),
    }
    assert stops > 0
    assert items_of(table) == rows_twin.count_rows([text], twins[cut])


def bert_rules() -> count_rows.WordRules:
    """Tables in which full stops are punctuation, and one character is Chinese."""
    index, blocks = np.zeros(0x110000 >> 7, np.uint16), np.zeros(256, np.uint32)
    index[0x4E2D >> 7] = 1
    blocks[ord(" ")], blocks[ord(".")], blocks[128 + (0x4E2D & 127)] = 1, 3, 4
    return NO_RULES._replace(normal_index=index, normal_blocks=blocks)


def test_chunks_of_bert_are_counted_by_words():
    chunks = ["a.b" + ".x" * (2 * count_rows.BLOCK), "b中", "a" * 40]
    data, offsets = rows_of([chunk.encode() for chunk in chunks])
    counts = np.array([1, 3, 2])
    spans = [np.zeros(count_rows.BLOCK + count_rows.SLACK, np.int64) for _ in range(2)]
    text, none = np.zeros(4 * data.size, np.uint8), np.zeros(0, np.int32)
    table, where, first, stops = word_table.new_word_table(9, 64), np.array([-1, 0]), 0, 0
    while first < len(chunks):
        first = count_rows.count_bert_words(
            bert_rules(), data, offsets, counts, first, text, none, *spans, table, where
        )
        larger = word_table.new_word_table(12, 1 << 16)
        word_table.move_entries(table, larger)
        table = larger
        stops += first < len(chunks)
    n = 2 * count_rows.BLOCK
    assert stops > 0
    assert items_of(table) == {b"a": 1, b".": n + 1, b"b": 4, b"x": n, "中".encode(): 3, b"a" * 40: 2}


@given(text=st.text(st.sampled_from("ab .中"), max_size=20))
def test_bert_words(text):
    rules = bert_rules()
    data = np.frombuffer(text.encode(), np.uint8)
    starts, ends = np.zeros(64, np.int64), np.zeros(64, np.int64)
    n, position = cut_words.fill_bert_words(rules, data, 0, data.size, starts, ends, 0, 60)
    found = [data[starts[i] : ends[i]].tobytes().decode() for i in range(n)]
    assert position == data.size
    assert found == cut_twin.bert_words(text, {" ": "space", ".": "single", "中": "single"})


@given(rows=st.lists(words, max_size=30))
def test_rows_are_sorted_by_bytes(rows):
    data, offsets = rows_of(rows)
    keys = np.zeros(len(rows), np.uint64)
    sort_rows.first_bytes(data, offsets, keys)
    order = np.argsort(keys, kind="stable")
    sort_rows.sort_ties(data, offsets, keys, order, np.zeros_like(order))
    assert order.tolist() == sort_twin.sort_rows(rows)


@given(left=words, right=words)
def test_bytes_are_compared(left, right):
    arrays = np.frombuffer(left, np.uint8), np.frombuffer(right, np.uint8)
    order = sort_rows.compare_bytes(arrays[0], 0, len(left), arrays[1], 0, len(right))
    assert np.sign(order) == sort_twin.compare_bytes(left, right)


@given(
    counted=st.lists(st.tuples(st.text("aé中\U0001f600", max_size=6), st.integers(1, 9)), max_size=12),
    is_bytes=st.booleans(),
)
def test_words_become_symbols(counted, is_bytes):
    plain = [(word.encode() if is_bytes else word, count) for word, count in counted]
    data, offsets = rows_of([word.encode() for word, _ in counted])
    counts = np.array([count for _, count in counted], np.int64)
    size = 256 if is_bytes else 0x1F601
    totals = np.zeros(size, np.int64)
    n = word_symbols.count_characters(data, offsets, counts, is_bytes, totals)
    assert n == sum(len(word) for word, _ in plain)
    assert {int(i): int(totals[i]) for i in np.flatnonzero(totals)} == symbols_twin.character_totals(plain)

    used = np.zeros(word_symbols.FORMS * size, np.uint8)
    word_symbols.mark_forms(data, offsets, is_bytes, used)
    forms = sorted({form for word, _ in plain for form in symbols_twin.forms_of(word)})
    assert [divmod(int(place), word_symbols.FORMS) for place in np.flatnonzero(used)] == forms

    # every third form has no symbol
    known = {form: number for number, form in enumerate(forms) if number % 3}
    form_ids = np.full(word_symbols.FORMS * size, -1, np.int32)
    for (number, form), symbol in known.items():
        form_ids[word_symbols.FORMS * number + form] = symbol
    symbols, starts = np.zeros(n, np.int32), np.zeros(counts.size, np.int64)
    lengths = np.zeros(counts.size, np.int32)
    word_symbols.fill_symbols(data, offsets, is_bytes, form_ids, symbols, starts, lengths)
    found = [symbols[s : s + k].tolist() for s, k in zip(starts, lengths, strict=True)]
    assert found == [symbols_twin.symbols_of(word, known) for word, _ in plain]
