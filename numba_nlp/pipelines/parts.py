"""Model and tokenizer of a pipeline, from a folder, the hub, or as they are given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numba_nlp._hub import HUB_OPTIONS
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.pipelines.task_names import TASKS
from numba_nlp.tokenizer import Tokenizer

__all__ = ["load_parts"]


def load_parts(
    task: str, heads: tuple[str, ...], model: Any, tokenizer: Any, device: Any, dtype: Any, hub: dict[str, Any]
) -> tuple[Any, Tokenizer]:
    """Model and tokenizer.

    Parameters
    ----------
    task : str
        For messages.
    heads : tuple of str
        Which the task can use, the best one first.
    model : path-like, name on the hub, or Model
    tokenizer : path-like, name on the hub, Tokenizer, or None
        By default that of the model's folder.
    device, dtype
        As of :func:`numba_nlp.load_model`; only where it is loaded here.
    hub : dict
        Options of the hub.

    Raises
    ------
    UnsupportedFeatureError
        The model has none of these heads.
    ValueError, TypeError
        The tokenizer is missing, or options are given that only loading takes.
    FileNotFoundError, SourceFormatError
        As of :func:`numba_nlp.load_model`.
    """
    from numba_nlp.loading import load_tokenizer
    from numba_nlp.models import load_model

    is_path = isinstance(model, (str, os.PathLike))
    if is_path:
        source = model
        model = load_model(source, device=device, dtype=dtype, **hub)
        if tokenizer is None:
            tokenizer = source
    else:
        if not hasattr(model, "head") or not hasattr(model, "settings"):
            raise TypeError(
                f"`model` must be a checkpoint's folder, its name on the hub, or a model of load_model, "
                f"got {type(model).__name__}; one of transformers is saved first, model.save_pretrained(folder), and "
                "its tokenizer too"
            )
        given = {"device": device, "dtype": dtype, **{name: hub.get(name) for name in HUB_OPTIONS}}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"`{name}` is an option of loading, but `model` is loaded already")
        if tokenizer is None:
            raise ValueError("`tokenizer` is missing: a loaded model does not know its own; give its folder")
    if isinstance(tokenizer, (str, os.PathLike)):
        options = hub if not Path(tokenizer).exists() else {}
        tokenizer = load_tokenizer(tokenizer, **options)
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            f"`tokenizer` must be a tokenizer of load_tokenizer or its folder, got {type(tokenizer).__name__}"
        )
    if model.head not in heads:
        raise UnsupportedFeatureError(
            f"task {task!r} needs {TASKS[task].needs}; this {model.family or type(model).__name__} has the head "
            f"{model.head!r}, not {' or '.join(map(repr, heads))}"
        )
    return model, tokenizer
