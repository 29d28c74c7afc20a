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

__all__ = ["open_record", "stamp", "write_results"]


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


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write the results of the report: an entry a line, seconds to a billionth."""
    parts = []
    for name, value in results.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines = ",\n  ".join(json.dumps(_rounded(entry)) for entry in value)
            parts.append(f'"{name}": [\n  {lines}\n ]')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value
