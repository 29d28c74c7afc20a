"""Which labels of a classifier that was trained on natural language inference say "it follows" and "it does not"."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba_nlp._arguments import shown
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError

__all__ = ["Entailment", "find_entailment"]


class Entailment(NamedTuple):
    """Numbers of labels.

    Parameters
    ----------
    entailment : int
        The premise entails the hypothesis.
    contradiction : int or None
        It excludes it; None where the names do not say which label that is.
    """

    entailment: int
    contradiction: int | None


def find_entailment(model: Any) -> Entailment:
    """The two labels, by their names in ``label2id`` of the config, or else ``id2label``.

    The first one whose name begins with "entail", whatever its case, as in transformers. Of two labels the other one
    contradicts, of more the one whose name begins with "contradict" or "not"; transformers takes the first label for
    it, or the last one where the first is entailment, whatever these are called.

    Parameters
    ----------
    model : Model

    Raises
    ------
    SourceFormatError
        ``label2id`` does not map names to numbers of labels.
    UnsupportedFeatureError
        No name begins with "entail".
    """
    names = _names(model)
    found = [number for name, number in names.items() if name.lower().startswith("entail")]
    if not found:
        raise UnsupportedFeatureError(
            "task 'classify_zero_shot' needs a classifier with a label whose name begins with 'entail'; config.json "
            f"names {', '.join(map(repr, names))}. If this model was trained on natural language inference, name its "
            "labels in `id2label` and `label2id`"
        )
    others = {name: number for name, number in names.items() if number != found[0]}
    if len(model.labels) == 2:
        return Entailment(found[0], 1 - found[0])
    against = [number for name, number in others.items() if name.lower().startswith(("contradict", "not"))]
    return Entailment(found[0], against[0] if len(against) == 1 else None)


def _names(model: Any) -> dict[str, int]:
    """Names of labels and their numbers."""
    count = len(model.labels)
    given = model.config.get("label2id")
    if given is None:
        return {name: number for number, name in enumerate(model.labels)}
    is_right = isinstance(given, dict) and all(
        isinstance(name, str) and isinstance(number, int) and not isinstance(number, bool) and 0 <= number < count
        for name, number in given.items()
    )
    if not is_right:
        raise SourceFormatError(
            f"config.json: `label2id` must map names to numbers of labels, from 0 to {count - 1}, got {shown(given)}"
        )
    return dict(given)
