"""The figures as files; each takes what :mod:`~vocab_tools.plotting` prepared, and a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

from vocab_tools.plotting import plots
from vocab_tools.plotting.drawing import figure
from vocab_tools.plotting.histograms import Fertility, Lengths, RankFrequency
from vocab_tools.plotting.lattices import Lattice
from vocab_tools.plotting.merge_steps import MergeSteps
from vocab_tools.plotting.trees import Tree

__all__ = [
    "draw_curves",
    "draw_fertility",
    "draw_frequencies",
    "draw_lattice",
    "draw_lengths",
    "draw_merge_steps",
    "draw_tree",
]

_Path = str | PathLike[str]


def draw_lengths(lengths: Lengths, path: _Path, title: str = "") -> None:
    """Histogram of the lengths of pieces."""
    with figure(path, *plots.CHART, title) as axes:
        plots.plot_lengths(lengths, axes)


def draw_frequencies(frequencies: RankFrequency, path: _Path, title: str = "") -> None:
    """Frequency by rank, both axes logarithmic: a straight line is Zipf's law."""
    with figure(path, *plots.CHART, title) as axes:
        plots.plot_frequencies(frequencies, axes)


def draw_fertility(fertility: Fertility, path: _Path, per: str = "word", title: str = "") -> None:
    """Bars for each text, one for each vocabulary.

    Parameters
    ----------
    fertility : Fertility
    path : path-like
    per : {"word", "byte"}
    title : str
    """
    with figure(path, *plots.size_of_fertility(fertility), title) as axes:
        plots.plot_fertility(fertility, axes, per=per)


def draw_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    path: _Path,
    title: str = "",
    *,
    x_label: str = "bytes of text",
    y_label: str = "seconds",
) -> None:
    """Lines through measured points, both axes logarithmic.

    Parameters
    ----------
    curves : Mapping of str to (x, y)
        By the name that the legend shows.
    path : path-like
    title, x_label, y_label : str
    """
    with figure(path, *plots.CHART, title) as axes:
        plots.plot_curves(curves, axes, x_label=x_label, y_label=y_label)


def draw_tree(tree: Tree, path: _Path, title: str = "", *, notes_beside: bool = False) -> None:
    """A tree, roots on top; marked nodes are filled.

    Parameters
    ----------
    tree : Tree
    path : path-like
    title : str
    notes_beside : bool
        Notes stand beside their nodes (words of a trie) instead of above them.
    """
    with figure(path, *plots.size_of_tree(tree, notes_beside=notes_beside), title) as axes:
        plots.plot_tree(tree, axes, notes_beside=notes_beside)


def draw_merge_steps(steps: MergeSteps, path: _Path, title: str = "") -> None:
    """The table of a word's merges: a line for each step, what was just made is filled."""
    with figure(path, *plots.size_of_merge_steps(steps), title) as axes:
        plots.plot_merge_steps(steps, axes)


def draw_lattice(lattice: Lattice, path: _Path, title: str = "") -> None:
    """Characters on a line, a bow above it for each piece; the best path in another colour."""
    with figure(path, *plots.size_of_lattice(lattice), title) as axes:
        plots.plot_lattice(lattice, axes)
