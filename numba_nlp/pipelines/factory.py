"""``pipeline``: from the name of a task to what does it."""

from __future__ import annotations

import importlib
import os
from typing import Any

from numba_nlp._hub import HUB_OPTIONS
from numba_nlp.pipelines.base import Pipeline
from numba_nlp.pipelines.parts import load_parts
from numba_nlp.pipelines.task_names import TASKS, find_task

__all__ = ["pipeline"]


def pipeline(
    task: str,
    model: Any = None,
    *,
    tokenizer: Any = None,
    device: Any = None,
    dtype: Any = None,
    **options: Any,
) -> Pipeline:
    """What does a task: ``pipeline("classify", model=folder)(texts)``.

    Parameters
    ----------
    task : str
        Such as "translate", or transformers' name of it, such as "translation_en_to_de"; see
        :func:`supported_tasks`.
    model : path-like, str or Model
        A checkpoint's folder, its name on the Hugging Face hub, or a model of :func:`numba_nlp.load_model`. Only
        "generate" has one of its own.
    tokenizer : path-like, str or Tokenizer, optional
        By default that of the model's folder.
    device, dtype : optional
        As of :func:`numba_nlp.load_model`.
    **options
        Of the task: defaults of its calls. And of the hub: ``cache_dir``, ``local_files_only``, ``revision``,
        ``subfolder``, ``token``.

    Returns
    -------
    Pipeline

    Raises
    ------
    ValueError, TypeError
        There is no such task or option, or the model is missing.
    UnsupportedFeatureError
        The model cannot do this task.
    FileNotFoundError, SourceFormatError
        As of :func:`numba_nlp.load_model`.

    Examples
    --------
    >>> import numba_nlp as nlp
    >>> nlp.pipeline("translate", model="Helsinki-NLP/opus-mt-en-es")("To be, or not to be")  # doctest: +SKIP
    """
    name, named = find_task(task)
    chosen = TASKS[name]
    kind: type[Pipeline] = getattr(importlib.import_module(f"numba_nlp.pipelines.{chosen.module}"), chosen.pipeline)
    if model is None:
        model = kind.default_model()
    if model is None:
        raise ValueError(f"`model` is missing: task {name!r} needs the folder or hub name of {chosen.needs}")
    if "framework" in options or "torch_dtype" in options:
        wrong = "framework" if "framework" in options else "torch_dtype"
        raise TypeError(f"pipeline has no option {wrong!r}; models are of torch, their kind of numbers is dtype=")
    hub = {key: options.pop(key) for key in HUB_OPTIONS if key in options}
    loaded, found = load_parts(name, kind.heads, model, tokenizer, device, dtype, hub)
    of_folder = kind.read_folder(loaded, model, hub, options) if isinstance(model, (str, os.PathLike)) else {}
    return kind(loaded, found, **{**of_folder, **named, **options})
