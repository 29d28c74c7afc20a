from __future__ import annotations

import base64

import numpy as np
import pytest
import tiktoken_ext.openai_public

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.shared_data import shared
from tests.vocab_tools.sources import write_ranks
from vocab_tools.formats import tiktoken_file
from vocab_tools.formats.known_encodings import KNOWN_ENCODINGS

BYTES = {bytes([byte]): byte for byte in range(256)}


def line(piece, rank):
    return base64.b64encode(piece) + b" %d\n" % rank


LINES = [line(piece, rank) for piece, rank in BYTES.items()]


def test_reads_ranks_as_ids(tmp_path):
    path = write_ranks(tmp_path / "toy.tiktoken", {**BYTES, b"th": 256, b"the": 257})
    description = tiktoken_file.read(path, pattern="cl100k", special_tokens={"<|end|>": 260})
    assert description.pieces[255:] == [b"\xff", b"th", b"the", None, None, None]
    assert description.decoded[257:] == [b"the", b"", b"", b"<|end|>"]
    assert description.kinds[255:].tolist() == [5, 0, 0, 255, 255, 2]
    assert description.merges is None
    assert (description.reference, description.special_policy) == ("tiktoken", "raise")
    assert (description.name, description.pattern) == ("toy", "cl100k")
    assert tiktoken_file.read(path, pattern="cl100k", name="mine").name == "mine"


def test_order_of_lines_and_line_ends_do_not_matter(tmp_path):
    path = tmp_path / "toy.tiktoken"
    path.write_bytes(b"\r\n".join(part.strip() for part in reversed(LINES)) + b"\r\n\r\n")
    assert tiktoken_file.read(path, pattern="gpt2").pieces == list(BYTES)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"!!!! 256\n", "'!!!!' is not base64"),
        (b"dGg 256\n", "'dGg' is not base64"),
        (b"\xff\xfe 256\n", r"'\\\\xff\\\\xfe' is not base64"),
        (b"dGg= x\n", "the rank must be an integer in .*, got 'x'"),
        (b"dGg= 1.5\n", "the rank must be an integer in .*, got '1.5'"),
        (b"dGg= -1\n", "the rank must be an integer in .*, got '-1'"),
        (b"dGg= 16777216\n", r"the rank must be an integer in \[0, 16777216\), got '16777216'"),
        (b"dGg= " + b"9" * 6000 + b"\n", "the rank must be an integer"),
        (b"dGg=\n", "expected a piece in base64, a space and its rank, got 'dGg='"),
        (b"dGg= 256 1\n", "expected a piece in base64, a space and its rank"),
        (line(b"th", 7), "rank 7 already stands on line 8"),
        (line(b"a", 256), "the piece b'a' already stands on line 98 with rank 97"),
    ],
)
def test_bad_lines_are_named(tmp_path, bad, message):
    path = tmp_path / "toy.tiktoken"
    path.write_bytes(b"".join(LINES) + bad)
    with pytest.raises(SourceFormatError, match=rf"toy\.tiktoken:257: {message}"):
        tiktoken_file.read(path, pattern="gpt2")


def test_empty_pieces_have_no_base64_and_empty_files_no_pieces(tmp_path):
    path = tmp_path / "toy.tiktoken"
    path.write_bytes(b"==== 256\n" + b"".join(LINES))
    with pytest.raises(SourceFormatError, match=r"toy\.tiktoken:1: "):
        tiktoken_file.read(path, pattern="gpt2")
    path.write_bytes(b"")
    with pytest.raises(SourceFormatError, match="the file is empty"):
        tiktoken_file.read(path, pattern="gpt2")
    path.write_bytes(b"\n")
    with pytest.raises(SourceFormatError, match="256 of the 256 bytes have no piece"):
        tiktoken_file.read(path, pattern="gpt2")


