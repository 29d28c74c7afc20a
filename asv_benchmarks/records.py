"""Files of what was measured, case by case: all of them on one machine, with the same versions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .machine import machine

__all__ = ["open_record", "stamp"]


def open_record(path: Path, packages: Iterable[str]) -> dict[str, Any]:
    """What a file holds, or a new record without cases.

    Raises
    ------
    ValueError
        The file was made on another machine, or with other versions.
    """
    here = {key: value for key, value in machine().items() if key != "load"}
    made: dict[str, Any] = {"machine": here, "versions": {package: version(package) for package in packages}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else made | {"cases": []}
    for what, value in made.items():
        if found[what] != value:
            raise ValueError(f"{path} has {what} {found[what]}, here it is {value}; record into another file")
    return found


def stamp() -> dict[str, Any]:
    """When, and beside how much else, a case was measured."""
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "load": round(os.getloadavg()[0], 2),
    }
