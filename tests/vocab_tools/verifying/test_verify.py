"""What is found in good vocabularies, and in ones that were made wrong."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import vocab_tools
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError, VocabularyFormatError
from numba_nlp.text_rows import TextRows
from numba_nlp.vocabulary import Vocabulary
from tests.vocab_tools.editing.sources import SOURCES, texts
from vocab_tools.commands import app
from vocab_tools.formats.sentencepiece_pb2 import ModelProto

ROWS = [*texts(), "", "naïve café 日本語 \u0378"]


@pytest.mark.parametrize("name", SOURCES)
def test_sources_and_what_they_compile_to_agree_with_their_library(name, tmp_path):
    source = SOURCES[name](tmp_path)
    found = vocab_tools.verify(source.paths, corpus=TextRows.from_strings(ROWS), **source.options)
    assert found.passed
    assert (found.rows, found.differing_rows, found.shown) == (len(ROWS), 0, ())
    path = tmp_path / "compiled.safetensors"
    vocab_tools.compile(source.paths, **source.options).save(path)
    found = vocab_tools.verify(path, corpus=TextRows.from_strings(ROWS))
    assert [(check.name, check.passed) for check in found.checks] == [
        (check, True) for check in ("digests", "source", "library")
    ]


@pytest.mark.parametrize("options", [{}, {"vocabulary_threshold": 2}])
def test_codes_are_compared_by_their_tokens(options, tmp_path):
    codes, frequencies = tmp_path / "codes", tmp_path / "frequencies"
    codes.write_text("#version: 0.2\nt h\nth e</w>\no r</w>\n", encoding="utf-8")
    frequencies.write_text("the 9\nth@@ 3\nt@@ 2\no@@ 5\nr 5\n", encoding="utf-8")
    if options:
        options["vocabulary"] = frequencies
    rows = TextRows.from_strings(["the other, or not", "日本 tether"])
    assert vocab_tools.verify(codes, corpus=rows, **options).passed


def test_rows_that_differ_are_named(tmp_path):
    source = SOURCES["unigram model"](tmp_path)
    made = vocab_tools.compile(source.paths)
    scores = made["piece_scores"].copy()
    scores[scores < 0] = -5.0  # as if every piece were as likely
    Vocabulary({**made.arrays, "piece_scores": scores}, made.metadata).save(tmp_path / "wrong.safetensors")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"{row}\n" for row in ROWS if "\n" not in row), encoding="utf-8")
    found = vocab_tools.verify(tmp_path / "wrong.safetensors", corpus=corpus, show=2)
    assert [check.passed for check in found.checks] == [True, False, False]
    assert "piece_scores" in found.checks[1].detail
    assert len(found.shown) == 2 <= found.differing_rows < found.rows
    right = source.encoder(source.paths, {})
    for row in found.shown:
        assert corpus.read_text(encoding="utf-8").split("\n")[row.row] == row.text
        assert list(row.library) == right(row.text) != list(row.ours)
    result = CliRunner().invoke(app, ["verify", str(tmp_path / "wrong.safetensors"), "--corpus", str(corpus), "--json"])
    assert result.exit_code == 1
    content = json.loads(result.stdout)
    assert (content["passed"], content["differing_rows"]) == (False, found.differing_rows)


def test_a_damaged_file_fails_its_digest(tmp_path):
    source = SOURCES["words"](tmp_path)
    path = tmp_path / "compiled.safetensors"
    vocab_tools.compile(source.paths).save(path)
    good = CliRunner().invoke(app, ["verify", str(path)])
    assert (good.exit_code, good.stdout.count("passed: ")) == (0, 2)
    content = bytearray(path.read_bytes())
    content[content.index(b"##")] ^= 1
    path.write_bytes(content)
    bad = CliRunner().invoke(app, ["verify", str(path)])
    assert bad.exit_code == 1
    assert "FAILED: digests" in bad.stdout


@pytest.mark.parametrize("right", [True, False])
def test_samples_of_a_model(right, tmp_path):
    source = SOURCES["bpe model"](tmp_path)
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(source.paths)).encode("To be or not", out_type=str)
    model = ModelProto.FromString(source.paths.read_bytes())
    sample = model.self_test_data.samples.add()
    sample.input, sample.expected = b"To be or not", " ".join(pieces if right else pieces[::-1]).encode()
    source.paths.write_bytes(model.SerializeToString())
    found = vocab_tools.verify(source.paths)
    assert [(check.name, check.passed) for check in found.checks] == [("samples", right)]


def test_an_empty_corpus_compares_nothing(tmp_path):
    words = tmp_path / "vocab.txt"
    words.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", encoding="utf-8")
    (tmp_path / "empty.txt").touch()
    with pytest.raises(SourceFormatError, match="the corpus has no rows"):
        vocab_tools.verify(words, corpus=tmp_path / "empty.txt")


def test_what_cannot_be_compared(tmp_path, monkeypatch):
    source = SOURCES["words"](tmp_path)
    rows = TextRows.from_strings(["a"])
    vocab_tools.compile(source.paths, keep_source=False).save(tmp_path / "bare.safetensors")
    assert vocab_tools.verify(tmp_path / "bare.safetensors").passed
    with pytest.raises(VocabularyFormatError, match="does not keep the files"):
        vocab_tools.verify(tmp_path / "bare.safetensors", corpus=rows)
    codes = tmp_path / "codes"
    codes.write_text("t h 9\nth e</w> 8\n", encoding="utf-8")
    with pytest.raises(UnsupportedFeatureError, match="'fastbpe' has no library"):
        vocab_tools.verify(codes, corpus=rows)
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(UnsupportedFeatureError, match="pip install tokenizers"):
        vocab_tools.verify(source.paths, corpus=rows)
