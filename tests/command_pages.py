"""What a page about a command must have: a section for each, with all of its arguments and options."""

from __future__ import annotations

import re
from typing import Any

import typer

__all__ = ["commands_of", "missing_words"]


def commands_of(app: Any, group: str) -> dict[str, Any]:
    """Commands by name, those of a group behind its name."""
    found = typer.main.get_command(app)
    commands = {name: command for name, command in found.commands.items() if name != group}
    return commands | {f"{group} {name}": command for name, command in found.commands[group].commands.items()}


def missing_words(text: str, program: str, commands: dict[str, Any]) -> list[str]:
    """What a page leaves out, and what has no word about it."""
    sections = dict(re.findall(rf"^## `{program} ([a-z ]+)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    missing = sorted(set(sections) ^ set(commands))
    for name, command in commands.items():
        if not command.help:
            missing.append(f"{name}: help")
        for parameter in command.params:
            if parameter.name == "help":
                continue
            shown = parameter.metavar if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
            if not parameter.help or f"`{shown}`" not in sections.get(name, ""):
                missing.append(f"{name}: {shown}")
    return missing
