"""Python code in processes of its own, where it may crash, hang or be set up in another way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def run_child(
    code: str, *arguments: object, timeout: float = 240, options: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter that finds this repository.

    Parameters
    ----------
    code : str
        The program.
    *arguments
        Its arguments.
    timeout : float
        Seconds after which it has hung.
    options : tuple of str
        Of the interpreter.
    **environment
        Changes of the environment.
    """
    return subprocess.run(
        [sys.executable, *options, "-c", code, *map(str, arguments)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def output_of(code: str, *arguments: object, **options: object) -> str:
    """What such a program prints; it must end well and say nothing on stderr."""
    done = run_child(code, *arguments, **options)  # type: ignore[arg-type]
    assert (done.returncode, done.stderr) == (0, ""), done.stderr or done.returncode
    return done.stdout
