"""The sub-commands ``numba-nlp cache``; they need typer (extra ``cli``)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Annotated

import typer

from numba_nlp._command_line import Command, console, errors_in_one_line
from numba_nlp.commands import options
from numba_nlp.errors import NumbaNlpError

__all__ = ["cache_app"]

cache_app = typer.Typer(
    name="cache", help="Show and clear the folder of compiled kernels.", no_args_is_help=True, rich_markup_mode=None
)
#: Folders of compiled code are named so; nothing else is ever touched.
_DIGEST = re.compile(r"[0-9a-f]{20}")


def _root() -> Path:
    """The folder that holds one folder for each version of compiled code.

    Raises
    ------
    NumbaNlpError
        There is none.
    """
    from numba_nlp import _jit

    folder = _jit.cache_folder()
    if folder is None:
        raise NumbaNlpError(
            "compiled kernels are not cached here: NUMBA_NLP_CACHE=0, NUMBA_OPT=0 or NUMBA_DISABLE_JIT is set, or no "
            "folder can be written (NUMBA_NLP_CACHE_DIR names one)"
        )
    return folder.parent


def _digest() -> str:
    """Names the code of this version on this machine; digests the kernels' sources, which takes a moment."""
    from numba_nlp import _jit

    return _jit.DIGEST


def _folders(root: Path) -> list[tuple[Path, int, int]]:
    """Each folder of compiled code with its files and bytes, the one in use first, the others by name."""
    found = []
    in_use = _digest()
    for folder in root.iterdir():
        if _DIGEST.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            sizes = [size for path in folder.rglob("*") if (size := _size(path)) is not None]
            found.append((folder, len(sizes), sum(sizes)))
    return sorted(found, key=lambda entry: (entry[0].name != in_use, entry[0].name))


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except FileNotFoundError:  # another process has just removed or renamed it
        return None


@cache_app.command("show", cls=Command)
def show_command(as_json: options.AsJson = False) -> None:
    """Show where compiled kernels are kept, and how much room each version of them takes."""
    with errors_in_one_line():
        root = _root()
        folders = _folders(root)
    if as_json:
        listed = [
            {"digest": folder.name, "in_use": folder.name == _digest(), "files": files, "bytes": size}
            for folder, files, size in folders
        ]
        typer.echo(json.dumps({"folder": str(root), "versions": listed}, ensure_ascii=False))
        return
    from rich.table import Table

    typer.echo(str(root))
    table = Table()
    table.add_column("version")
    table.add_column("files", justify="right")
    table.add_column("MB", justify="right")
    table.add_column("")
    for folder, files, size in folders:
        used = "in use" if folder.name == _digest() else "of another version, processor or setting"
        table.add_row(folder.name, f"{files:,}", f"{size / 1e6:,.1f}", used)
    console().print(table)


@cache_app.command("clear", cls=Command)
def clear_command(
    everything: Annotated[
        bool, typer.Option("--all", help="Remove the code of this version too; it is compiled anew when needed.")
    ] = False,
) -> None:
    """Remove compiled kernels of other versions, processors and settings."""
    with errors_in_one_line():
        removed = [entry for entry in _folders(_root()) if everything or entry[0].name != _digest()]
        for folder, _, _ in removed:
            shutil.rmtree(folder)
        size = sum(entry[2] for entry in removed)
    typer.echo(f"removed {len(removed)} versions, {size / 1e6:,.1f} MB")
