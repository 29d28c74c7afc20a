"""Entry point of the ``vocab-tools`` command.

typer and rich (extra ``cli``) are imported when the command runs, so that importing this module needs neither.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_MISSING = (
    "error: vocab-tools needs typer and rich, and {} is not installed; install the command-line extra in the "
    "checkout: pip install '.[cli]'"
)


def main() -> None:
    """Run the command on ``sys.argv``; ends the process with its exit code (see :mod:`vocab_tools.commands`)."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.stderr.write(f"{_MISSING.format(error.name)}\n")
        sys.exit(1)
    from vocab_tools.commands import app

    app()


if __name__ == "__main__":
    main()
