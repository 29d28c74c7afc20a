"""Trees behind figures: the trie of words, and the merges of a word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import UnsupportedFeatureError
from vocab_tools.editing.opening import OpenedVocabulary

__all__ = ["Tree", "merge_tree", "trie_of"]


class Tree(NamedTuple):
    """Nodes in an order in which each comes behind its parent.

    Attributes
    ----------
    parents : tuple of int
        -1 for roots.
    labels : tuple of str
        What stands in a node.
    notes : tuple of str
        What stands beside it; may be empty.
    marked : tuple of bool
        Nodes that are drawn as ends: words of a trie, tokens of a word.
    """

    parents: tuple[int, ...]
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    marked: tuple[bool, ...]

    def children(self) -> list[list[int]]:
        """Children of each node, in order."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(node)
        return found

    def places(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Where nodes are drawn: leaves side by side, parents above the middle of their children.

        Returns
        -------
        x : float64[nodes]
        depth : int64[nodes]
            0 for roots.
        """
        children = self.children()
        x, depth = np.zeros(len(self.parents)), np.zeros(len(self.parents), np.int64)
        for node, parent in enumerate(self.parents):
            depth[node] = 0 if parent < 0 else depth[parent] + 1
        leaf = 0
        # depth first, so that leaves stand in the order in which they are read
        pending = [root for root in range(len(self.parents) - 1, -1, -1) if self.parents[root] < 0]
        while pending:
            node = pending.pop()
            if not children[node]:
                x[node] = leaf
                leaf += 1
            pending.extend(reversed(children[node]))
        for node in range(len(self.parents) - 1, -1, -1):
            if children[node]:
                x[node] = (x[children[node][0]] + x[children[node][-1]]) / 2
        return x, depth


def trie_of(words: Iterable[str]) -> Tree:
    """The trie of some words: a node for each beginning, the root for the empty one.

    Parameters
    ----------
    words : iterable of str

    Returns
    -------
    Tree
        Labels are characters, notes the words that end in a node. Children are in the order of their characters.

    Raises
    ------
    ValueError
        There are no words, or one is empty.
    """
    listed = sorted(set(words))
    if not listed or not listed[0]:
        raise ValueError("a trie needs words of at least one character")
    nodes: dict[str, int] = {"": 0}
    parents, labels = [-1], [""]
    for word in listed:
        for end in range(1, len(word) + 1):
            if word[:end] not in nodes:
                nodes[word[:end]] = len(parents)
                parents.append(nodes[word[: end - 1]])
                labels.append(word[end - 1])
    notes = [""] * len(parents)
    for word in listed:
        notes[nodes[word]] = word
    return Tree(tuple(parents), tuple(labels), tuple(notes), tuple(bool(note) for note in notes))


def merge_tree(opened: OpenedVocabulary, word: str) -> Tree:
    """How the tokens of a word are merged of its characters (or bytes).

    Within a token merges happen in the same order as in the token alone, so the tree of each token is that of its
    last merge, and of the last merges of its two parts.

    Parameters
    ----------
    opened : OpenedVocabulary
        Of :func:`vocab_tools.editing.opening.open_vocabulary`.
    word : str

    Returns
    -------
    Tree
        A root for each token, in order. Notes say in which order the merges happen, from 1.

    Raises
    ------
    UnsupportedFeatureError
        The vocabulary has no merges.
    """
    parts, order = opened.editable.parts, opened.editable.order
    if not (parts[:, 0] >= 0).any():
        raise UnsupportedFeatureError(
            f"{opened.where}: has no merges, so a word has no tree; the lattice shows what Unigram does"
        )
    tokenizer = opened.tokenizer
    parents: list[int] = []
    labels: list[str] = []
    ids: list[int] = []
    pending = [(number, -1, "") for number in reversed(tokenizer.encode(word, special="plain").tolist())]
    while pending:
        number, parent, text = pending.pop()
        node = len(parents)
        parents.append(parent)
        ids.append(number)
        labels.append(text if number < 0 else tokenizer.id_to_token(number))
        if number < 0 or (parts[number] < 0).all():
            continue
        left, right = parts[number].tolist()
        texts = _texts(labels[node], *(tokenizer.id_to_token(part) if part >= 0 else None for part in (left, right)))
        pending += [(right, node, texts[1]), (left, node, texts[0])]
    inner = sorted({parent for parent in parents if parent >= 0})
    happens = sorted(inner, key=lambda node: -order[ids[node]])
    steps = {node: str(step) for step, node in enumerate(happens, start=1)}
    notes = tuple(steps.get(node, "") for node in range(len(parents)))
    return Tree(tuple(parents), tuple(labels), notes, tuple(parent < 0 for parent in parents))


def _texts(whole: str, left: str | None, right: str | None) -> tuple[str, str]:
    """Spelling of two parts; of a character that is no piece what the other part leaves."""
    if left is None:
        left = whole[:1] if right is None else whole.removesuffix(right)
    return left, whole.removeprefix(left) if right is None else right
