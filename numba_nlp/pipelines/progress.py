"""A bar over the rows of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from numba_nlp.pipelines.rows import Inputs

__all__ = ["rows_bar"]


@contextmanager
def rows_bar(is_shown: bool, taken: Inputs, task: str) -> Iterator[Callable[[float], None]]:
    """A bar, and what counts rows, and parts of rows, as done; one of a stream has no end."""
    if not is_shown:
        yield lambda rows: None
        return
    from tqdm import tqdm

    total = len(taken.rows) if isinstance(taken.rows, Sequence) else None
    done = 0.0
    with tqdm(total=total, unit=" rows", desc=task) as bar:

        def advance(rows: float) -> None:
            nonlocal done
            done += rows
            # what is tried again after a failure counts once
            reached = round(done) if total is None else min(round(done), total)
            bar.update(reached - bar.n)

        yield advance
