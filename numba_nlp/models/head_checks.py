"""Whether a checkpoint has the head that is asked for: tensors of another one may have the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp.models.blank import without_memory
from numba_nlp.models.families import Family
from numba_nlp.models.model import Model
from numba_nlp.models.weights import Loader, TensorMap

__all__ = ["absent_head", "other_head"]


def other_head(family: Family, config: Mapping[str, Any], settings: Any, model: Model) -> str | None:
    """What is wrong where the checkpoint has another head, whose tensors have names that this one has too.

    Parameters
    ----------
    family : Family
    config : mapping
        The config.json.
    settings : dataclass
        Of the family.
    model : Model
        With the head that is asked for.

    Returns
    -------
    str or None
    """
    architectures = config.get("architectures")
    named = family.heads.get(str(architectures[0])) if isinstance(architectures, list) and architectures else None
    if named in (None, "none", model.head) or model.head == "none":
        return None
    assert named is not None
    shared = _own_names(family, settings, model) & _names(_build(family, settings, named))
    if not shared:
        return None
    return (
        f"{_no_head(model.head, architectures)}: {', '.join(map(repr, sorted(shared)))} are of its head {named!r}; "
        f"load it with head={named!r}"
    )


def absent_head(family: Family, config: Mapping[str, Any], settings: Any, model: Model, loader: Loader) -> str | None:
    """What is wrong where the checkpoint has nothing of the head; the tensors are listed elsewhere."""
    if model.head == "none" or not loader.missing:
        return None
    own = _own_names(family, settings, model)
    if not own or not own <= set(loader.missing):
        return None
    return _no_head(model.head, config.get("architectures"))


def _no_head(head: str, architectures: Any) -> str:
    names = ", ".join(map(str, architectures)) if isinstance(architectures, list) and architectures else "not named"
    return f"the checkpoint has no {head} head (architectures: {names})"


def _own_names(family: Family, settings: Any, model: Model) -> set[str]:
    """Names of the tensors of the head alone."""
    return _names(model) - _names(_build(family, settings, "none"))


def _build(family: Family, settings: Any, head: str) -> Model:
    with without_memory():
        return family.build(settings, head)


def _names(model: Model) -> set[str]:
    to = TensorMap()
    model.name_tensors(to)
    return {place.names[0] for place in to.places}
