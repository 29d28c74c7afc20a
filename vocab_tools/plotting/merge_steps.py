"""The table of a word's merges: its symbols before the first merge, and after each."""

from __future__ import annotations

from typing import NamedTuple

from vocab_tools.plotting.trees import Tree

__all__ = ["MergeSteps", "Symbol", "merge_steps"]


class Symbol(NamedTuple):
    """A symbol of a row.

    Attributes
    ----------
    text : str
    begin, end : int
        Symbols of the first row between which it lies.
    """

    text: str
    begin: int
    end: int


class MergeSteps(NamedTuple):
    """A row of symbols for each step.

    Attributes
    ----------
    rows : tuple of tuple of Symbol
        What the word is cut into at first, then after each merge; the last row has its tokens.
    made : tuple of int
        Of each row the place of the symbol that was just made; -1 in the first.
    """

    rows: tuple[tuple[Symbol, ...], ...]
    made: tuple[int, ...]

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What is merged between each row and the next."""
        found = []
        for before, place in zip(self.rows, self.made[1:], strict=False):
            found.append((before[place].text, before[place + 1].text))
        return tuple(found)


def merge_steps(tree: Tree) -> MergeSteps:
    """The steps of a tree of merges.

    Parameters
    ----------
    tree : Tree
        Of :func:`vocab_tools.plotting.trees.merge_tree`: inner nodes have two children, and a note that says when.

    Returns
    -------
    MergeSteps
    """
    children = tree.children()
    x, _ = tree.places()
    leaves = sorted((node for node, below in enumerate(children) if not below), key=lambda node: x[node])
    row = [(node, Symbol(tree.labels[node], place, place + 1)) for place, node in enumerate(leaves)]
    rows, made = [tuple(symbol for _, symbol in row)], [-1]
    inner = (node for node, below in enumerate(children) if below)
    for node in sorted(inner, key=lambda node: int(tree.notes[node])):
        place = [at for at, _ in row].index(children[node][0])
        symbol = Symbol(tree.labels[node], row[place][1].begin, row[place + 1][1].end)
        row[place : place + 2] = [(node, symbol)]
        rows.append(tuple(symbol for _, symbol in row))
        made.append(place)
    return MergeSteps(tuple(rows), tuple(made))
