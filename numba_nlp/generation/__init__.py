"""Generation: tokens from a model, over ids and arrays.

All but the config needs torch, so it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba_nlp.generation.config import GenerationConfig

if TYPE_CHECKING:
    from numba_nlp.generation.calls import generate
    from numba_nlp.generation.clock import StepClock
    from numba_nlp.generation.description import describe
    from numba_nlp.generation.inference import infer
    from numba_nlp.generation.outputs import GenerationOutput
    from numba_nlp.generation.scoring import score
    from numba_nlp.generation.streaming import TextPiece, TextStreamer

__all__ = [
    "GenerationConfig",
    "GenerationOutput",
    "StepClock",
    "TextPiece",
    "TextStreamer",
    "describe",
    "generate",
    "infer",
    "score",
]

_HOMES = {
    "GenerationOutput": "outputs",
    "StepClock": "clock",
    "TextPiece": "streaming",
    "TextStreamer": "streaming",
    "describe": "description",
    "generate": "calls",
    "infer": "inference",
    "score": "scoring",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"numba_nlp.generation.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
