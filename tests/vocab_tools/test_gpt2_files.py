from __future__ import annotations

import json

import numpy as np
import pytest

from numba_nlp.errors import SourceFormatError
from tests.vocab_tools.sources import vocabulary, write_gpt2
from vocab_tools.formats import gpt2

NO_MERGES = "#version: 0.2\n"
ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def small(*pieces):
    return vocabulary(*pieces, specials=["<|endoftext|>"])


@pytest.mark.parametrize("version_line", ["", "#version: 0.2\n", "#version: 0.2 - Trained by somebody\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_reads_pieces_and_merges(tmp_path, version_line, end):
    merges = f"{version_line}t h\nth e\nĠ the\n".replace("\n", end)
    description = gpt2.read(*write_gpt2(tmp_path, small("th", "the", "Ġthe"), merges))
    vocab = small("th", "the", "Ġthe")
    expected = [[vocab["t"], vocab["h"], 256], [256, vocab["e"], 257], [vocab["Ġ"], 257, 258]]
    assert description.merges.tolist() == expected
    assert description.pieces[256:259] == [b"th", b"the", b" the"]
    assert description.decoded[258:] == [b" the", b"<|endoftext|>"]
    assert description.kinds[255:].tolist() == [5, 0, 0, 0, 2]
    assert (description.reference, description.pattern, description.special_policy) == ("tokenizers", "gpt2", "match")


def test_merges_may_lack_the_last_line_feed_and_may_be_none(tmp_path):
    assert gpt2.read(*write_gpt2(tmp_path, small("th"), "t h")).merges.shape == (1, 3)
    assert gpt2.read(*write_gpt2(tmp_path, small(), NO_MERGES)).merges.shape == (0, 3)


def test_line_separators_inside_pieces_do_not_end_lines(tmp_path):
    # U+0085 is no letter of the byte alphabet, but "Ì" + "¨" are: str.splitlines must not be what cuts the lines.
    description = gpt2.read(*write_gpt2(tmp_path, small("Ì¨"), "Ì ¨\n"))
    assert description.pieces[256] == b"\xcc\xa8"
    with pytest.raises(SourceFormatError, match=r"merges\.txt:1: a merge is two pieces"):
        gpt2.read(*write_gpt2(tmp_path, small(), "t\u2028h\n"))


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ("t h\nth x\n", r"merges\.txt:2: the product 'thx' of the merge 'th x' is no piece"),
        ("#version: 0.2\nqq h\n", r"merges\.txt:2: the left part 'qq' of the merge 'qq h' is no piece"),
        ("t hh\n", r"merges\.txt:1: the right part 'hh' of the merge 't hh' is no piece"),
        ("t h\n\nth e\n", r"merges\.txt:2: a merge is two pieces with one space between them, got ''"),
        ("t h e\n", r"merges\.txt:1: a merge is two pieces .* got 't h e'"),
        ("t  h\n", r"merges\.txt:1: a merge is two pieces"),
        ("th\n", r"merges\.txt:1: a merge is two pieces .* got 'th'"),
        ("t h\nth e\nt h\n", r"merges\.txt:3: the merge 't h' is already listed \(.*merges\.txt:1\)"),
        ("t h\n#version: 0.2\n", r"merges\.txt:2: .* reads as a version line, which must come first"),
    ],
)
def test_bad_merges_are_named_with_their_line(tmp_path, merges, message):
    with pytest.raises(SourceFormatError, match=message):
        gpt2.read(*write_gpt2(tmp_path, small("th", "the"), merges))


@pytest.mark.parametrize(
    ("number", "shown"),
    [(-1, "-1"), (1.0, r"1\.0"), (True, "True"), ("7", "'7'"), (None, "None"), (1 << 24, "16777216")],
)
def test_bad_ids(tmp_path, number, shown):
    message = rf"vocab\.json:1: the id of 'th' must be an integer in \[0, 16777216\), got {shown}"
    with pytest.raises(SourceFormatError, match=message):
        gpt2.read(*write_gpt2(tmp_path, {**small("th"), "th": number}, ""))


def test_duplicate_ids_and_keys(tmp_path):
    with pytest.raises(SourceFormatError, match=r"vocab\.json:1: 'the' and 'th' have the same id 256"):
        gpt2.read(*write_gpt2(tmp_path, {**small("th"), "the": 256}, ""))
    lines = json.dumps(small("th"), indent=0)[:-2] + ',\n"th": 300\n}'
    with pytest.raises(SourceFormatError, match=r"vocab\.json:260: the key 'th' occurs twice"):
        gpt2.read(*write_gpt2(tmp_path, lines, ""))


def test_gaps_need_a_word(tmp_path):
    paths = write_gpt2(tmp_path, {**small(), "th": 260}, "t h\n")
    message = r"3 of the ids below 261 belong to no piece: 257, 258, 259; .*allow_gaps"
    with pytest.raises(SourceFormatError, match=message):
        gpt2.read(*paths)
    description = gpt2.read(*paths, allow_gaps=True)
    assert np.flatnonzero(description.kinds == 255).tolist() == [257, 258, 259]
    assert description.pieces[258] is None
    assert description.decoded[258] == b""


def test_characters_outside_the_byte_alphabet(tmp_path):
    message = r"vocab\.json:1: 't h' \(id 256\) holds ' ', which is outside the byte alphabet"
    with pytest.raises(SourceFormatError, match=message):
        gpt2.read(*write_gpt2(tmp_path, small("t h"), NO_MERGES))
    with pytest.raises(SourceFormatError, match="id 256 is the empty piece"):
        gpt2.read(*write_gpt2(tmp_path, small(""), NO_MERGES))


