"""Tests and tools find data outside of the repository by the same rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared_data import shared
from tools.files import ROOT, find_file, shared_file, shared_path


def test_one_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data/text").mkdir(parents=True)
    (tmp_path / "data/text/a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    monkeypatch.setenv("NUMBA_NLP_SHARED", str(tmp_path))
    expected = tmp_path / "data/text/a.txt"
    assert shared("text/a.txt") == shared_file("text/a.txt") == find_file(shared="text/a.txt") == expected
    # beside data, nothing is looked for
    assert shared_file("b.txt") is None
    with pytest.raises(pytest.skip.Exception, match=r"b\.txt.*NUMBA_NLP_SHARED names the folder with data/"):
        shared("b.txt")
    with pytest.raises(FileNotFoundError, match="NUMBA_NLP_SHARED names the folder that holds data/"):
        find_file(carried="no such file", shared="b.txt")
    for value in ("", None):
        if value is None:
            monkeypatch.delenv("NUMBA_NLP_SHARED")
        else:
            monkeypatch.setenv("NUMBA_NLP_SHARED", value)
        assert shared_path("x") == ROOT.parent / "shared/data/x"
