"""``tokenizer.json`` files with Unigram or BPE over characters: what is told, what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, normalizers

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.staged_tokenizers import NAMES, compiled, load_changed, made, staged
from vocab_tools.compiler.decoders import compile_decoders
from vocab_tools.formats.charsmap import encode_charsmap
from vocab_tools.formats.stages.decoders import read_decoders
from vocab_tools.formats.stages.stage import Stage
from vocab_tools.inspecting import contents, tables


def test_a_file_is_told_by_its_fields(tmp_path: Path) -> None:
    """Old files leave the type of the model out."""
    for name in ("unigram", "bpe"):
        content = json.loads(made(name).to_str())
        del content["model"]["type"]
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        loaded = nlp.load_tokenizer(path)
        assert loaded.describe()["algorithm"] == f"staged_{name}"
        assert loaded.encode("the question").tolist() == staged(name).ours.encode("the question").tolist()


@pytest.mark.parametrize("name", NAMES)
def test_descriptions_and_compiled_files(name: str, tmp_path: Path) -> None:
    ours = staged(name).ours
    description = ours.describe()
    assert description["reference"] == "tokenizers"
    assert description["pre_tokenizers"] == list(ours.vocabulary.metadata["pre_tokenizers"])
    titles = [table.title for table in tables(contents(ours.vocabulary, 3))]
    assert "added tokens" in titles
    ours.vocabulary.save(tmp_path / "compiled.safetensors")
    loaded = nlp.load_tokenizer(tmp_path / "compiled.safetensors")
    assert loaded == ours
    assert loaded.encode("To be, or").tolist() == ours.encode("To be, or").tolist()


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("unigram", {"model__unk_id": None}, r"model\.unk_id = null: text that no piece reaches"),
        ("unigram", {"model__vocab": [["a", -1.0], ["a", -2.0]], "added_tokens": []}, r"vocab\[1\] = .*listed twice"),
        ("unigram", {"model__vocab": [["", -1.0]], "added_tokens": []}, r"vocab\[0\] = .*without text"),
        ("unigram", {"model__novel": 1}, r"model\.novel = 1: this field is not known"),
        (
            "unigram",
            {
                "pre_tokenizer": {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": True,
                    "use_regex": True,
                }
            },
            "bytes spelled in GPT-2's alphabet",
        ),
        ("unigram", {"normalizer": {"type": "Novel"}}, "normalizer 'Novel' is not supported"),
        ("unigram", {"decoder": {"type": "CTC"}}, "decoder 'CTC' is not supported"),
        (
            "unigram",
            {"post_processor": {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False}},
            "spans without the spaces",
        ),
        (
            "unigram",
            {"decoder": {"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}},
            "regular expression 'a\\+' is not supported",
        ),
        ("bpe", {"model__dropout": 0.1}, r"model\.dropout = 0\.1: .*pass dropout= to Tokenizer.encode"),
        ("bpe", {"model__byte_fallback": True}, "lacks '<0x00>'"),
        ("bpe", {"model__unk_token": None}, r"model\.unk_token = null: text without a piece has no id"),
    ],
)
def test_what_is_refused_by_name(tmp_path: Path, name: str, changes: dict, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message):
        load_changed(tmp_path, name, **changes)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("unigram", {"model__unk_id": 9999}, r"model\.unk_id: expected an id below"),
        ("unigram", {"model__vocab": [["a"]], "added_tokens": []}, r"vocab\[0\]: expected a piece and its score"),
        ("unigram", {"model__vocab": [["a", 1e99]], "model__unk_id": 0, "added_tokens": []}, "expected a score up to"),
        ("unigram", {"model__vocab": [["\ud83d", 1]], "model__unk_id": 0, "added_tokens": []}, "half of a character"),
        ("unigram", {"model__vocab": [], "added_tokens": []}, "expected 1 to"),
        ("bpe", {"model__unk_token": "[UNK]"}, r"'\[UNK\]' is not in the vocabulary"),
        ("bpe", {"model__merges": ["th q"]}, "add it to the vocabulary"),
    ],
)
def test_files_that_break_the_format(tmp_path: Path, name: str, changes: dict, message: str) -> None:
    with pytest.raises(SourceFormatError, match=message):
        load_changed(tmp_path, name, **changes)


def test_tokens_that_normalization_makes_one_or_nothing() -> None:
    for first, second in (("THE", "The"), ("a", "  ")):
        reference = made("unigram words")
        reference.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Strip()])
        reference.add_tokens([AddedToken(first, normalized=True), AddedToken(second, normalized=True)])
        with pytest.raises(UnsupportedFeatureError, match="looked for in normalized text, where"):
            compiled(reference)


def test_a_piece_of_the_model_that_normalization_changes() -> None:
    reference = made("unigram words")
    reference.add_tokens([AddedToken("A", normalized=True)])
    with pytest.raises(UnsupportedFeatureError, match="'A' is a piece of the model as well, and 'a'"):
        compiled(reference)


def test_a_special_token_whose_normalized_form_is_another() -> None:
    """tokenizers does not take it for a special one when it decodes."""
    reference = made("unigram words")
    reference.add_special_tokens([AddedToken("<S>", normalized=True)])
    ours, theirs = compiled(reference)
    number = ours.special_tokens["<S>"]
    for skip in (False, True):
        assert ours.decode([number], skip_special_tokens=skip) == theirs.decode([number], skip_special_tokens=skip)
    assert ours.decode([number], skip_special_tokens=True) == "<s>"


DECODERS = [
    None,
    decoders.ByteLevel(),
    decoders.BPEDecoder("</w>"),
    decoders.WordPiece("##", cleanup=True),
    decoders.Metaspace("_", prepend_scheme="never"),
    decoders.Sequence([decoders.Strip("a", 2, 0), decoders.Fuse(), decoders.Replace("b", "_")]),
    decoders.Sequence([decoders.ByteFallback(), decoders.WordPiece("", cleanup=False)]),
]


@pytest.mark.parametrize("decoder", DECODERS, ids=str)
def test_decoders(decoder: decoders.Decoder | None) -> None:
    reference = made("bpe bytes fused")
    if decoder is None:
        content = json.loads(reference.to_str())
        content["decoder"] = None
        reference = Tokenizer.from_str(json.dumps(content))
    else:
        reference.decoder = decoder
    reference.add_tokens(["##a</w>", "_x_", "a_a", "do not ?", " n't", "\u0120\u0142"])
    ours, theirs = compiled(reference)
    rng = np.random.default_rng(5)
    rows = [rng.integers(0, ours.vocab_size, rng.integers(0, 8)).tolist() for _ in range(300)]
    assert ours.decode_batch(rows) == theirs.decode_batch(rows, skip_special_tokens=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"type": "BPEDecoder", "suffix": ""}, "empty suffix"),
        (
            {
                "type": "Sequence",
                "decoders": [json.loads(decoders.ByteLevel().__getstate__()), {"type": "ByteFallback"}],
            },
            "behind ByteLevel",
        ),
    ],
)
def test_decoders_that_are_refused(content: dict, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message):
        compile_decoders(read_decoders(Stage("file", "decoder", content)))


def test_the_vocabulary_is_the_same_each_time(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    made("unigram").save(str(path))
    assert vocab_tools.compile(path).digest == vocab_tools.compile(path).digest


@pytest.mark.parametrize(
    ("before", "problem"),
    [
        ([], None),
        # there is an added token in normalized text
        ([{"type": "Prepend", "prepend": "a\x01"}], "leaves characters out, one character becomes several"),
        ([{"type": "Prepend", "prepend": "\x01a"}], "leaves out the first of several characters"),
        (
            [{"type": "Replace", "pattern": {"Regex": "[bc]"}, "content": "\x01a"}],
            "leaves out what a Replace",
        ),
        ([{"type": "NFKD"}], "leaves out the first of several characters"),
        (["itself"], "stands twice"),
    ],
)
def test_first_behind_a_charsmap_that_deletes(tmp_path: Path, before: list[Any], problem: str | None) -> None:
    """What tokenizers puts before the text then depends on places that it shifts."""
    rules = {b"\x01": b"", b"a": b"b", b"f": b"" if before == [{"type": "NFKD"}] else b"f"}
    charsmap = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(encode_charsmap(rules)).decode()}
    stages = [*(charsmap if stage == "itself" else stage for stage in before), charsmap]
    changes = {
        "normalizer": {"type": "Sequence", "normalizers": stages},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True},
    }
    if problem is None:
        load_changed(tmp_path, "unigram", **changes)
        return
    with pytest.raises(UnsupportedFeatureError, match=f'prepend_scheme "first".*Precompiled {problem}'):
        load_changed(tmp_path, "unigram", **changes)
