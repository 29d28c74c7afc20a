"""Counts of two tokenizers, against counting by hand with their own libraries."""

from __future__ import annotations

import io
import json

import pytest
from typer.testing import CliRunner

import vocab_tools
from numba_nlp.text_rows import TextRows
from tests.families import FAMILIES, family
from tests.made_tokenizers import HAMLET, bert, gpt2
from vocab_tools.commands import app
from vocab_tools.comparing.pieces import piece_texts, unknown_id
from vocab_tools.corpus import blocks

ROWS = [
    *HAMLET.read_text(encoding="utf-8").splitlines()[200:240],
    "",
    "word",
    "naïve café 日本語 👩",
    "\u0378 unassigned",
]


@pytest.fixture(scope="module")
def found():
    return vocab_tools.compare(gpt2().ours, bert().ours, TextRows.from_strings(ROWS), show=1000)


def test_counts_are_those_of_the_libraries(found):
    corpus = found.corpus
    assert (corpus.rows, corpus.words) == (len(ROWS), sum(len(row.split()) for row in ROWS))
    assert corpus.bytes == sum(len(row.encode()) for row in ROWS)
    seen = [row.translate(dict.fromkeys(map(ord, " \t\n\v\f\r"))) for row in ROWS]
    assert corpus.characters == sum(map(len, seen))
    for counts, reference in ((found.first, gpt2().reference), (found.second, bert().reference)):
        encoded = [reference.encode(row, add_special_tokens=False) for row in ROWS]
        tokens = [token for one in encoded for token in one.tokens]
        assert counts.tokens == len(tokens)
        assert counts.used == len({number for one in encoded for number in one.ids})
        assert counts.tokens_per_word == len(tokens) / corpus.words
        assert counts.tokens_per_byte == len(tokens) / corpus.bytes
        unknown = [
            end - start
            for one in encoded
            for token, (start, end) in zip(one.tokens, one.offsets, strict=True)
            if token == "[UNK]"
        ]
        assert counts.unknown_tokens == len(unknown)
        assert counts.unknown_characters == sum(unknown)
    assert found.second.unknown_tokens > 0
    assert 0.9 < found.second.coverage < found.first.coverage == 1.0
    assert found.second.unknown_rate == found.second.unknown_tokens / found.second.tokens


def test_pieces_are_compared_by_their_text(found):
    first, second = piece_texts(gpt2().ours), piece_texts(bert().ours)
    of_gpt2 = {number: gpt2().reference.decode([number]) for number in range(50256)}
    # pieces that are no whole characters decode to a mark
    whole = {number: text.encode() for number, text in of_gpt2.items() if "\ufffd" not in text}
    assert {number: first[number] for number in whole} == whole
    assert len(first) == found.first.pieces == 50256
    for token, number in bert().reference.get_vocab().items():
        if token.removeprefix("##").isalnum():
            text = token[2:] if token.startswith("##") else f" {token}"
            assert second[number] == text.encode()
    assert found.common_pieces == len(set(first.values()) & set(second.values())) > 15_000
    assert found.common_of_first == found.common_pieces / found.first.pieces
    assert found.common_of_second == found.common_pieces / len(set(second.values()))


@pytest.mark.parametrize(
    ("name", "token", "text"),
    [
        ("unigram", "▁the", b" the"),
        ("unigram", "ion", b"ion"),
        ("sentencepiece_bpe", "<0xE3>", b"\xe3"),
        ("character_bpe", "the</w>", b"the "),
        ("character_bpe", "que", b"que"),
        ("staged_unigram", "▁the", b" the"),
        ("staged_bpe", "▁be", b" be"),
        ("staged_wordpiece", "the", b" the"),
    ],
)
def test_texts_of_pieces_of_every_kind(name, token, text):
    tokenizer = family(name)
    assert piece_texts(tokenizer)[tokenizer.token_to_id(token)] == text


