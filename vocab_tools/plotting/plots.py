"""Drawing on axes: each function takes what :mod:`~vocab_tools.plotting` prepared, and axes or none, and gives axes.

Without axes a figure of a fitting size is made: ``plot_tree(tree).figure.savefig("tree.svg")``. Titles are left to the
caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vocab_tools.plotting.drawing import BEST_COLOUR, COLOUR, COLOURS, new_axes, write_text
from vocab_tools.plotting.histograms import Fertility, Lengths, RankFrequency
from vocab_tools.plotting.lattices import Lattice
from vocab_tools.plotting.merge_steps import MergeSteps
from vocab_tools.plotting.trees import Tree

__all__ = [
    "plot_curves",
    "plot_fertility",
    "plot_frequencies",
    "plot_lattice",
    "plot_lengths",
    "plot_merge_steps",
    "plot_tree",
    "size_of_fertility",
    "size_of_lattice",
    "size_of_merge_steps",
    "size_of_tree",
]

#: Of charts with two axes, in inches.
CHART = (7.0, 4.0)
_MARKED = "#cfe0f1"


def plot_lengths(lengths: Lengths, ax: Any = None) -> Any:
    """Histogram of the lengths of pieces."""
    axes = new_axes(*CHART) if ax is None else ax
    axes.bar(np.arange(lengths.counts.size), lengths.counts, width=0.9, color=COLOUR)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"length in {lengths.unit}s")
    axes.set_ylabel("pieces")
    return axes


def plot_frequencies(frequencies: RankFrequency, ax: Any = None) -> Any:
    """Frequency by rank, both axes logarithmic: a straight line is Zipf's law."""
    axes = new_axes(*CHART) if ax is None else ax
    ranks = np.arange(1, frequencies.counts.size + 1)
    axes.loglog(ranks, frequencies.counts, linewidth=1.5, color=COLOUR)
    axes.set_xlabel("rank of the token")
    axes.set_ylabel("occurrences")
    axes.grid(alpha=0.3)
    return axes


def size_of_fertility(fertility: Fertility) -> tuple[float, float]:
    """Inches of a figure of bars."""
    return 7, 1.2 + 0.3 * fertility.per_word.size


def plot_fertility(fertility: Fertility, ax: Any = None, *, per: str = "word") -> Any:
    """Bars for each text, one for each vocabulary.

    Parameters
    ----------
    fertility : Fertility
    ax : matplotlib.axes.Axes, optional
    per : {"word", "byte"}

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = new_axes(*size_of_fertility(fertility)) if ax is None else ax
    values = fertility.per_word if per == "word" else fertility.per_byte
    n_texts, n_names = values.shape
    height = 0.8 / n_names
    for number, name in enumerate(fertility.names):
        places = np.arange(n_texts) + (number - (n_names - 1) / 2) * height
        bars = axes.barh(places, values[:, number], height=height * 0.95, label=name)
        axes.bar_label(bars, fmt="%.3f", padding=3, fontsize=8)
    axes.set_yticks(np.arange(n_texts), fertility.labels, parse_math=False)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(f"tokens per {per}")
    for text in axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, ncols=n_names).get_texts():
        text.set_parse_math(False)
    return axes


def plot_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    ax: Any = None,
    *,
    x_label: str = "bytes of text",
    y_label: str = "seconds",
) -> Any:
    """Lines through measured points, both axes logarithmic: their slopes are the exponents of growth.

    Parameters
    ----------
    curves : Mapping of str to (x, y)
        By the name that the legend shows.
    ax : matplotlib.axes.Axes, optional
    x_label, y_label : str

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = new_axes(*CHART) if ax is None else ax
    for number, (name, (x, y)) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.loglog(x, y, marker="o", markersize=4, linewidth=1.5, label=name, color=colour)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    for text in axes.legend(frameon=False).get_texts():
        text.set_parse_math(False)
    return axes


def size_of_tree(tree: Tree, *, notes_beside: bool = False) -> tuple[float, float]:
    """Inches of a figure of a tree."""
    x, depth = tree.places()
    step = max(0.7, 0.14 * max(map(len, tree.labels)) + 0.3)
    if notes_beside:
        step = max(step, 0.5 + 0.08 * max(map(len, tree.notes)))
    return 1.5 + step * (float(x.max()) + 1), 1.0 + 0.75 * (int(depth.max()) + 1)


