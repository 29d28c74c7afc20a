"""What a folder of sentence-transformers says about the vectors of its model.

Its files are those that the library writes: ``modules.json`` lists what a text goes through (the model, pooling,
normalisation), each module has a folder with its ``config.json``, and ``sentence_bert_config.json`` says where texts
are cut. Reimers and Gurevych 2019, arXiv:1908.10084; https://sbert.net.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numba_nlp import _hub
from numba_nlp._arguments import shown
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError

__all__ = ["read_sentence_folder"]

#: Way of pooling there (``pooling_mode`` and ``pooling_mode_*``) -> here.
_POOLINGS = {
    "cls": "cls",
    "cls_token": "cls",
    "max": "max",
    "max_tokens": "max",
    "mean": "mean",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt",
    "lasttoken": "last",
}
_WANTED = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "*/config.json")
_WAY = "say pooling= yourself to take the vectors of the model without it"


def read_sentence_folder(source: Any, hub: dict[str, Any], *, chosen: bool) -> dict[str, Any]:
    """Options of ``embed`` that a checkpoint holds, none where it is of no such library.

    Parameters
    ----------
    source : path-like or name on the hub
    hub : dict
        Options of the hub.
    chosen : bool
        Whether the caller chooses the pooling: then modules that are not known are left out.

    Returns
    -------
    dict
        Of ``pooling``, ``normalize`` and ``max_length``.

    Raises
    ------
    SourceFormatError
        A file is not what the library writes.
    UnsupportedFeatureError
        Vectors go through something that is not here.
    """
    folder = _hub.find_folder(source, hub, wanted=_WANTED)
    modules = _read(folder / "modules.json")
    if modules is None:
        return {}
    place = folder / "modules.json"
    if not isinstance(modules, list) or not all(isinstance(one, dict) for one in modules):
        raise SourceFormatError(f"{place}: must be a list of modules, got {shown(modules)}")
    options: dict[str, Any] = {"normalize": False}
    for module in modules:
        kind, path = (str(module.get(name, "")) for name in ("type", "path"))
        kind = kind.rpartition(".")[2]
        if ".." in path or Path(path).is_absolute():
            raise SourceFormatError(f"{place}: the path of a module must lie in the folder, got {path!r}")
        if kind == "Transformer":
            options.update(_reading(folder, path))
        elif kind == "Pooling":
            if not chosen:
                options["pooling"] = _pooling(folder / path / "config.json")
        elif kind == "Normalize":
            options["normalize"] = True
        elif not chosen:
            raise UnsupportedFeatureError(f"{place}: the module {kind!r} is not supported; {_WAY}")
    if not chosen:
        _refuse_prompt(folder / "config_sentence_transformers.json")
    return options


def _reading(folder: Path, path: str) -> dict[str, Any]:
    """Where texts are cut."""
    place = folder / path / "sentence_bert_config.json"
    settings = _object(place)
    if settings.get("do_lower_case"):
        raise UnsupportedFeatureError(
            f"{place}: `do_lower_case` is not supported; give texts in lower case, and remove the entry"
        )
    longest = settings.get("max_seq_length")
    if longest is None:
        return {}
    if not isinstance(longest, int) or isinstance(longest, bool) or longest < 1:
        raise SourceFormatError(f"{place}: `max_seq_length` must be a whole number from 1 on, got {shown(longest)}")
    return {"max_length": longest}


def _pooling(place: Path) -> str:
    """The one way that the module has."""
    settings = _object(place)
    mode = settings.get("pooling_mode")
    if mode is None:
        asked = [
            name.removeprefix("pooling_mode_")
            for name, value in settings.items()
            if name.startswith("pooling_mode_") and value is True
        ]
    else:
        asked = mode if isinstance(mode, list) else [mode]
    if len(asked) != 1 or asked[0] not in _POOLINGS:
        raise UnsupportedFeatureError(
            f"{place}: pooling by {' and '.join(map(str, asked)) or 'nothing'} is not supported; one of "
            f"{', '.join(_POOLINGS)} is. Or {_WAY}"
        )
    return _POOLINGS[asked[0]]


def _refuse_prompt(place: Path) -> None:
    """Refuse words that the library puts in front of each text."""
    settings = _object(place)
    name = settings.get("default_prompt_name")
    if name is not None:
        raise UnsupportedFeatureError(
            f"{place}: `default_prompt_name` {shown(name)} puts words in front of each text, which is not supported; "
            "put them there yourself and say pooling="
        )


def _object(place: Path) -> dict[str, Any]:
    """The object in a file, an empty one where there is no file."""
    value = _read(place)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SourceFormatError(f"{place}: must hold an object, got {shown(value)}")
    return value


def _read(place: Path) -> Any:
    if not place.is_file():
        return None
    try:
        return json.loads(place.read_bytes())
    except (ValueError, RecursionError) as error:
        raise SourceFormatError(f"{place}: this is not JSON: {error}") from error
