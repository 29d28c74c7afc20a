"""Write the references of the command lines, ``docs/cli.md`` and that in ``docs/command_line.md``, from the commands.

``python -m tools.cli_page`` rewrites the pages; a test sees that they are up to date. What stands above the marker in
``docs/command_line.md`` is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_type_hints

import typer

from numba_nlp.commands.app import app as numba_nlp_app
from tools.files import ROOT
from vocab_tools.commands import app as vocab_tools_app

__all__ = ["COMMAND_LINE_PAGE", "PAGE", "command_line_page", "page"]

PAGE = ROOT / "docs" / "cli.md"
COMMAND_LINE_PAGE = ROOT / "docs" / "command_line.md"
_MARKER = "<!-- From here on written by `python -m tools.cli_page` from the commands themselves. -->\n"
_HEAD = """\
# Command line

`pip install '.[cli]'` in a checkout installs `vocab-tools`; figures need `'.[plot]'` too. This page is written by
`python -m tools.cli_page` from the commands themselves; `vocab-tools COMMAND --help` says the same.

A text file `-` is the standard input; for `train` and `convert` the output `-` is the standard output, and what they
report goes to stderr. Files appear whole or not at all, and a source is never overwritten. Exit codes: 0 done, 1 the
source, the file or the vocabulary is at fault (one line on stderr, and nothing on stdout, with `--json` too), 2 the
command line is, 130 stopped by Ctrl-C (files stay as they were).
"""


def page() -> str:
    """The reference of ``vocab-tools``."""
    return "\n".join([_HEAD, *_sections(vocab_tools_app, "vocab-tools")])


def command_line_page() -> str:
    """The page of ``numba-nlp``: what is there by hand, and the reference."""
    by_hand, marker, _ = COMMAND_LINE_PAGE.read_text(encoding="utf-8").partition(_MARKER)
    if not marker:
        raise ValueError(f"{COMMAND_LINE_PAGE}: the line {_MARKER!r}, behind which the reference stands, is missing")
    return "\n".join([by_hand + marker, *_sections(numba_nlp_app, "numba-nlp")])


def _sections(app: typer.Typer, program: str) -> Iterator[str]:
    for words, command in _commands(typer.main.get_command(app), (program,)):
        yield "\n".join(_section(words, command))


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Commands that do something, in the order in which they are shown, with the words that call them."""
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
        return
    for name in sorted(below):
        yield from _commands(below[name], (*words, name))


def _section(words: tuple[str, ...], command: Any) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    yield f"## `{' '.join(words)}`"
    yield ""
    yield " ".join(command.help.split())
    yield ""
    types = get_type_hints(command.callback)
    shown = [f"[{_name(one)}]" if not one.required else _name(one) for one in arguments]
    needed = [f"{max(one.opts, key=len)} {_value(one, types)}" for one in options if one.required]
    yield f"    {' '.join([*words, *needed, '[OPTIONS]', *shown])}"
    yield ""
    yield "| | |"
    yield "|---|---|"
    for one in arguments:
        yield f"| `{_name(one)}` | {_text(one.help)} |"
    for one in options:
        if "--help" not in one.opts:
            yield f"| {_spelling(one, types)} | {_text(one.help)}{_default(one)} |"
    yield ""


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _spelling(option: Any, types: dict[str, Any]) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len, reverse=True))
    if option.secondary_opts:
        names += f" / `{option.secondary_opts[0]}`"
    value = _value(option, types)
    return f"{names} `{value}`" if value else names


def _value(option: Any, types: dict[str, Any]) -> str:
    """What stands behind an option; told by the function, since versions of typer differ in what they keep."""
    if option.is_flag:
        return ""
    named = str(types[option.name])
    return str(option.metavar or ("N" if "int" in named else "FILE" if "Path" in named else "TEXT"))


def _default(option: Any) -> str:
    """What an option is if it is not given, where that is a value."""
    default = option.default
    if option.required or option.is_flag or default is None or default == "" or callable(default):
        return ""
    if not isinstance(default, (int, str)):
        return ""
    return f" Default: {default}."


def _text(text: str | None) -> str:
    # outside of code a star would begin emphasis
    return " ".join((text or "").split()).replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    COMMAND_LINE_PAGE.write_text(command_line_page(), encoding="utf-8")
