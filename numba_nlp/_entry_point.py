"""What the commands of the package begin with: their libraries, or a word about these."""

from __future__ import annotations

import importlib
import sys

__all__ = ["run_command"]


def run_command(name: str, module: str) -> None:
    """Run a command on ``sys.argv``; ends the process with its exit code.

    typer and rich (extra ``cli``) are imported when the command runs, so that importing its entry point needs neither.

    Parameters
    ----------
    name : str
        Of the command.
    module : str
        Whose ``app`` it is.
    """
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.stderr.write(
            f"error: {name} needs typer and rich, and {error.name} is not installed; install the command-line extra in "
            "the checkout: pip install '.[cli]'\n"
        )
        sys.exit(1)
    importlib.import_module(module).app()
