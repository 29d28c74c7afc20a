"""The reference of the command line is what the commands say, and leaves none out."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("typer")

import typer

from tools.cli_page import PAGE, page
from vocab_tools.commands import app


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.cli_page"


def test_every_command_and_option_is_there_with_a_word_about_it():
    text = PAGE.read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    commands = {name: command for name, command in group.commands.items() if name != "plot"}
    commands |= {f"plot {name}": command for name, command in group.commands["plot"].commands.items()}
    sections = dict(re.findall(r"^## `vocab-tools ([a-z ]+)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == set(commands)
    assert {"compile", "convert", "inspect", "verify", "compare", "prune", "extend", "plot lattice"} <= set(commands)
    for name, command in commands.items():
        assert command.help, name
        for parameter in command.params:
            if parameter.name == "help":
                continue
            assert parameter.help, (name, parameter.name)
            shown = parameter.metavar if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
            assert f"`{shown}`" in sections[name], (name, shown)
