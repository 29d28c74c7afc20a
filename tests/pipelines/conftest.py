"""Checkpoints that several modules of tests use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``folders(name, **settings)``: the folder of a tiny checkpoint, written once."""
    pytest.importorskip("torch", reason="needs torch")
    from tests.pipelines.text_folders import write_checkpoint

    made: dict[str, Path] = {}

    def folder(name: str, **settings: Any) -> Path:
        key = f"{name} {settings}"
        if key not in made:
            made[key] = write_checkpoint(name, tmp_path_factory.mktemp(name), **settings)
        return made[key]

    return folder
