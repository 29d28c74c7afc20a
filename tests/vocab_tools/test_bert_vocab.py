"""``vocab.txt``: read line by line as the reference reads it, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats import bert_vocab
from vocab_tools.formats.description import KIND_ABSENT, KIND_CONTROL, KIND_NORMAL, TEXT_PLACE

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def write(folder: Path, text: str) -> Path:
    path = folder / "vocab.txt"
    path.write_bytes(text.encode())
    return path


def lines(*more: str, end: str = "\n") -> str:
    return end.join((*SPECIALS, *more)) + end


FILES = {
    "plain": lines("a", "##b"),
    "crlf": lines("a", "##b", end="\r\n"),
    "no_final_line_end": "\n".join((*SPECIALS, "a", "b")),
    "empty_lines": lines("", "a", "", "b"),
    "empty_line_at_the_end": lines("a", "b", ""),
    "twice": lines("a", "b", "a"),
    "special_twice": lines("[CLS]", "x"),
    "white_space": lines("a ", "b\t", " c", "d\u00a0", "e\u3000", "\u2028f\u2028", "g\x0b", "h\x85", "i\x1c"),
    "carriage_returns": lines("a\rb", "c\r\r"),
    "controls": lines("\x00", "\x7f", "a\x85b", "\u200b"),
}


@pytest.mark.parametrize("name", FILES)
def test_pieces_are_those_of_the_reference(tmp_path, name):
    from tokenizers.models import WordPiece

    path = write(tmp_path, FILES[name])
    description = bert_vocab.read(path)
    expected = WordPiece.read_file(str(path))
    assert {piece: number for number, piece in enumerate(description.pieces) if piece is not None} == expected
    assert len(description.pieces) == FILES[name].count("\n") + (not FILES[name].endswith("\n"))
    absent = description.kinds == KIND_ABSENT
    assert absent.tolist() == [piece is None for piece in description.pieces]
    assert [token.content for token in description.added_tokens] == ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"]
    for token in description.added_tokens:
        assert description.pieces[token.id] == token.content
        assert description.kinds[token.id] == KIND_CONTROL
    assert description.unknown == expected["[UNK]"]
    assert description.template_single == (expected["[CLS]"], TEXT_PLACE, expected["[SEP]"])


def test_what_the_options_say(tmp_path):
    path = write(tmp_path, "<u>\n<p>\n<c>\n<s>\n<m>\na\n")
    description = bert_vocab.read(
        path,
        do_lower_case=False,
        tokenize_chinese_chars=False,
        strip_accents=True,
        unk_token="<u>",
        sep_token="<s>",
        pad_token="<p>",
        cls_token="<c>",
        mask_token="<m>",
        name="small",
    )
    assert (description.lowercase, description.handle_chinese_chars, description.strip_accents) == (False, False, True)
    assert description.name == "small"
    assert description.template_single == (2, TEXT_PLACE, 3)
    assert bert_vocab.read(write(tmp_path, lines())).name == "vocab"


def test_special_tokens_that_the_file_lacks_get_the_next_ids(tmp_path):
    """As in transformers: unknown, separator, padding, class, mask."""
    BertTokenizer = pytest.importorskip("transformers").BertTokenizer

    path = write(tmp_path, "a\n[UNK]\n[CLS]\nb\n")
    description = bert_vocab.read(path)
    ids = {token.content: token.id for token in description.added_tokens}
    assert ids == {"[UNK]": 1, "[SEP]": 4, "[PAD]": 5, "[CLS]": 2, "[MASK]": 6}
    assert description.pieces == ["a", "[UNK]", "[CLS]", "b", None, None, None]
    assert np.array_equal(description.kinds == KIND_NORMAL, [True, False, False, True, False, False, False])
    theirs = BertTokenizer(str(path)).get_vocab()
    assert {content: theirs[content] for content in ids} == ids


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\n", r"vocab\.txt: no line is '\[UNK\]', the token of unknown words.*Pass unk_token="),
        (b"[UNK]\na\n\xff\n", r"vocab\.txt:3: byte 8 \(0xff\) is not valid UTF-8"),
        (b"", r"vocab\.txt: the file is empty"),
        (b"a\na\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", r"no line '\[PAD\]'.* the id 5 of '\[MASK\]'; append the line"),
    ],
)
def test_files_that_are_refused(tmp_path, content, message):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(SourceFormatError, match=message):
        bert_vocab.read(path)


def test_an_empty_special_token_is_refused(tmp_path):
    with pytest.raises(SourceFormatError, match="a special token is empty"):
        bert_vocab.read(write(tmp_path, lines("a")), mask_token="")
