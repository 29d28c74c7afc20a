"""Entry point of the ``vocab-tools`` command."""

from __future__ import annotations

from numba_nlp._entry_point import run_command

__all__ = ["main"]


def main() -> None:
    """Run the command on ``sys.argv``; ends the process with its exit code (see :mod:`vocab_tools.commands`)."""
    run_command("vocab-tools", "vocab_tools.commands")


if __name__ == "__main__":
    main()
