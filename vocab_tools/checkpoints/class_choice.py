"""Which tokenizer class ``AutoTokenizer`` of transformers 5 takes for a checkpoint."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.model_types import (
    BACKEND_NAMES,
    CLASS_OF_MODEL_TYPE,
    FORCED_NAMES,
    WITHOUT_CONFIG,
    WRONGLY_DECLARED,
)

__all__ = ["BACKEND", "choose_class"]

#: A tokenizer.json that is taken as it is.
BACKEND = "TokenizersBackend"
_TOKENIZER_CONFIG, _CONFIG = "tokenizer_config.json", "config.json"
#: How a byte-level tokenizer.json is told from the one that ``LlamaTokenizer`` means.
_BYTE_LEVEL = '"ByteLevel"'


def choose_class(folder: Folder, tokenizer_file: str | None) -> str:
    """Name of the class, without "Fast".

    ``tokenizer_class`` of tokenizer_config.json, then that of config.json, then the class registered for its
    ``model_type``; ``TokenizersBackend`` wherever transformers prefers it to what is declared.

    Parameters
    ----------
    folder : Folder
    tokenizer_file : str or None
        Name of the folder's ``tokenizer.json``; None where it has none.

    Returns
    -------
    str
        ``"TokenizersBackend"`` for a ``tokenizer.json`` that is taken as it is.

    Raises
    ------
    SourceFormatError
        A file of settings breaks its form.
    UnsupportedFeatureError
        The tokenizer is code of the checkpoint's own.
    """
    settings = folder.json_object(_TOKENIZER_CONFIG) or {}
    config = folder.json_object(_CONFIG) or {}
    model_type = _model_type(config)
    own = _declared(folder, _TOKENIZER_CONFIG, settings)
    declared = own or _declared(folder, _CONFIG, config)
    registered = _plain(CLASS_OF_MODEL_TYPE.get(model_type, ""))
    has_code = _has_code(settings)

    if not has_code and any(fnmatchcase(_origin(folder, config, model_type), pattern) for pattern in FORCED_NAMES):
        return BACKEND
    is_wrong = any(
        isinstance(name, str) and name in WRONGLY_DECLARED for name in (model_type, config.get("model_name"))
    )
    if not has_code and declared is not None:
        if (
            declared == "LlamaTokenizer"
            and not is_wrong
            and tokenizer_file is not None
            and _BYTE_LEVEL in folder.text(tokenizer_file)
        ):
            return BACKEND
        if registered and registered != declared:
            if registered == BACKEND:
                return BACKEND
            return _backend_or(registered if is_wrong else declared)
    if has_code and own is None and not _is_known(model_type) and model_type not in WRONGLY_DECLARED:
        raise UnsupportedFeatureError(
            f"{folder.place(_TOKENIZER_CONFIG)}: auto_map: the tokenizer is code of the checkpoint, which is never "
            "run; save it as a tokenizer.json and load that file"
        )
    if declared is not None:
        return _backend_or(declared)
    if model_type == "encoder-decoder":
        model_type = _model_type(config.get("encoder") or {})
    if model_type in WITHOUT_CONFIG:
        return BACKEND
    return _backend_or(_plain(CLASS_OF_MODEL_TYPE.get(model_type, BACKEND)))


def _plain(name: str) -> str:
    return name.removesuffix("Fast")


def _backend_or(name: str) -> str:
    return BACKEND if name in BACKEND_NAMES else name


def _declared(folder: Folder, file: str, config: dict[str, Any]) -> str | None:
    name = config.get("tokenizer_class")
    if name is None or name == "":
        return None
    if not isinstance(name, str):
        raise SourceFormatError(f"{folder.place(file)}: tokenizer_class: expected the name of a class, got {name!r}")
    return _plain(name)


def _model_type(config: Any) -> str:
    name = config.get("model_type") if isinstance(config, dict) else None
    # checkpoints of GPT-SW3 have GPT-2's configuration
    return "gpt2" if name == "gpt-sw3" else name if isinstance(name, str) else ""


def _is_known(model_type: str) -> bool:
    return model_type in CLASS_OF_MODEL_TYPE and model_type not in WITHOUT_CONFIG


def _has_code(settings: dict[str, Any]) -> bool:
    auto_map = settings.get("auto_map")
    if isinstance(auto_map, dict):
        return auto_map.get("AutoTokenizer") is not None
    return isinstance(auto_map, list)


def _origin(folder: Folder, config: dict[str, Any], model_type: str) -> str:
    """Where a checkpoint is from; transformers takes the note in config.json for models that it does not know."""
    if _is_known(model_type):
        return folder.reference.lower()
    noted = config.get("_name_or_path", folder.reference)
    return noted.lower() if isinstance(noted, str) else ""
