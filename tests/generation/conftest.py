"""Tests over engines: ``pytest.mark.usefixtures("each_engine")``."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["auto", "device"])
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets calls that name no engine take the searches on the host, then those on the device."""
    engines = pytest.importorskip("numba_nlp.generation.engines", reason="needs torch")
    monkeypatch.setitem(engines.FASTEST, "cpu", request.param)
