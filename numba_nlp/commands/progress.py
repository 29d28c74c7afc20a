"""A bar on a terminal: how many bytes of all files were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from numba_nlp.corpora.reading.sources import Source

__all__ = ["Bar", "progress_bar"]


class Bar:
    """Moves by the bytes that were read.

    Parameters
    ----------
    bar : tqdm
    """

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._before = 0

    def move(self, position: int) -> None:
        """So many bytes of the file that is read were read."""
        self._bar.update(max(position - self._before, 0))
        self._before = max(position, self._before)

    def next_file(self, source: Source) -> None:
        """A file is done."""
        self.move(source.size)
        self._before = 0


@contextmanager
def progress_bar(sources: Iterable[Source], shown: bool | None) -> Iterator[Bar]:
    """A bar on stderr.

    Parameters
    ----------
    sources : iterable of Source
        All that will be read.
    shown : bool or None
        None: if stderr is a terminal.
    """
    from tqdm import tqdm

    total = sum(source.size for source in sources)
    disable = None if shown is None else not shown
    with tqdm(total=total or None, unit="B", unit_scale=True, disable=disable, dynamic_ncols=True) as bar:
        yield Bar(bar)
