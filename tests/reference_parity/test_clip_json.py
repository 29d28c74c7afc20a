"""CLIP's ``tokenizer.json``: what may not differ from it, its added tokens as plain text, and dropout."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import numba_nlp as nlp
import vocab_tools
from numba_nlp.byte_alphabet import BYTE_CHARACTERS
from numba_nlp.character_text import encode_with_dropout
from numba_nlp.errors import SourceFormatError, SpecialTokenError, UnsupportedFeatureError

START, END = "<|startoftext|>", "<|endoftext|>"
_PATTERN = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
TEXTS = (
    f"{START}a photo of the cat{END}", "<|STARTOFTEXT|> The\u00a0Thing <|EndOfText|>", "a<|startOfText|>b <NEW>the",
    "\u0130 e\u0301 \u65e5\u672c we've", f"{END}{START}", "", " ", "<|start", "<new>NEW<New>",
)  # fmt: skip


@cache
def _document() -> dict[str, Any]:
    letters = sorted(BYTE_CHARACTERS)
    merges = ["t h", "th e</w>", "< |", "| ></w>", "i n", "in g</w>", "< n"]
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), *(merge.replace(" ", "") for merge in merges)]
    vocab = {piece: number for number, piece in enumerate([*pieces, START, END, "<new>"])}
    added = [(START, True, True), (END, False, True), ("<new>", True, False)]
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": vocab[content], "content": content, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": normalized, "special": special}
            for content, normalized, special in added
        ],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"},
        ]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": _PATTERN}, "behavior": "Removed", "invert": True},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        ]},
        "post_processor": {"type": "RobertaProcessing", "sep": [END, vocab[END]], "cls": [START, vocab[START]],
                           "trim_offsets": False, "add_prefix_space": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": END, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "</w>", "fuse_unk": False, "vocab": vocab, "merges": merges},
    }  # fmt: skip


def document() -> dict[str, Any]:
    """A small file of CLIP's form; two of its added tokens are looked for in normalized text."""
    return copy.deepcopy(_document())


def write(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def change(content: Any, place: tuple[str | int, ...], value: Any) -> Any:
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return content


def assert_refused_or_exact(folder: Path, content: dict[str, Any], section: str, rows: tuple[str, ...] = TEXTS) -> None:
    """A file of another form is refused by the name of a stage, or its ids, spans and texts are tokenizers'."""
    path = write(folder, content)
    try:
        ours = nlp.load_tokenizer(path)
    except SourceFormatError as error:
        assert "is no piece of the vocabulary" in str(error)  # noqa: PT017
        # a panic of the library is no Exception
        with pytest.raises(BaseException, match=r"out of vocabulary|slice index starts"):
            Tokenizer.from_file(str(path))
        return
    except UnsupportedFeatureError as error:
        assert str(path) in str(error)  # noqa: PT017
        assert f": {section}" in str(error) or ": pre_tokenizer" in str(error)  # noqa: PT017
        return
    expected = Tokenizer.from_file(str(path)).encode_batch(list(rows), add_special_tokens=False)
    found = ours.encode_batch(rows, spans=True)
    for number, row in enumerate(expected):
        part = slice(found.offsets[number], found.offsets[number + 1])
        assert found.values[part].tolist() == row.ids
        assert list(zip(found.starts[part], found.ends[part], strict=True)) == row.offsets


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("pre_tokenizer", "pretokenizers", 0, "pattern", "Regex"), r"[\p{L}]+|[^\s]+"),
        (("pre_tokenizer", "pretokenizers", 0, "behavior"), "Isolated"),
        (("pre_tokenizer", "pretokenizers", 0, "invert"), False),
        (("pre_tokenizer", "pretokenizers", 1, "add_prefix_space"), True),
        (("pre_tokenizer",), None),
        (("normalizer", "normalizers", 0), {"type": "NFKC"}),
        (("normalizer", "normalizers", 1, "content"), ""),
        (("normalizer",), None),
        (("decoder",), {"type": "BPEDecoder", "suffix": "</w>"}),
        (("decoder",), None),
        (("model", "continuing_subword_prefix"), "##"),
        (("model", "unk_token"), None),
        (("model", "byte_fallback"), True),
        (("model", "ignore_merges"), True),
        (("model", "end_of_word_suffix"), "_"),
        (("post_processor", "trim_offsets"), True),
        (("added_tokens", 0, "lstrip"), True),
        (("added_tokens", 2, "rstrip"), True),
    ],
)
def test_what_differs_from_clip(tmp_path: Path, place: tuple[str | int, ...], value: Any) -> None:
    assert_refused_or_exact(tmp_path, change(document(), place, value), str(place[0]))


