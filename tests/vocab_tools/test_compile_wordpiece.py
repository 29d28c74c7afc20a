"""Compiled WordPiece vocabularies: the arrays say what the files say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from numba_nlp.errors import SourceFormatError
from tests.wordpiece_cases import CASED, OPTIONS, PIECES, UNCASED, Case, arrays_of, frozen_tables, pieces_of, toy
from vocab_tools.compiler.bert_characters import bert_characters, hangul_parts, recorded_library_version
from vocab_tools.compiler.wordpiece import build_arrays, decoded_forms
from vocab_tools.formats import bert_vocab


def strings(data, offsets) -> list[str]:
    content = data.tobytes()
    return [content[a:b].decode() for a, b in pairwise(offsets.tolist())]


def test_pieces_trie_and_decoded_forms():
    arrays = arrays_of(toy())
    assert strings(arrays["piece_bytes"], arrays["piece_offsets"]) == list(PIECES)
    forms = strings(arrays["decoded_bytes"], arrays["decoded_offsets"])
    n = len(PIECES)
    assert len(forms) == 2 * n
    assert forms[n:] == list(PIECES)
    assert forms[PIECES.index("##ab")] == "ab"
    assert forms[PIECES.index("ab")] == " ab"
    assert forms[PIECES.index(".")] == "."
    pieces = pieces_of(frozen_tables(arrays))
    assert pieces.first == {piece.encode(): number for number, piece in enumerate(PIECES)}
    assert pieces.further == {p[2:].encode(): number for number, p in enumerate(PIECES) if p.startswith("##")}
    for array in arrays.values():
        assert array.ndim == 1
        assert array.flags.c_contiguous


def test_of_equal_tokens_the_last_counts_and_empty_lines_are_no_pieces(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n\na\n", encoding="utf-8")
    arrays, metadata = build_arrays(bert_vocab.read(path))
    pieces = pieces_of(frozen_tables(arrays))
    assert pieces.first[b"a"] == 7
    assert b"" not in pieces.first
    assert arrays["piece_kinds"].tolist() == [2, 2, 2, 2, 2, 255, 0, 0]
    assert arrays["template_single"].tolist() == [2, -1, 3]
    assert metadata["algorithm"] == "wordpiece"
    assert metadata["strip_accents"] is True


@pytest.mark.parametrize(
    ("token", "first", "later"),
    [
        ("ab", "ab", " ab"),
        ("##ab", "##ab", "ab"),
        (".", ".", "."),
        ("n't", "n't", "n't"),
        ("'m", "'m", "'m"),
        ("'s", "'s", "'s"),
        ("do", "do", " do"),
        ("a .b", "a.b", " a.b"),
        ("##", "##", ""),
        (" ' ", "'", " '"),
    ],
)
def test_decoded_forms(token, first, later):
    assert decoded_forms(token, "##", cleanup=True) == (first, later)


def test_decoded_forms_without_cleanup():
    assert decoded_forms(".", "##", cleanup=False) == (".", " .")


def test_a_piece_that_is_too_long_is_refused():
    with pytest.raises(SourceFormatError, match=r"toy: the piece with id 1 has 20000 bytes, more than the 16384"):
        arrays_of(Case({"[UNK]": 0, "a" * 20000: 1}, UNCASED))


def test_tables_of_options_differ_where_they_should():
    tables = {name: bert_characters(**{**dict.fromkeys(OPTIONS, False), name: True}) for name in OPTIONS}
    none = bert_characters(**dict.fromkeys(OPTIONS, False))

    def unit(table, character: str) -> int:
        point = ord(character)
        return int(table.normal_blocks[(int(table.normal_index[point >> 7]) << 7) | (point & 127)])

    for name, character in zip(OPTIONS, "\x00\u4e00\u00e9A", strict=True):
        changed = [other for other in OPTIONS if unit(tables[other], character) != unit(none, character)]
        assert changed == [name]
    left_open = bert_characters(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=False)
    assert np.array_equal(left_open.normal_blocks, bert_characters(**CASED).normal_blocks)
    assert not none.normal_several.size
    assert none.normal_blocks.nbytes < 100_000


def test_hangul_formula():
    assert "".join(map(chr, hangul_parts(0xD55C))) == "\u1112\u1161\u11ab"
    assert hangul_parts(0xAC00) == (0x1100, 0x1161)
    assert hangul_parts(0xD7A4) == ()


def test_facts_are_of_a_known_version():
    assert recorded_library_version().split(".")[0] == "0"