def test_rows_are_cut_differently_where_the_places_differ(found):
    rows = {row.row for row in found.shown}
    assert len(rows) == found.differing_rows
    for number, row in enumerate(ROWS):
        places = []
        for reference in (gpt2().reference, bert().reference):
            offsets = reference.encode(row, add_special_tokens=False).offsets
            # where a token begins and ends, white space not counted
            cut = [(len("".join(row[:start].split())), len("".join(row[:end].split()))) for start, end in offsets]
            places.append([span for span in cut if span[0] < span[1]])
        if row.isascii():
            assert (number in rows) == (places[0] != places[1]), row
    shown = next(row for row in found.shown if row.text == ROWS[-2])
    assert shown.first == tuple(gpt2().reference.encode(ROWS[-2]).tokens)
    assert shown.second == tuple(bert().reference.encode(ROWS[-2], add_special_tokens=False).tokens)


def test_a_tokenizer_is_like_itself():
    for name in ("byte_bpe", "wordpiece", "unigram"):  # spans of every family are compiled by their own tests
        found = vocab_tools.compare(family(name), family(name), TextRows.from_strings(ROWS[:5]))
        assert found.differing_rows == 0
        assert found.common_of_first == found.common_of_second == 1.0


@pytest.mark.parametrize("name", FAMILIES)
def test_the_unknown_id_is_what_unknown_text_gives(name):
    tokenizer = family(name)
    number = unknown_id(tokenizer)
    ids = tokenizer.encode("\U000e0041 \u0378", special="plain").tolist()
    if number >= 0 and "bpe" not in name:
        assert number in ids
    assert number not in piece_texts(tokenizer)


def test_blocks_are_all_rows_in_order(tmp_path, monkeypatch):
    path = tmp_path / "corpus.txt"
    content = "".join(f"{row}\r\n" for row in ROWS).encode() + b"last"
    path.write_bytes(content)
    expected = [*ROWS, "last"]
    for block_bytes in (1, 100, 1 << 20):
        made = list(blocks(path, block_bytes))
        assert [row for block in made for row in block] == expected
        assert all(len(block) == 1 or block.nbytes <= block_bytes for block in made)
    assert [row for block in blocks([path, path]) for row in block] == expected * 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert [row for block in blocks("-") for row in block] == expected


def test_the_command(tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("To be, or not to be\nword\n", encoding="utf-8")
    words = tmp_path / "vocab.txt"
    words.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nt\n##o\nbe\nor\n", encoding="utf-8")
    pair = "examples/data/gpt2/vocab.json,examples/data/gpt2/merges.txt"
    arguments = ["compare", pair, str(words), "--corpus", str(corpus)]
    shown = CliRunner().invoke(app, [*arguments, "--show", "1"])
    assert shown.exit_code == 0, shown.output
    for part in (
        "rows cut differently: 1 of 2",
        "2 rows, 7 words",
        "To Ġbe , Ġor Ġnot Ġto Ġbe",
        "t ##o be [UNK] or [UNK]",
    ):
        assert part in shown.stdout
    made = CliRunner().invoke(app, [*arguments, "--json", "--second-option", "do_lower_case=false"])
    content = json.loads(made.stdout)
    assert content["second"]["unknown_tokens"] == 4
    assert content["first"]["tokens"] == 8
    assert [row["second"] for row in content["shown"]] == [["[UNK]", "be", "[UNK]", "or", "[UNK]", "t", "##o", "be"]]
    # the words of a corpus that has none would be no share of anything
    corpus.write_text("\n \n", encoding="utf-8")
    empty = CliRunner().invoke(app, arguments)
    assert (empty.exit_code, empty.stdout) == (1, "")
    assert "the corpus has no words" in empty.stderr
    assert CliRunner().invoke(app, arguments[:3]).exit_code == 2
    missing = CliRunner().invoke(app, [*arguments[:3], "--corpus", str(tmp_path / "nothing")])
    assert missing.exit_code == 1
    assert missing.stderr.startswith("error: ")
