"""Twin of ``numba_nlp.kernels.step.places``: each row as a list of what it sees."""

from __future__ import annotations

__all__ = ["follow_parents", "list_places"]


def follow_parents(parents: list[int], rows: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Rows as lists of (number of a new token, row that read it), each with the past of another."""
    return [list(rows[parent]) for parent in parents]


def list_places(
    prompt: int, columns: list[int], writers: list[tuple[int, int]], groups: int, width: int, rows: int
) -> list[tuple[int, int]]:
    """Columns that a row sees, and which key of the memory, counted in keys, stands for each."""
    seen = [(column, column * groups + prompt) for column in columns]
    return seen + [(width + n, width * groups + n * rows + writer) for n, writer in writers]
