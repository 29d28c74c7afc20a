"""The register of families is complete and says what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.models import families, supported_families

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


@pytest.mark.parametrize("name", supported_families())
def test_a_family_describes_itself(name: str) -> None:
    family = families.family_of({"model_type": name}, "config.json")
    assert family.name == name
    assert family.heads
    assert set(family.heads.values()) <= set(families.HEADS)


@pytest.mark.parametrize("name", supported_families())
def test_the_page_lists_its_classes(name: str) -> None:
    """docs/models.md has a row for each family, with each class that is taken."""
    (row,) = re.findall(rf"^\| `{re.escape(name)}` \|.*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    listed = set(re.findall(r"\b[A-Z]\w*(?:Model|For\w+)\b", row))
    assert listed == set(families.family_of({"model_type": name}, "config.json").heads)
