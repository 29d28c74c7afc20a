"""Entry point of the ``numba-nlp`` command."""

from __future__ import annotations

from numba_nlp._entry_point import run_command

__all__ = ["main"]


def main() -> None:
    """Run the command on ``sys.argv``; ends the process with its exit code (see :mod:`numba_nlp.commands.app`)."""
    run_command("numba-nlp", "numba_nlp.commands.app")


if __name__ == "__main__":
    main()