@pytest.mark.parametrize("content", ["<NEW>", "new token", "n\u00e9w"])
def test_tokens_that_the_normalizer_changes(tmp_path: Path, content: str) -> None:
    changed = document()
    token = {**changed["added_tokens"][2], "content": content, "id": len(changed["model"]["vocab"])}
    rows = (*TEXTS, f"a {content}the {content.upper()}")
    changed["added_tokens"][2] = token  # alone: two tokens may be one in normalized text
    assert_refused_or_exact(tmp_path, changed, "added_tokens", rows)
    changed["added_tokens"][2] = {**token, "normalized": False}
    ours, reference = pair(tmp_path, changed)
    for text in rows:
        assert ours.encode(text).tolist() == reference.encode(text, add_special_tokens=False).ids


def test_unknown_token_that_is_no_piece(tmp_path: Path) -> None:
    with pytest.raises(SourceFormatError, match=r"model\.unk_token: '<none>' is no piece"):
        vocab_tools.compile(write(tmp_path, change(document(), ("model", "unk_token"), "<none>")))


def pair(folder: Path, content: dict[str, Any]) -> tuple[nlp.Tokenizer, Tokenizer]:
    path = write(folder, content)
    return nlp.load_tokenizer(path), Tokenizer.from_file(str(path))


def test_added_tokens_as_plain_text(tmp_path: Path) -> None:
    """What tokenizers gives without added tokens; tokens in normalized text are text, too."""
    ours, with_tokens = pair(tmp_path, document())
    content = document()
    content["added_tokens"], content["post_processor"] = [], None
    reference = Tokenizer.from_str(json.dumps(content))
    plain = nlp.Tokenizer(vocab_tools.compile(tmp_path / "tokenizer.json", special="plain"))
    rows = list(TEXTS)
    expected = reference.encode_batch(rows)
    assert [row.ids for row in expected] != [
        row.ids for row in with_tokens.encode_batch(rows, add_special_tokens=False)
    ]
    for tokenizer, policy in ((ours, "plain"), (plain, None), (plain, "plain")):
        found = tokenizer.encode_batch(rows, special=policy, spans=True)
        assert [row.tolist() for row in found] == [row.ids for row in expected]
        assert [list(zip(*map(list, found.spans(row)), strict=True)) for row in range(len(rows))] == [
            row.offsets for row in expected
        ]
        for text, row in zip(rows, expected, strict=True):
            for _ in range(2):
                assert tokenizer.encode(text, special=policy).tolist() == row.ids
    for text in ("<|STARTOFTEXT|> a", END, "x <NEW>"):
        with pytest.raises(SpecialTokenError):
            plain.encode(text, special="raise")
        assert plain.encode(text, special="match").tolist() == with_tokens.encode(text, add_special_tokens=False).ids


def test_dropout_around_added_tokens(tmp_path: Path) -> None:
    """Nothing is dropped, or all merges are, which leaves nothing to chance; added tokens stay whole."""
    for probability in (0.0, 1.0):
        reference = Tokenizer.from_str(json.dumps(change(document(), ("model", "dropout"), probability)))
        ours = nlp.load_tokenizer(write(tmp_path, document()))
        found = encode_with_dropout(ours, list(TEXTS), probability)
        expected = reference.encode_batch(list(TEXTS), add_special_tokens=False)
        assert [row.tolist() for row in found] == [row.ids for row in expected]
    half = encode_with_dropout(ours, list(TEXTS), 0.5, seed=3)
    assert [ours.decode(row) for row in half] == [ours.decode(row) for row in found]
    refused = f"{START} the"
    with pytest.raises(SpecialTokenError, match="startoftext"):
        encode_with_dropout(ours, [refused], 0.5, special="raise")
