"""What stands in the place of a row that could not be done."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FailedRow"]


@dataclass(frozen=True)
class FailedRow:
    """A row that failed, among the results of the others (``errors="return"``).

    It is falsy, so that ``[result for result in results if result]`` leaves it out.

    Attributes
    ----------
    row : int
        Its number among all inputs of the call.
    error : Exception
        Why.
    """

    row: int
    error: Exception

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"row {self.row}: {type(self.error).__name__}: {self.error}"
