"""The commands write whole SVG and PNG files, in which the tokens stand."""

from __future__ import annotations

import sys
import warnings
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from typer.testing import CliRunner

from tests.families import sentencepiece_model
from tests.vocab_tools.sources import tokenizer_file, vocabulary, write_json
from vocab_tools.commands import app


def run(*arguments):
    result = CliRunner().invoke(app, ["plot", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def texts_of(path):
    """Text elements of an SVG, which must be one."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture
def bpe(tmp_path):
    merges = ["h e", "l l", "he ll", "hell o", "$ $"]
    pieces = [merge.replace(" ", "") for merge in merges]
    return write_json(tmp_path / "toy.json", tokenizer_file(vocabulary(*pieces), merges))


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("hello he\nhell $$\n", encoding="utf-8")
    return path


def test_the_trie_of_the_article(tmp_path):
    run("trie", "cat", "carp", "car", "carpooling", "-o", tmp_path / "trie.svg", "--title", "a $ b $")
    texts = texts_of(tmp_path / "trie.svg")
    for text in ("carpooling", "carp", "car", "cat", "a $ b $"):
        assert text in texts
    assert [text for text in texts if len(text) == 1] == list("·carpoolingt")


def test_merges(bpe, tmp_path):
    run("merges", bpe, "hello$$", "-o", tmp_path / "merges.svg")
    texts = texts_of(tmp_path / "merges.svg")
    for text in ("hello", "hell", "he", "ll", "h", "e", "l", "o", "$$", "$"):
        assert text in texts
    assert sorted(text for text in texts if text.isdigit()) == ["1", "2", "3", "4", "5"]


def test_merges_as_a_table(bpe, tmp_path):
    run("merges", bpe, "hello", "--steps", "-o", tmp_path / "steps.svg")
    texts = texts_of(tmp_path / "steps.svg")
    assert [text for text in texts if "+" in text] == ["1.  h + e", "2.  l + l", "3.  he + ll", "4.  hell + o"]
    assert texts.count("hello") == 1


def test_the_lattice(tmp_path):
    path = tmp_path / "made.model"
    path.write_bytes(sentencepiece_model("unigram"))
    run("lattice", path, "to be", "-o", tmp_path / "lattice.svg")
    texts = texts_of(tmp_path / "lattice.svg")
    assert [text for text in texts if len(text) == 1] == list("▁to▁be")
    for piece in ("▁to", "▁be", "t"):
        assert any(text.startswith(f"{piece} ") for text in texts)


def test_lengths(bpe, tmp_path):
    run("lengths", bpe, "-o", tmp_path / "lengths.svg", "--unit", "byte", "--title", "toy")
    assert {"length in bytes", "pieces", "toy"} <= set(texts_of(tmp_path / "lengths.svg"))


def test_frequencies(bpe, corpus, tmp_path):
    run("frequencies", bpe, "--corpus", corpus, "-o", tmp_path / "frequencies.svg")
    assert {"rank of the token", "occurrences"} <= set(texts_of(tmp_path / "frequencies.svg"))


def test_fertility(bpe, corpus, tmp_path):
    # hello | Ġ he / hell | Ġ $$: six tokens of four words and fifteen bytes
    run("fertility", bpe, "--corpus", f"one={corpus}", "--corpus", corpus, "-o", tmp_path / "fertility.svg")
    texts = texts_of(tmp_path / "fertility.svg")
    assert {"one", "corpus", "toy", "tokens per word"} <= set(texts)
    assert texts.count("1.500") == 2
    run("fertility", bpe, "--corpus", corpus, "--per", "byte", "-o", tmp_path / "fertility.svg")
    assert "0.400" in texts_of(tmp_path / "fertility.svg")


def test_equal_figures_are_equal_files_and_png_is_png(tmp_path):
    for name in ("a.svg", "b.svg", "a.png"):
        run("trie", "cat", "car", "-o", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    content = (tmp_path / "a.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.rstrip().endswith(b"IEND\xaeB`\x82")


def test_figures_that_are_too_large(tmp_path):
    path = tmp_path / "made.model"
    path.write_bytes(sentencepiece_model("unigram"))
    for arguments in (
        ("lattice", path, "to be " * 500),
        ("trie", "a" * 600),
        ("trie", *(chr(0x4E00 + number) for number in range(600))),
    ):
        result = CliRunner().invoke(app, ["plot", *map(str, arguments), "-o", str(tmp_path / "large.svg")])
        assert result.exit_code == 1
        assert "and may have 400 on a side and 4,000 square inches; draw a shorter text" in result.stderr
        assert not (tmp_path / "large.svg").exists()


def test_characters_without_a_glyph_are_said_in_one_line_where_they_are_lost(tmp_path):
    # warnings are errors in tests, as the command runs they are not
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run("trie", "中文", "a", "-o", tmp_path / "trie.svg").stderr == ""
        assert {"中", "文"} <= set(texts_of(tmp_path / "trie.svg"))
        shown = run("trie", "中文", "a", "-o", tmp_path / "trie.png").stderr
    assert shown == (
        f"warning: {tmp_path / 'trie.png'}: the font DejaVu Sans does not have 2 of the characters (中文), which are "
        "boxes; an .svg keeps them as text\n"
    )


def test_what_is_refused(bpe, corpus, tmp_path, monkeypatch):
    for arguments in (
        ["trie", "", "-o", "x.svg"],
        ["trie", "-o", "x.svg"],
        ["lengths", str(bpe), "-o", "x.svg", "--unit", "word"],
        ["fertility", str(bpe), "-o", "x.svg", "--corpus", str(corpus), "--per", "line"],
        ["fertility", str(bpe), "-o", "x.svg", "--corpus", str(corpus), "--corpus", str(corpus)],
        ["frequencies", str(bpe), "-o", str(corpus), "--corpus", str(corpus)],
    ):
        assert CliRunner().invoke(app, ["plot", *arguments]).exit_code == 2, arguments
    result = CliRunner().invoke(app, ["plot", "trie", "cat", "-o", str(tmp_path / "x.pdf")])
    assert result.exit_code == 2
    assert "a figure is written as .svg or .png" in " ".join(result.stderr.split())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = CliRunner().invoke(app, ["plot", "trie", "cat", "-o", str(tmp_path / "x.svg")])
    assert result.exit_code == 1
    assert "pip install 'numba_nlp[plot]'" in result.stderr
    assert not (tmp_path / "x.svg").exists()
