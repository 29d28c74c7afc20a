"""The register of families is complete and says what there is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.models import families, supported_families  # noqa: E402
from numba_nlp.models.blank import without_memory  # noqa: E402
from numba_nlp.models.settings import ConfigReader  # noqa: E402
from numba_nlp.models.weights import TensorMap  # noqa: E402

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


@pytest.mark.parametrize("name", supported_families())
def test_every_parameter_has_a_name(name: str) -> None:
    """A parameter that ``name_tensors`` forgets would keep whatever the memory held."""
    family = families.family_of({"model_type": name}, "config.json")
    for head in set(family.heads.values()):
        with without_memory():
            model = family.build(family.read_settings(ConfigReader({"model_type": name}, "config.json")), head)
        to = TensorMap()
        model.name_tensors(to)
        named: Counter[int] = Counter()
        for place in to.places:
            whole = place.destination if place.destination._base is None else place.destination._base
            named[id(whole)] += place.destination.numel()
        for parameter_name, parameter in model.named_parameters():
            assert named[id(parameter)] == parameter.numel(), (head, parameter_name)
        names = [each for place in to.places for each in place.names]
        assert len(set(names)) == len(names)