def test_every_byte_needs_a_piece(tmp_path):
    vocab = {piece: number for piece, number in small().items() if piece not in ("Ġ", "a")}
    with pytest.raises(SourceFormatError, match=r"2 of the 256 bytes have no piece: 0x20 \('Ġ'\), 0x61 \('a'\); "):
        gpt2.read(*write_gpt2(tmp_path, vocab, NO_MERGES), allow_gaps=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b'{"a": 1,\n"b": \xff}', r"vocab\.json:2: byte 14 \(0xff\) is not valid UTF-8"),
        (b'{"a": 1,\n}', r"vocab\.json:2: not JSON"),
        (b"[1]", "expected an object of pieces and their ids, got list"),
        (b"{}", "expected an object of pieces and their ids, got an empty object"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "not the JSON of a vocabulary"),
        (b"[" * 100_000, "not the JSON of a vocabulary|not JSON"),
    ],
)
def test_broken_vocab_json(tmp_path, content, message):
    paths = write_gpt2(tmp_path, small(), "")
    paths[0].write_bytes(content)
    with pytest.raises(SourceFormatError, match=message):
        gpt2.read(*paths)


def test_broken_merges_file(tmp_path):
    paths = write_gpt2(tmp_path, small(), "")
    with pytest.raises(SourceFormatError, match=r"merges\.txt: the file is empty"):
        gpt2.read(*paths)
    paths[1].write_bytes(b"t h\n\xc3(\n")
    with pytest.raises(SourceFormatError, match=r"merges\.txt:2: byte 4 \(0xc3\) is not valid UTF-8"):
        gpt2.read(*paths)
    paths[1].unlink()
    with pytest.raises(FileNotFoundError, match=r"merges\.txt: does not exist"):
        gpt2.read(*paths)
    with pytest.raises(SourceFormatError, match="is a folder, not a file"):
        gpt2.read(paths[0], tmp_path)


def test_absurdly_large_files_are_refused_before_they_are_read(tmp_path):
    paths = write_gpt2(tmp_path, small(), "t h\n")
    with paths[1].open("r+b") as stream:
        stream.truncate(1 << 40)  # sparse: takes no room
    with pytest.raises(SourceFormatError, match=r"1,099,511,627,776 bytes, more than the 536,870,912"):
        gpt2.read(*paths)


def test_family_is_inferred_only_when_certain(tmp_path):
    assert gpt2.read(*write_gpt2(tmp_path, small(), NO_MERGES)).template_single == ()
    for specials in ((), ("<s>", "</s>"), ("<s>", "<|endoftext|>")):
        paths = write_gpt2(tmp_path, vocabulary(specials=specials), NO_MERGES)
        with pytest.raises(SourceFormatError, match=r'pass family="gpt2" or family="roberta"'):
            gpt2.read(*paths)
    with pytest.raises(SourceFormatError, match="family='bert' is not known"):
        gpt2.read(*paths, family="bert")


def test_roberta_special_tokens_template_and_spans(tmp_path):
    description = gpt2.read(*write_gpt2(tmp_path, vocabulary("th", specials=ROBERTA), "t h\n"))
    assert description.template_single == (257, -1, 259)
    assert description.trim_offsets
    assert not description.trim_keeps_prefix_space
    assert [(token.content, token.id, token.lstrip) for token in description.added_tokens] == [
        ("<s>", 257, False),
        ("<pad>", 258, False),
        ("</s>", 259, False),
        ("<unk>", 260, False),
        ("<mask>", 261, True),
    ]


def test_special_tokens_that_the_file_lacks_are_numbered_on(tmp_path):
    description = gpt2.read(*write_gpt2(tmp_path, vocabulary("th"), "t h\n"), family="gpt2")
    assert [(token.content, token.id) for token in description.added_tokens] == [("<|endoftext|>", 257)]
    paths = write_gpt2(tmp_path, {**vocabulary(), "th": 257}, "t h\n")
    with pytest.raises(SourceFormatError, match=r"'<\|endoftext\|>' is not in the vocabulary .* 257, .* taken"):
        gpt2.read(*paths, family="gpt2", allow_gaps=True)


def test_digest_depends_on_both_files(tmp_path):
    first = gpt2.read(*write_gpt2(tmp_path, small("th"), "t h\n")).source_digest
    assert gpt2.read(*write_gpt2(tmp_path, small("th"), "t h\n")).source_digest == first
    assert gpt2.read(*write_gpt2(tmp_path, small("th"), "t h")).source_digest != first
    assert gpt2.read(*write_gpt2(tmp_path, small("th", "ht"), "t h\n")).source_digest != first


def test_model_inputs_of_both_families(tmp_path):
    specials = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    description = gpt2.read(*write_gpt2(tmp_path, vocabulary("th", specials=specials), "t h\n"), family="roberta")
    assert description.inputs.metadata() == {
        "templates": {
            "single": [[257, 0], ["A", 0], [259, 0]],
            "pair": [[257, 0], ["A", 0], [259, 0], [259, 0], ["B", 0], [259, 0]],
        },
        "pad": 258,
        "pad_type_id": 0,
        "padding_side": "right",
        "truncation_side": "right",
        "model_input_names": ["input_ids", "attention_mask"],
    }
    assert description.template_single == description.inputs.template_single == (257, -1, 259)
    plain = gpt2.read(*write_gpt2(tmp_path, small("th"), "t h\n"), family="gpt2").inputs
    assert plain.metadata()["templates"] == {"single": [["A", 0]], "pair": [["A", 0], ["B", 1]]}
    assert (plain.pad_id, plain.template_single) == (None, ())
