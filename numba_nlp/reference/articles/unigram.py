"""Twin of ``kernels/articles/unigram.py``: the article's own data structures, a dictionary and a tree of characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class Node(NamedTuple):
    """A piece on the best path to a character."""

    score: Any  # float32
    number: int  # id
    start: int
    end: int


@dataclass
class DagNode:
    """A node of the article's "DAG": what has been read, and whether it is a piece."""

    text: str
    leaf: bool = False
    score: Any = None
    index: int = -1
    children: dict[str, DagNode] = field(default_factory=dict)


def replace_spaces(text: str) -> str:
    """Write U+2581 for each space."""
    return text.replace(" ", "\u2581")


def list_characters(text: str) -> list[int]:
    """Bytes before each character, and all bytes."""
    return [len(text[:i].encode()) for i in range(len(text) + 1)]


def fill_article_slots(pieces: Sequence[str]) -> dict[str, int]:
    """Make the vocabulary: piece to id."""
    return {piece: index for index, piece in enumerate(pieces)}


def find_substring(vocabulary: Mapping[str, int], text: str) -> int:
    """Id of a piece, or -1."""
    return vocabulary.get(text, -1)


def insert(root: DagNode, piece: str, score: Any, index: int) -> None:
    """Enter a piece character by character."""
    node = root
    for character in piece:
        node = node.children.setdefault(character, DagNode(node.text + character))
    node.leaf, node.score, node.index = True, score, index


def common_prefix_search(root: DagNode, text: str) -> tuple[list[DagNode], int]:
    """Pieces that the text begins with, shortest first, and the number of steps that were tried."""
    found, steps, node = [], 0, root
    for character in text:
        steps += 1
        if character not in node.children:
            break
        node = node.children[character]
        if node.leaf:
            found.append(node)
    return found, steps


def walk_back(nodes: Sequence[Node | None]) -> list[Node]:
    """Path to the last character, in order."""
    path: list[Node] = []
    node = nodes[-1]
    while node is not None:
        path.insert(0, node)
        node = nodes[node.start]
    return path


def nested_loops(vocabulary: Mapping[str, int], scores: Sequence[Any], text: str) -> list[Node]:
    """Best path, looking up all substrings."""
    nodes: list[Node | None] = [None] * (len(text) + 1)
    best = [np.float32(0)] + [np.float32(-np.inf)] * len(text)
    for end in range(len(text) + 1):
        for start in range(end):
            index = find_substring(vocabulary, text[start:end])
            if index >= 0:
                score = best[start] + scores[index]
                if score > best[end]:
                    nodes[end], best[end] = Node(score, index, start, end), score
        if best[end] == -np.inf:
            nodes[end], best[end] = Node(np.float32(-np.inf), 0, end - 1, end), np.float32(0)
    return walk_back(nodes)


def trie(root: DagNode, text: str) -> list[Node]:
    """Best path, by common prefix search."""
    nodes: list[Node | None] = [None] * (len(text) + 1)
    best = [np.float32(0)] + [np.float32(-np.inf)] * len(text)
    for start in range(len(text)):
        for match in common_prefix_search(root, text[start:])[0]:
            end = start + len(match.text)
            score = best[start] + match.score
            if score > best[end]:
                nodes[end], best[end] = Node(score, match.index, start, end), score
        if best[start + 1] == -np.inf:
            nodes[start + 1] = Node(np.float32(-np.inf), 0, start, start + 1)
            best[start + 1] = np.float32(0)
    return walk_back(nodes)
