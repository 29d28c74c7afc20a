"""What commands say when they fail."""

from __future__ import annotations


def one_error(result):
    """The message of a command that failed: one line, and nothing else was printed."""
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr
