"""The reference of the command line is what the commands say, and leaves none out."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")


from tests.command_pages import commands_of, missing_words
from tools.cli_page import PAGE, page
from vocab_tools.commands import app


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.cli_page"


def test_every_command_and_option_is_there_with_a_word_about_it():
    commands = commands_of(app, "plot")
    assert {"compile", "convert", "inspect", "verify", "compare", "prune", "extend", "plot lattice"} <= set(commands)
    assert not missing_words(PAGE.read_text(encoding="utf-8"), "vocab-tools", commands)
