"""What the config of a checkpoint says about a task."""

from __future__ import annotations

from typing import Any

from numba_nlp._arguments import shown
from numba_nlp.errors import SourceFormatError
from numba_nlp.pipelines.task_names import TASKS

__all__ = ["task_config"]


def task_config(model: Any, task: str) -> dict[str, Any]:
    """The config of a model, with what its ``task_specific_params`` say of a task in place of the rest.

    Parameters
    ----------
    model : Model
    task : str
        Our name of it; the config may have any of transformers'.

    Raises
    ------
    SourceFormatError
        ``task_specific_params`` is no object of objects.
    """
    config = model.config
    special = config.get("task_specific_params") or {}
    if not isinstance(special, dict) or not all(isinstance(each, dict) for each in special.values()):
        raise SourceFormatError(
            f"config.json: `task_specific_params` must be an object of objects, got {shown(special)}"
        )
    merged = dict(config)
    for name in (*TASKS[task].aliases, task):
        merged.update(special.get(name, {}))
    return merged
