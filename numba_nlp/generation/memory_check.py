"""Lengths that no memory holds, refused before anything is allocated."""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp.generation.plan import Plan

__all__ = ["check_memory", "memory_of_rows"]


def memory_of_rows(model: Any, plan: Plan) -> int:
    """Bytes of the keys and values of all rows, as long as they may become.

    Parameters
    ----------
    model : Model
    plan : Plan
    """
    shape = model.cache_shape()
    n_rows = plan.prompts.ids.shape[0] * plan.per_prompt
    numbers = 2 * shape["layers"] * n_rows * plan.max_length * shape["heads"] * shape["head_width"]
    return int(numbers * shape["dtype"].itemsize)


def check_memory(model: Any, plan: Plan) -> None:
    """Refuse rows that would need more memory than the system gives to anybody.

    It is asked for that much, and told that nothing was meant by it: that takes microseconds, and says what no number
    does, as limits may be those of the machine, of a container or of the process. On CUDA torch says what is lacking.

    Parameters
    ----------
    model : Model
    plan : Plan

    Raises
    ------
    MemoryError
        The error names the option that says how long rows may become.
    """
    if model.device.type != "cpu":
        return
    needed = memory_of_rows(model, plan)
    try:
        # ValueError: more than there are addresses
        np.empty(needed, np.uint8)
    except (MemoryError, ValueError) as error:
        n_rows = plan.prompts.ids.shape[0] * plan.per_prompt
        raise MemoryError(
            f"{plan.said_length}: keys and values of {n_rows} rows of {plan.max_length} tokens take "
            f"{needed / 2**30:,.0f} GiB, which this system does not give; ask for as many tokens as you need at most"
        ) from error
