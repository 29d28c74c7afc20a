"""Runs the Python blocks of a Markdown file as one program, and checks the results that the text states.

A line that ends in ``# -> text`` states that the expression on it has the representation ``text``.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_STATED = re.compile(r"#\s*->\s*(.+?)\s*$")


def python_blocks(text: str) -> list[tuple[int, str]]:
    """All Python blocks with the number of the line that each starts on, counted from 0."""
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in _BLOCK.finditer(text)]


def run_snippets(path: Path) -> int:
    """Run the blocks of one file in one namespace.

    Parameters
    ----------
    path : Path
        A Markdown file; tracebacks show its name and line numbers.

    Returns
    -------
    int
        How many stated results were checked.
    """
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    checked = 0
    for first_line, block in python_blocks(text):
        tree = ast.parse("\n" * first_line + block, filename=str(path))
        for statement in tree.body:
            stated = _STATED.search(lines[statement.end_lineno - 1]) if statement.end_lineno else None
            if stated is None:
                exec(compile(ast.Module([statement], []), str(path), "exec"), namespace)
                continue
            place = f"{path.name}:{statement.lineno}"
            assert isinstance(statement, ast.Expr), f"{place}: only an expression can state a result"
            value = eval(compile(ast.Expression(statement.value), str(path), "eval"), namespace)
            assert repr(value) == stated[1], f"{place}: got {value!r}, the text says {stated[1]}"
            checked += 1
    return checked
