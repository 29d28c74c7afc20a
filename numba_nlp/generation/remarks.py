"""Warnings about options that do nothing, or cannot all hold."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from numba_nlp.generation.config import GenerationConfig

__all__ = ["remark", "remark_idle"]

#: Options that change drawn tokens only, and beams only, with the values that never do anything.
_OF_SAMPLING = {"temperature": 1.0, "top_k": 50, "top_p": 1.0, "min_p": None, "typical_p": 1.0}
_OF_BEAMS = {"length_penalty": 1.0, "early_stopping": False}


def remark(text: str) -> None:
    """Warn, at the first call from outside of the package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("numba_nlp."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def remark_idle(settled: GenerationConfig, options: Mapping[str, Any]) -> None:
    """Warn of options of a call that do nothing beside the others; those of a checkpoint are not looked at.

    Parameters
    ----------
    settled : GenerationConfig
        What counts.
    options : mapping
        What the call says.
    """
    for text in _idle(settled, options):
        remark(text)


def _idle(settled: GenerationConfig, options: Mapping[str, Any]) -> Iterator[str]:
    for total, new in (("max_length", "max_new_tokens"), ("min_length", "min_new_tokens")):
        both = options.get(total) is not None and getattr(settled, new) is not None
        if both and (total == "max_length" or new not in options):
            yield (
                f"`{total}` {options[total]} has no effect: `{new}` {getattr(settled, new)} is set too and counts "
                f"more; switch it off with `{new}=None`"
            )
    for names, works, wanted in (
        (_OF_SAMPLING, settled.do_sample, "`do_sample` is False: tokens are not drawn; `do_sample=True` draws them"),
        (_OF_BEAMS, settled.num_beams > 1, "`num_beams` is 1: there are no beams"),
    ):
        for name, neutral in names.items():
            value = options.get(name)
            # 0 and None switch a rule off
            if not works and name in options and value and value != neutral:
                yield f"`{name}` {value!r} has no effect: {wanted}"
