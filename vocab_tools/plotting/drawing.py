"""What all figures share: a canvas without a screen, text as it is written, files that appear whole."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from numba_nlp._atomic import atomic_writer
from numba_nlp.errors import UnsupportedFeatureError

__all__ = ["BEST_COLOUR", "COLOUR", "SUFFIXES", "check_figure_name", "figure", "write_text"]

COLOUR, BEST_COLOUR = "#4477aa", "#cc3311"
SUFFIXES = (".svg", ".png")
_DPI = 150


def check_figure_name(path: str | PathLike[str]) -> Path:
    """The path of a figure.

    Raises
    ------
    UnsupportedFeatureError
        The name ends in neither ``.svg`` nor ``.png``.
    """
    given = Path(path)
    if given.suffix not in SUFFIXES:
        raise UnsupportedFeatureError(f"{path}: a figure is written as {' or '.join(SUFFIXES)}; name the file so")
    return given


@contextmanager
def figure(path: str | PathLike[str], width: float, height: float, title: str = "") -> Iterator[Any]:
    """Axes to draw on; the file is written when the block ends.

    Text of an SVG stays text, which is searched for and read aloud; equal figures give equal files.

    Parameters
    ----------
    path : path-like
        ``.svg`` or ``.png``.
    width, height : float
        In inches.
    title : str

    Yields
    ------
    matplotlib.axes.Axes

    Raises
    ------
    UnsupportedFeatureError
        matplotlib is not installed, or as :func:`check_figure_name`.
    OSError
    """
    target = check_figure_name(path)
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise UnsupportedFeatureError(
            "plots need matplotlib, which is not installed; install the extra for it: pip install 'numba_nlp[plot]'"
        ) from None
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "numba_nlp", "font.family": "DejaVu Sans"}):
        made = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(made)
        axes = made.add_subplot()
        if title:
            axes.set_title(title, parse_math=False)
        yield axes
        content = io.BytesIO()
        kind = target.suffix[1:]
        # the date would make equal figures differ
        made.savefig(content, format=kind, dpi=_DPI, metadata={"Date": None} if kind == "svg" else None)
    with atomic_writer(target) as stream:
        stream.write(content.getvalue())


def write_text(axes: Any, x: float, y: float, text: str, **options: Any) -> None:
    """Write a token: a dollar sign in it is no formula."""
    axes.text(x, y, text, parse_math=False, **options)
