"""Tests of a module over engines: ``pytestmark = pytest.mark.usefixtures("each_engine")``, or "every_engine"."""

from __future__ import annotations

import pytest


def _take(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls that name no engine take this one."""
    engines = pytest.importorskip("numba_nlp.generation.engines", reason="needs torch")
    monkeypatch.setitem(engines.FASTEST, "cpu", name)


@pytest.fixture(params=["auto", "device"])
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches on the host, over Numba's steps where a family has them; and those on the device."""
    _take(request.param, monkeypatch)


@pytest.fixture(params=["auto", "torch", "device"])
def every_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, and the searches on the host over torch's steps."""
    _take(request.param, monkeypatch)
