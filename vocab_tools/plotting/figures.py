"""The figures; each takes what :mod:`~vocab_tools.plotting` prepared, and a path."""

from __future__ import annotations

from os import PathLike

import numpy as np

from vocab_tools.plotting.drawing import BEST_COLOUR, COLOUR, figure, write_text
from vocab_tools.plotting.histograms import Fertility, Lengths, RankFrequency
from vocab_tools.plotting.lattices import Lattice
from vocab_tools.plotting.trees import Tree

__all__ = ["draw_fertility", "draw_frequencies", "draw_lattice", "draw_lengths", "draw_tree"]

_Path = str | PathLike[str]


def draw_lengths(lengths: Lengths, path: _Path, title: str = "") -> None:
    """Histogram of the lengths of pieces."""
    with figure(path, 7, 4, title) as axes:
        axes.bar(np.arange(lengths.counts.size), lengths.counts, width=0.9, color=COLOUR)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel(f"length in {lengths.unit}s")
        axes.set_ylabel("pieces")


def draw_frequencies(frequencies: RankFrequency, path: _Path, title: str = "") -> None:
    """Frequency by rank, both axes logarithmic: a straight line is Zipf's law."""
    with figure(path, 7, 4, title) as axes:
        ranks = np.arange(1, frequencies.counts.size + 1)
        axes.loglog(ranks, frequencies.counts, marker=".", markersize=3, linewidth=1, color=COLOUR)
        axes.set_xlabel("rank of the token")
        axes.set_ylabel("occurrences")
        axes.grid(alpha=0.3)


def draw_fertility(fertility: Fertility, path: _Path, per: str = "word", title: str = "") -> None:
    """Bars for each text, one for each vocabulary.

    Parameters
    ----------
    fertility : Fertility
    path : path-like
    per : {"word", "byte"}
    title : str
    """
    values = fertility.per_word if per == "word" else fertility.per_byte
    n_texts, n_names = values.shape
    with figure(path, 7, 1.2 + 0.3 * n_texts * n_names, title) as axes:
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
    x, depth = tree.places()
    widest = max(map(len, tree.labels))
    step = max(0.7, 0.14 * widest + 0.3)
    if notes_beside:
        step = max(step, 0.5 + 0.08 * max(map(len, tree.notes)))
    n_levels = int(depth.max()) + 1
    with figure(path, 1.5 + step * (x.max() + 1), 1.0 + 0.75 * n_levels, title) as axes:
        axes.axis("off")
        axes.set_xlim(-0.7, x.max() + 0.7)
        axes.set_ylim(-n_levels + 0.3, 0.6)
        for node, parent in enumerate(tree.parents):
            if parent >= 0:
                axes.plot([x[parent], x[node]], [-depth[parent], -depth[node]], color="0.6", linewidth=1, zorder=1)
        for node, label in enumerate(tree.labels):
            box = {"boxstyle": "round,pad=0.3", "facecolor": "#cfe0f1" if tree.marked[node] else "white"}
            write_text(
                axes, x[node], -depth[node], label or "·", ha="center", va="center", zorder=2,
                bbox={**box, "edgecolor": COLOUR},
            )  # fmt: skip
            if tree.notes[node]:
                dx, dy, side = (0.22, 0.0, "left") if notes_beside else (0.0, 0.36, "center")
                write_text(
                    axes, x[node] + dx, -depth[node] + dy, tree.notes[node], ha=side, va="center", fontsize=7,
                    color=BEST_COLOUR, zorder=3,
                )  # fmt: skip


def draw_lattice(lattice: Lattice, path: _Path, title: str = "") -> None:
    """Characters on a line, a bow above it for each piece; the best path in another colour."""
    n = len(lattice.text)
    longest = max((edge.end - edge.begin for edge in lattice.edges), default=1)
    with figure(path, 1.5 + 0.8 * max(n, 1), 1.5 + 0.5 * longest, title) as axes:
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