def test_missing_bytes_and_gaps(tmp_path):
    ranks = {piece: rank for piece, rank in BYTES.items() if piece not in (b"\x00", b" ")}
    with pytest.raises(SourceFormatError, match="2 of the 256 bytes have no piece: 0x00, 0x20; "):
        tiktoken_file.read(write_ranks(tmp_path / "toy.tiktoken", ranks), pattern="gpt2")
    path = write_ranks(tmp_path / "toy.tiktoken", {**BYTES, b"th": 258})
    with pytest.raises(SourceFormatError, match="2 ranks are missing: 256, 257; "):
        tiktoken_file.read(path, pattern="gpt2")
    with pytest.raises(SourceFormatError, match="1 ranks are missing: 256; "):
        tiktoken_file.read(path, pattern="gpt2", special_tokens={"<|end|>": 257})
    assert np.flatnonzero(tiktoken_file.read(path, pattern="gpt2", allow_gaps=True).kinds == 255).tolist() == [256, 257]


@pytest.mark.parametrize(
    ("special_tokens", "message"),
    [
        ({"<a>": 5}, r"'<a>' has the id 5, which is already that of b'\\x05'"),
        ({"<a>": 300, "<b>": 300}, "'<b>' has the id 300, which is already that of '<a>'"),
        ({"<a>": -1}, "the id of the special token '<a>' must be an integer in .*, got -1"),
        ({"<a>": 1 << 24}, "must be an integer in"),
        ({"<a>": True}, "must be an integer in"),
        ({"": 300}, "special_tokens holds an empty text"),
    ],
)
def test_bad_special_tokens(tmp_path, special_tokens, message):
    path = write_ranks(tmp_path / "toy.tiktoken", BYTES)
    with pytest.raises(SourceFormatError, match=message):
        tiktoken_file.read(path, pattern="gpt2", special_tokens=special_tokens)


def test_pattern_must_be_given_for_unknown_files(tmp_path):
    path = write_ranks(tmp_path / "toy.tiktoken", BYTES)
    with pytest.raises(SourceFormatError, match=r"pass pattern= with one of gpt2, cl100k, .*special_tokens"):
        tiktoken_file.read(path)
    with pytest.raises(SourceFormatError, match="pattern='cl200k' is not known; pass one of gpt2, cl100k"):
        tiktoken_file.read(path, pattern="cl200k")
    with pytest.raises(UnsupportedFeatureError, match="deepseek_v3"):
        tiktoken_file.read(path, pattern="deepseek_v3")
    assert tiktoken_file.read(path, pattern="llama3").pattern == "llama3"
    own = tiktoken_file.read(path, pattern=r"[^\W\d]+|\s+|.")
    assert (own.pattern, own.pattern_regex) == ("regex", r"[^\W\d]+|\s+|.")


@pytest.fixture
def stated_by_tiktoken(monkeypatch):
    """What tiktoken states of its encodings, with the loading of ranks replaced by their digests."""
    monkeypatch.setattr(
        tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda url, expected_hash: {"digest": expected_hash}
    )
    return {
        name: getattr(tiktoken_ext.openai_public, name)()
        for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
    }


def test_known_encodings_are_those_that_tiktoken_states(stated_by_tiktoken):
    assert {known.name for known in KNOWN_ENCODINGS.values()} == set(stated_by_tiktoken)
    for digest, known in KNOWN_ENCODINGS.items():
        stated = stated_by_tiktoken[known.name]
        assert stated["mergeable_ranks"]["digest"] == digest
        assert stated["special_tokens"] == dict(known.special_tokens)


@pytest.mark.parametrize("name", ["p50k_base", "cl100k_base", "o200k_base"])
def test_known_files(name, stated_by_tiktoken):
    description = tiktoken_file.read(shared(f"vocab/tiktoken/{name}.tiktoken"))
    stated = stated_by_tiktoken[name]
    assert description.name == name
    assert description.pattern_regex == stated["pat_str"]
    assert {token.content: token.id for token in description.added_tokens} == stated["special_tokens"]
    assert len(description.pieces) == 1 + max(
        stated["special_tokens"]["<|endoftext|>"],
        *stated["special_tokens"].values(),
        *([50280] if name == "p50k_base" else []),
    )
    no_gap = description.kinds[:50257] != 255
    assert no_gap.all()  # p50k_base has its special token in a gap of the ranks
