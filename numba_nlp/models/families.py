"""Which module has the models of a ``model_type``, and what each family says of itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError

if TYPE_CHECKING:
    from numba_nlp.models.model import Model
    from numba_nlp.models.settings import ConfigReader

__all__ = ["HEADS", "Family", "class_of", "family_of", "head_of", "label_names", "supported_families"]

#: What can stand on a model; the same words for every family.
HEADS = (
    "none",
    "language_model",
    "masked_lm",
    "sequence_classification",
    "token_classification",
    "question_answering",
    "conditional_generation",
    "discriminator",
)

#: ``model_type`` of config.json -> module below numba_nlp.models, whose FAMILY describes it.
_MODULES = {
    # encoders
    "bert": "bert",
    "camembert": "roberta",
    "distilbert": "distilbert",
    "electra": "electra",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    # decoders
    "gpt2": "gpt2",
    "openai-gpt": "gpt",
    "xlnet": "xlnet",
    # encoders with decoders
    "bart": "bart",
    "m2m_100": "m2m100",
    "marian": "marian",
    "mbart": "mbart",
    "pegasus": "pegasus",
    "t5": "t5",
}


@dataclass(frozen=True)
class Family:
    """What a family says of itself.

    Attributes
    ----------
    name : str
        The ``model_type``.
    heads : dict of str to str
        Name of the class in transformers (``architectures`` of config.json) -> head.
    read_settings : callable
        Reads the family's frozen dataclass of settings from a ``ConfigReader``.
    build : callable
        ``(settings, head) -> Model``.
    """

    name: str
    heads: Mapping[str, str] = field(repr=False)
    read_settings: Callable[[ConfigReader], Any] = field(repr=False)
    build: Callable[[Any, str], Model] = field(repr=False)

    @property
    def known_heads(self) -> tuple[str, ...]:
        """The heads, each once."""
        return tuple(dict.fromkeys(self.heads.values()))


def supported_families() -> tuple[str, ...]:
    """Values of ``model_type`` that :func:`load_model` takes, sorted."""
    return tuple(sorted(_MODULES))


def family_of(config: Mapping[str, Any], place: str) -> Family:
    """The family of a checkpoint.

    Parameters
    ----------
    config : mapping
        Its config.json.
    place : str
        How errors call that file.

    Raises
    ------
    SourceFormatError
        It has no ``model_type``.
    UnsupportedFeatureError
        There is no such family here.
    """
    name = config.get("model_type")
    if not isinstance(name, str):
        raise SourceFormatError(f"{place}: `model_type` must be a string that names the family, got {name!r}")
    if name not in _MODULES:
        raise UnsupportedFeatureError(
            f"{place}: models of the family {name!r} are not supported; those of {', '.join(supported_families())} are"
        )
    families: Mapping[str, Family] = importlib.import_module(f"numba_nlp.models.{_MODULES[name]}").FAMILIES
    return families[name]


def head_of(family: Family, config: Mapping[str, Any], place: str, asked: str | None) -> str:
    """The head to build: the one that is asked for, else the one that config.json names.

    Raises
    ------
    ValueError
        There is no such head.
    SourceFormatError
        config.json names none.
    UnsupportedFeatureError
        The family has no such head here, or its class is unknown.
    """
    known = family.known_heads
    if asked is not None:
        if asked not in HEADS:
            raise ValueError(f"head= must be one of {', '.join(map(repr, HEADS))}, got {asked!r}")
        if asked not in known:
            raise UnsupportedFeatureError(
                f"{place}: the family {family.name!r} has no head {asked!r}; it has {', '.join(map(repr, known))}"
            )
        return asked
    architectures = config.get("architectures")
    if not isinstance(architectures, list) or not architectures or not isinstance(architectures[0], str):
        raise SourceFormatError(
            f"{place}: `architectures` must be a list that names the model's class, got {architectures!r}; say which "
            f"head to build: head={' or '.join(map(repr, known))}"
        )
    if architectures[0] not in family.heads:
        raise UnsupportedFeatureError(
            f"{place}: the class {architectures[0]!r} of `architectures` is not supported; those of the family "
            f"{family.name!r} are {', '.join(family.heads)}; head= says which head to build of another class"
        )
    return family.heads[architectures[0]]


#: Classes with two heads, of which one is read, and one by an old name, end so.
_WIDER = ("ForPreTraining", "DoubleHeadsModel", "WithLMHeadModel")


def class_of(family: Family, config: Mapping[str, Any], head: str) -> str:
    """Name of the class in transformers that holds a model and nothing else, for ``architectures``.

    Parameters
    ----------
    family : Family
    config : mapping
        The config.json of the model.
    head : str
        That of the model.

    Returns
    -------
    str
        The class that config.json names if it has the head, else the first of the family that has.
    """
    named = (config.get("architectures") or [""])[0]
    if family.heads.get(named) == head and not str(named).endswith(_WIDER):
        return str(named)
    return next(name for name, its in family.heads.items() if its == head)


def label_names(names: tuple[str, ...] | None, head: str, count: int) -> tuple[str, ...] | None:
    """Names of labels; where config.json has none, those of transformers, for classifiers."""
    if names is None and head in ("sequence_classification", "token_classification"):
        return tuple(f"LABEL_{i}" for i in range(count))
    return names
