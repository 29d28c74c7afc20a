"""Form of the metadata about model inputs: optional, but right where it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp._schemas.fields import Arrays, fail

__all__ = ["check_model_inputs"]

_SIDES = ("right", "left")
#: Rules by which special tokens are looked for.
_SEARCHES = ("tokenizers", "transformers")
_MOST = 2**31


def check_model_inputs(file: str, arrays: Arrays, metadata: Mapping[str, Any], n_ids: int) -> None:
    """Check the entries that :class:`numba_nlp._input_settings.InputSettings` reads.

    Parameters
    ----------
    file : str
        Named in errors.
    arrays : mapping of str to ndarray
        ``template_single`` must be what the template for one text says.
    metadata : mapping
        JSON values.
    n_ids : int
        Number of ids of the vocabulary.

    Raises
    ------
    VocabularyFormatError
        An entry has the wrong form.
    """
    if "templates" in metadata:
        templates = metadata["templates"]
        if not isinstance(templates, dict) or set(templates) != {"single", "pair"}:
            fail(file, "metadata `templates` is not an object of `single` and `pair`")
        single = _check_template(file, "single", templates["single"], ["A"], n_ids)
        _check_template(file, "pair", templates["pair"], ["A", "B"], n_ids)
        ids = [-1 if part == "A" else part for part in single]
        stored = arrays["template_single"].tolist() or [-1]
        if ids != stored:
            fail(file, f"metadata `templates.single` has the ids {ids}, but array `template_single` {stored}")
    pad = metadata.get("pad")
    if pad is not None and not _is_number(pad, n_ids):
        fail(file, f"metadata `pad` is {pad!r}, expected null or an id below {n_ids}")
    for name, least in (("pad_type_id", 0), ("model_max_length", 1)):
        value = metadata.get(name, least)
        if not _is_number(value, _MOST) or value < least:
            fail(file, f"metadata `{name}` is {value!r}, expected a number from {least} on and below 2**31")
    for name in ("padding_side", "truncation_side"):
        if metadata.get(name, "right") not in _SIDES:
            fail(file, f"metadata `{name}` is {metadata[name]!r}, expected 'right' or 'left'")
    if metadata.get("special_search", "tokenizers") not in _SEARCHES:
        fail(
            file, f"metadata `special_search` is {metadata['special_search']!r}, expected 'tokenizers', 'transformers'"
        )
    names = metadata.get("model_input_names", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        fail(file, "metadata `model_input_names` is not an array of strings")


def _check_template(file: str, name: str, template: Any, texts: list[str], n_ids: int) -> list[Any]:
    """The tokens of a template, whose form is checked."""
    where = f"metadata `templates.{name}`"
    if not isinstance(template, list) or not all(isinstance(part, list) and len(part) == 2 for part in template):
        fail(file, f"{where} is not an array of pairs [token, type]")
    for token, kind in template:
        if token not in texts and not _is_number(token, n_ids):
            fail(file, f"{where} holds {token!r}, expected {' or '.join(map(repr, texts))} or an id below {n_ids}")
        if not _is_number(kind, _MOST):
            fail(file, f"{where} holds the type {kind!r}, expected a number below 2**31")
    found = sorted(token for token, _ in template if isinstance(token, str))
    if found != texts:
        fail(file, f"{where} holds the texts {found}, expected {texts}")
    return [token for token, _ in template]


def _is_number(value: Any, below: int) -> bool:
    return type(value) is int and 0 <= value < below
