"""The commands prune and extend: what they write, say and refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

import vocab_tools
from tests.vocab_tools.editing.sources import SOURCES
from vocab_tools.commands import app


def run(*arguments, given=None):
    return CliRunner().invoke(app, list(map(str, arguments)), input=given)


def test_prune(tmp_path):
    source = SOURCES["words"](tmp_path).paths
    output, mapping = tmp_path / "new.vocab.txt", tmp_path / "ids.npy"
    result = run("prune", source, "-o", output, "--size", "300", "--map", mapping)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"400 ids -> 300: {output}\n"
    expected = vocab_tools.prune(source, tmp_path / "other.vocab.txt", size=300)
    assert (np.load(mapping) == expected.new_ids).all()
    assert output.read_bytes() == expected.paths[0].read_bytes()
    again = run("prune", source, "-o", output, "--corpus", "-", "--json", given="To be, or not to be\n")
    content = json.loads(again.stdout)
    assert content["paths"] == [str(output)]
    assert content["ids_before"] == 400 > content["ids"] == len(output.read_text(encoding="utf-8").splitlines())


def test_ranks_need_options_and_say_those_of_the_new_file(tmp_path):
    source = SOURCES["ranks"](tmp_path)
    options = [f"--option={name}={json.dumps(value)}" for name, value in source.options.items()]
    result = run("prune", source.paths, "-o", tmp_path / "new.tiktoken", "--size", "300", *options)
    assert result.exit_code == 0, result.output
    assert """read it with: --option pattern=gpt2 --option 'special_tokens={"<|end|>": 299}'""" in result.stdout


def test_extend(tmp_path):
    source = SOURCES["unigram model"](tmp_path).paths
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("<a>\n\n<b>\n", encoding="utf-8")
    result = run("extend", source, "-o", tmp_path / "new.model", "--tokens", tokens, "--token", "<c>")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.split("\n")[1:4] == ["700\t<c>", "701\t<a>", "702\t<b>"]
    content = json.loads(
        run(
            "extend", source, "-o", tmp_path / "new.model", "--tokens", "-", "--special", "--json", given="<d>\n"
        ).stdout
    )
    assert content["ids"] == {"<d>": 700}
    assert content["notes"] == ["the text '<d>' alone does not give its token (id 700)"]


def test_names_streams_and_maps_are_checked_before_anything_is_written(tmp_path):
    words = tmp_path / "vocab.txt"
    words.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nab\n", encoding="utf-8")

    def refused(*arguments, code, message, stdin=None):
        result = CliRunner().invoke(app, list(map(str, arguments)), input=stdin)
        assert result.exit_code == code, result.output
        assert message in " ".join(result.stderr.split())
        assert sorted(path.name for path in tmp_path.iterdir()) == ["vocab.txt"]

    prune = ("prune", words, "--size", 7, "-o")
    refused(*prune, tmp_path / "q.json", code=1, message="by its name it is a tokenizer.json")
    refused(*prune, "-", code=2, message="it goes into a file")
    refused(*prune, tmp_path / "q.txt", "--map", tmp_path / "no" / "m.npy", code=1, message="no such folder")
    extend = ("extend", words, "-o", tmp_path / "more.vocab.txt", "--tokens", "-")
    refused(*extend, code=1, message="standard input: the bytes from offset 2 on are not UTF-8", stdin=b"x1\xff\n")


def test_what_is_refused(tmp_path):
    source = SOURCES["words"](tmp_path).paths
    before = source.read_bytes()
    for arguments in (
        ["prune", source, "-o", tmp_path / "x"],
        ["prune", source, "--size", "300"],
        ["prune", source, "-o", source, "--size", "300"],
        ["prune", source, "-o", tmp_path / "x", "--size", "0"],
        ["extend", source, "-o", tmp_path / "x"],
        ["extend", source, "-o", source, "--token", "a"],
        ["extend", source, "-o", tmp_path / "x", "--token", "a", "--option", "wrong"],
    ):
        assert run(*arguments).exit_code == 2, arguments
    for arguments in (
        ["prune", source, "-o", tmp_path / "x", "--size", "1"],
        ["prune", source, "-o", tmp_path / "x", "--size", "300", "--map", tmp_path / "map.csv"],
        ["extend", source, "-o", tmp_path / "x", "--token", "[SEP]"],
        ["extend", source, "-o", tmp_path / "no" / "x", "--token", "newer"],
    ):
        result = run(*arguments)
        assert result.exit_code == 1, arguments
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
    assert source.read_bytes() == before
    assert not (tmp_path / "x").exists()
