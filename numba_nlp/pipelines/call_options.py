"""Options that all calls have, whatever the task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numba_nlp._arguments import choice, flag, whole

__all__ = ["CALL_OPTIONS", "CallOptions"]

CALL_OPTIONS = ("batch_size", "batch_tokens", "progress", "errors")


@dataclass(frozen=True)
class CallOptions:
    """How a call is done; see :meth:`Pipeline.__call__`.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """

    batch_size: int | None = None
    batch_tokens: int | None = None
    progress: bool = False
    errors: str = "raise"

    def __post_init__(self) -> None:
        for name in ("batch_size", "batch_tokens"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), 1))
        flag("progress", self.progress)
        choice("errors", self.errors, ("raise", "return"))

    def over(self, **given: Any) -> CallOptions:
        """These where a call says nothing, which is None."""
        said = {name: value for name, value in given.items() if value is not None}
        return replace(self, **said) if said else self
