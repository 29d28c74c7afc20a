"""What all figures share: a canvas without a screen, text as it is written, files that appear whole."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from numba_nlp._atomic import atomic_writer
from numba_nlp.errors import UnsupportedFeatureError

__all__ = [
    "BEST_COLOUR",
    "COLOUR",
    "COLOURS",
    "MOST_INCHES",
    "SUFFIXES",
    "check_figure_name",
    "figure",
    "new_axes",
    "write_text",
]

COLOUR, BEST_COLOUR = "#4477aa", "#cc3311"
#: Of several lines: Paul Tol's "bright" scheme, told apart with any kind of colour vision.
COLOURS = (BEST_COLOUR, COLOUR, "#228833", "#aa3377", "#ccbb44", "#66ccee", "#bbbbbb")
SUFFIXES = (".svg", ".png")
#: Largest figure, a side and (square inches) as a whole: a .png of it has 60,000 pixels, and 90 million.
MOST_INCHES, MOST_SQUARE_INCHES = 400, 4000
_DPI = 150
_FONT = "DejaVu Sans"
_NO_GLYPH = re.compile(r"Glyph (\d+) \(.*\) missing from font")


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


def new_axes(width: float, height: float) -> Any:
    """Axes of a figure of their own, for those who draw without a file.

    Parameters
    ----------
    width, height : float
        In inches.

    Returns
    -------
    matplotlib.axes.Axes
        Its ``figure`` is not one of pyplot's, so there is nothing to close.

    Raises
    ------
    UnsupportedFeatureError
        matplotlib is not installed, or the figure is too large.
    """
    with _style("the figure"):
        return _axes(width, height, "the figure")


@contextmanager
def _style(where: str) -> Iterator[None]:
    """The settings of matplotlib under which all is drawn and written."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise UnsupportedFeatureError(
            f"{where}: plots need matplotlib, which is not installed; install the extra for it: "
            "pip install 'numba_nlp[plot]'"
        ) from None
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "numba_nlp", "font.family": _FONT}):
        yield


def _axes(width: float, height: float, where: str) -> Any:
    if max(width, height) > MOST_INCHES or width * height > MOST_SQUARE_INCHES:
        raise UnsupportedFeatureError(
            f"{where}: the figure would have {width:,.0f} x {height:,.0f} inches, and may have {MOST_INCHES} on a side "
            f"and {MOST_SQUARE_INCHES:,} square inches; draw a shorter text, or fewer words"
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made.add_subplot()


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
        matplotlib is not installed, the figure is too large, or as :func:`check_figure_name`.
    OSError

    Warns
    -----
    UserWarning
        Characters of a ``.png`` that the font does not have. An ``.svg`` is shown with the fonts of its reader.
    """
    target = check_figure_name(path)
    with _style(str(path)):
        axes = _axes(width, height, str(path))
        made = axes.figure
        if title:
            axes.set_title(title, parse_math=False)
        yield axes
        content = io.BytesIO()
        kind = target.suffix[1:]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # the date would make equal figures differ
            made.savefig(content, format=kind, dpi=_DPI, metadata={"Date": None} if kind == "svg" else None)
    _warn_again(caught, target)
    with atomic_writer(target) as stream:
        stream.write(content.getvalue())


def _warn_again(caught: list[warnings.WarningMessage], target: Path) -> None:
    """Pass warnings on; those of characters without a glyph, one each, become one, of figures that lose them."""
    missing: set[str] = set()
    for warning in caught:
        found = _NO_GLYPH.match(str(warning.message))
        if found is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        else:
            missing.add(chr(int(found[1])))
    if missing and target.suffix == ".png":
        shown = "".join(sorted(missing)[:10])
        warnings.warn(
            f"{target}: the font {_FONT} does not have {len(missing)} of the characters ({shown}), which are boxes; "
            "an .svg keeps them as text",
            stacklevel=4,
        )


def write_text(axes: Any, x: float, y: float, text: str, **options: Any) -> None:
    """Write a token: a dollar sign in it is no formula."""
    axes.text(x, y, text, parse_math=False, **options)
