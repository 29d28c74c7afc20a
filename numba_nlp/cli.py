"""Entry point of the ``numba-nlp`` command.

typer and rich (extra ``cli``) are imported when the command runs, so that importing this module needs neither.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_MISSING = (
    "error: numba-nlp needs typer and rich, and {} is not installed; install the command-line extra in the "
    "checkout: pip install '.[cli]'"
)


def main() -> None:
    """Run the command on ``sys.argv``; ends the process with its exit code (see :mod:`numba_nlp.commands.app`)."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.stderr.write(f"{_MISSING.format(error.name)}\n")
        sys.exit(1)
    from numba_nlp.commands.app import app

    app()


if __name__ == "__main__":
    main()
