"""Raw text cut into words: the kernel and its twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.staged_words import (
    FURTHER,
    IS_PLAIN,
    MAY_BE_MARK,
    PREFIX_ROOM,
    PREFIXES,
    fill_words,
    is_solid,
    new_word_tables,
    write_plain,
)
from numba_nlp.reference.segment import staged_words as twin
from vocab_tools.compiler.classes import two_stage

#: Solid are ASCII besides "." and "|", and of the others those with an even code point.
_CODES = np.arange(0x110000)
_SOLID = np.where(_CODES < 0x80, ~np.isin(_CODES, [0x20, 0x2E, 0x7C]), _CODES % 2 == 0).astype(np.uint8)
TABLES = new_word_tables(*two_stage(_SOLID))
texts = st.text(st.sampled_from(" .|ab\u00e9\u00ea\u0301\u65e5\u672c\U0001f600\U0001f601"), max_size=30)


def solid(character: str) -> bool:
    return bool(_SOLID[ord(character)])


def words(text: str, limit: int) -> list[str]:
    data = np.frombuffer(b"x " + text.encode() + b" y", np.uint8)
    starts, ends = np.zeros(64, np.int64), np.zeros(64, np.int64)
    position, stop = 2, data.size - 2
    found: list[str] = []
    while position < stop:
        n, position = fill_words(TABLES, data, position, stop, starts, ends, 0, limit)
        assert 0 < n <= limit
        found += [data[a:b].tobytes().decode() for a, b in zip(starts[:n].tolist(), ends[:n].tolist(), strict=True)]
    return found


@given(texts, st.integers(1, 40))
def test_words(text: str, limit: int) -> None:
    found = words(text, limit)
    assert found == twin.fill_words(solid, text)
    assert "".join(found) == text


@given(texts, st.characters(exclude_categories=["Cs"]))
def test_last_character(text: str, last: str) -> None:
    content = np.frombuffer((text + last).encode(), np.uint8)
    assert is_solid(TABLES, content, 0, content.size) == twin.is_solid(solid, text + last)


def test_nothing() -> None:
    nothing = np.zeros(1, np.int64)
    assert fill_words(TABLES, np.zeros(0, np.uint8), 0, 0, nothing, nothing, 0, 1) == (0, 0)


MARK = "\u2581"
forms = st.sampled_from([None, "", " ", MARK])


@given(
    prefixes=st.fixed_dictionaries({(first, space): forms for first in (False, True) for space in (False, True)}),
    further=forms,
    plain=st.sets(st.sampled_from("ab,\u00e9\u2580\U0001f600")),
    word=st.text(st.sampled_from(" ab,\u00e9\u2580\u2581\U0001f600"), max_size=20) | st.text(" a", max_size=6),
    begins_row=st.booleans(),
    room=st.sampled_from([*range(1, 25), 200]),
)
def test_plain_words(prefixes, further, plain, word, begins_row, room) -> None:
    table, sizes = np.zeros((PREFIXES, PREFIX_ROOM), np.uint8), np.full(PREFIXES, -1, np.int64)
    rows = {2 * first + space: content for (first, space), content in prefixes.items()} | {FURTHER: further}
    for row, content in rows.items():
        if content is not None:
            sizes[row] = len(content.encode())
            table[row, : sizes[row]] = list(content.encode())
    # bytes are what is known: a character is plain when each of its bytes is, but for U+2581
    kinds = np.zeros(256, np.uint8)
    kinds[list("".join(plain).encode())] = IS_PLAIN
    kinds[0xE2] *= MAY_BE_MARK
    tables = new_word_tables(*two_stage(_SOLID))._replace(plain=kinds, prefixes=table.reshape(-1), prefix_sizes=sizes)

    def is_plain(character: str) -> bool:
        return character != MARK and bool(kinds[list(character.encode())].all())

    data = np.frombuffer(b"x" + word.encode() + b"y", np.uint8)
    memory = np.full(room + 8, 7, np.uint8)
    text = memory[:room]
    n = write_plain(tables, data, 1, data.size - 2, begins_row, text)
    expected = twin.write_plain(is_plain, prefixes, further, word, begins_row)
    if expected is None or len(expected.encode()) > room:
        assert n == -1
    else:
        assert text[:n].tobytes().decode() == expected
    # nothing is written behind the room
    assert (memory[room:] == 7).all()