def plot_tree(tree: Tree, ax: Any = None, *, notes_beside: bool = False) -> Any:
    """A tree, roots on top; marked nodes are filled.

    Parameters
    ----------
    tree : Tree
    ax : matplotlib.axes.Axes, optional
    notes_beside : bool
        Notes stand beside their nodes (words of a trie) instead of above them.

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = new_axes(*size_of_tree(tree, notes_beside=notes_beside)) if ax is None else ax
    x, depth = tree.places()
    axes.axis("off")
    axes.set_xlim(-0.7, x.max() + 0.7)
    axes.set_ylim(-int(depth.max()) - 0.7, 0.6)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            axes.plot([x[parent], x[node]], [-depth[parent], -depth[node]], color="0.6", linewidth=1, zorder=1)
    for node, label in enumerate(tree.labels):
        box = {"boxstyle": "round,pad=0.3", "facecolor": _MARKED if tree.marked[node] else "white"}
        write_text(
            axes, x[node], -depth[node], label or "·", ha="center", va="center", zorder=2,
            bbox={**box, "edgecolor": COLOUR},
        )  # fmt: skip
        if tree.notes[node]:
            dx, dy, side = (0.22, 0.0, "left") if notes_beside else (0.0, 0.36, "center")
            write_text(
                axes, x[node] + dx, -depth[node] + dy, tree.notes[node], ha=side, va="center", fontsize=7,
                color=BEST_COLOUR, zorder=3, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )  # fmt: skip
    return axes


def size_of_merge_steps(steps: MergeSteps) -> tuple[float, float]:
    """Inches of a figure of a table of merges."""
    return 2.2 + 0.5 * len(steps.rows[0]), 0.6 + 0.42 * len(steps.rows)


def plot_merge_steps(steps: MergeSteps, ax: Any = None) -> Any:
    """The table of a word's merges: a line for each step, what was just made is filled.

    Parameters
    ----------
    steps : MergeSteps
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = new_axes(*size_of_merge_steps(steps)) if ax is None else ax
    from matplotlib.patches import Rectangle

    axes.axis("off")
    axes.set_xlim(-2.6, len(steps.rows[0]) + 0.1)
    axes.set_ylim(-len(steps.rows) + 0.4, 0.6)
    said = ["", *(f"{left} + {right}" for left, right in steps.pairs)]
    for line, (row, made) in enumerate(zip(steps.rows, steps.made, strict=True)):
        if said[line]:
            write_text(axes, -0.2, -line, f"{line}.  {said[line]}", ha="right", va="center", fontsize=9, color="0.35")
        for place, symbol in enumerate(row):
            axes.add_patch(
                Rectangle(
                    (symbol.begin + 0.06, -line - 0.4), symbol.end - symbol.begin - 0.12, 0.8, edgecolor=COLOUR,
                    facecolor=_MARKED if place == made else "white",
                )
            )  # fmt: skip
            write_text(axes, (symbol.begin + symbol.end) / 2, -line, symbol.text, ha="center", va="center")
    return axes


def size_of_lattice(lattice: Lattice) -> tuple[float, float]:
    """Inches of a figure of a lattice."""
    longest = max((edge.end - edge.begin for edge in lattice.edges), default=1)
    return 1.5 + 0.8 * max(len(lattice.text), 1), 1.5 + 0.5 * longest


def plot_lattice(lattice: Lattice, ax: Any = None) -> Any:
    """Characters on a line, a bow above it for each piece; the best path in another colour."""
    axes = new_axes(*size_of_lattice(lattice)) if ax is None else ax
    n = len(lattice.text)
    longest = max((edge.end - edge.begin for edge in lattice.edges), default=1)
    axes.axis("off")
    axes.set_xlim(-0.4, n + 0.4)
    axes.set_ylim(-0.7, 0.75 * longest + 0.6)
    axes.plot(np.arange(n + 1), np.zeros(n + 1), "o", color="0.3", markersize=4, zorder=3)
    for place, character in enumerate(lattice.text):
        write_text(axes, place + 0.5, -0.35, character, ha="center", va="center")
    angles = np.linspace(0, np.pi, 41)
    # the best path last, so that nothing lies over it
    for edge in sorted(lattice.edges, key=lambda edge: edge.best):
        colour = BEST_COLOUR if edge.best else "0.6"
        half = (edge.end - edge.begin) / 2
        height = 0.75 * (edge.end - edge.begin)
        axes.plot(
            edge.begin + half - half * np.cos(angles), height * np.sin(angles), color=colour,
            linewidth=1.8 if edge.best else 0.8, zorder=2 if edge.best else 1,
        )  # fmt: skip
        write_text(
            axes, edge.begin + half, height + 0.08, f"{edge.piece}  {edge.score:.2f}", ha="center", va="bottom",
            fontsize=7, color=colour,
        )  # fmt: skip
    return axes
