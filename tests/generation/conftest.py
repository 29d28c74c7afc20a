"""Tests of a module over all engines: ``pytestmark = pytest.mark.usefixtures("each_engine")``."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["torch", "device"])
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Lets calls that name no engine take this one."""
    engines = pytest.importorskip("numba_nlp.generation.engines", reason="needs torch")
    monkeypatch.setitem(engines.FASTEST, "cpu", request.param)
    return str(request.param)
