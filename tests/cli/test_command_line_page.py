"""The page of ``numba-nlp`` says what the commands say, leaves none out, and its recipe works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
from typer.testing import CliRunner

from numba_nlp.commands.app import app
from tests.command_pages import commands_of, missing_words
from tools.cli_page import COMMAND_LINE_PAGE, command_line_page
from vocab_tools.commands import app as vocab_tools_app

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_page_is_up_to_date():
    assert COMMAND_LINE_PAGE.read_text(encoding="utf-8") == command_line_page(), "run: python -m tools.cli_page"


def test_every_command_and_option_is_there_with_a_word_about_it():
    commands = commands_of(app, "cache")
    assert {"encode", "decode", "count", "info", "warmup", "translate", "answer", "cache clear"} <= set(commands)
    assert not missing_words(COMMAND_LINE_PAGE.read_text(encoding="utf-8"), "numba-nlp", commands)


def test_the_recipe_of_the_first_parquet_file(tmp_path, monkeypatch):
    """The commands of the page, as they stand there, but for those that install."""
    text = COMMAND_LINE_PAGE.read_text(encoding="utf-8")
    recipe = text.split("## A first encoded Parquet file")[1].split("\n## ")[0]
    commands = [shlex.split(line) for line in re.findall(r"^    (?:vocab-tools|numba-nlp) .*$", recipe, re.MULTILINE)]
    assert [words[:2] for words in commands] == [
        ["vocab-tools", "compile"],
        ["numba-nlp", "encode"],
        ["numba-nlp", "decode"],
    ]
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    for program, *arguments in commands:
        result = CliRunner().invoke(app if program == "numba-nlp" else vocab_tools_app, arguments)
        assert result.exit_code == 0, result.output
    assert pq.read_table("hamlet.parquet").schema.names == ["ids", "starts", "ends"]
    play = (REPOSITORY / "examples" / "data" / "hamlet_gut.txt").read_bytes()
    assert Path("hamlet.txt").read_bytes().rstrip(b"\n") == play.replace(b"\r\n", b"\n").rstrip(b"\n")
