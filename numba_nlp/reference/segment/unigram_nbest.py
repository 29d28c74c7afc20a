"""Twin of ``kernels/segment/unigram_nbest.py``: the same search over Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numba_nlp.reference.segment.unigram_lattice import Node


@dataclass(eq=False)
class Hypothesis:
    """The end of a path."""

    node: Node | None  # None at both ends of the text
    following: Hypothesis | None
    total: Any  # with the best continuation to the start
    behind: Any  # of the end alone


def score_ahead(nodes: Sequence[Node], n_characters: int) -> tuple[dict[Node, Any], Any]:
    """Score of the best path up to and with each node, and of the best path to the end."""
    ahead: dict[Node, Any] = {}
    best = np.float32(0)
    for place in range(n_characters + 1):
        if place > 0:
            best = max(ahead[node] for node in nodes if node.end == place)
        for node in nodes:
            if node.begin == place:
                ahead[node] = best + node.score
    return ahead, best


def best_path(nodes: Sequence[Node], ahead: dict[Node, Any], n_characters: int) -> list[int]:
    """Steps of the best path; before each node the first with the highest sum."""
    steps: list[int] = []
    end, score = n_characters, np.float32(0)
    while end > 0:
        # max() keeps the first among equals
        chosen = max((node for node in nodes if node.end == end), key=lambda node: ahead[node] + score)
        steps.insert(0, chosen.step)
        end, score = chosen.begin, chosen.score
    return steps


def push_entry(queue: list[Hypothesis], entry: Hypothesis) -> None:
    """Add an entry behind the others and let it rise while the one above is less."""
    queue.append(entry)
    hole = len(queue) - 1
    while hole > 0 and queue[(hole - 1) // 2].total < entry.total:
        queue[hole] = queue[(hole - 1) // 2]
        hole = (hole - 1) // 2
    queue[hole] = entry


def pop_entry(queue: list[Hypothesis]) -> Hypothesis:
    """Take the first entry; the larger of the two below moves up, the right one among equals, and so on to a leaf.

    The last entry of the heap goes to that leaf and rises from there.
    """
    top, entry = queue[0], queue.pop()
    if not queue:
        return top
    hole = 0
    while 2 * hole + 2 < len(queue):
        left, right = 2 * hole + 1, 2 * hole + 2
        larger = left if queue[right].total < queue[left].total else right
        queue[hole] = queue[larger]
        hole = larger
    if 2 * hole + 2 == len(queue):
        queue[hole] = queue[2 * hole + 1]
        hole = 2 * hole + 1
    while hole > 0 and queue[(hole - 1) // 2].total < entry.total:
        queue[hole] = queue[(hole - 1) // 2]
        hole = (hole - 1) // 2
    queue[hole] = entry
    return top


def nbest_paths(
    nodes: Sequence[Node],
    n_characters: int,
    size: int,
    *,
    max_queue: int = 10000,
    min_queue: int = 512,
    max_new: int = 100000,
    max_all: int = 500000,
    max_cuts: int = 10,
) -> list[tuple[list[int], Any]]:
    """Steps and score of the best paths, best first."""
    ahead, best = score_ahead(nodes, n_characters)
    queue = [Hypothesis(None, None, best, np.float32(0))]
    made, held, most_held, cuts = 1, 1, max_new, 0
    least_queue = min(min_queue, size * 10)
    found: list[tuple[list[int], Any]] = []
    while queue:
        top = pop_entry(queue)
        if top.node is None and top.following is not None:
            steps = []
            hypothesis = top.following
            while hypothesis.node is not None:
                steps.append(hypothesis.node.step)
                assert hypothesis.following is not None
                hypothesis = hypothesis.following
            found.append((steps, top.total))
            if len(found) == size:
                break
            continue
        end = n_characters if top.node is None else top.node.begin
        grown = [Hypothesis(None, top, top.behind, top.behind)]
        if end > 0:
            grown = [
                Hypothesis(node, top, ahead[node] + top.behind, node.score + top.behind)
                for node in nodes
                if node.end == end
            ]
        for hypothesis in grown:
            push_entry(queue, hypothesis)
        made, held = made + len(grown), held + len(grown)
        too_much = len(queue) >= max_queue or (len(queue) > least_queue and held >= most_held)
        if made >= max_all or (too_much and cuts >= max_cuts):
            return [(best_path(nodes, ahead, n_characters), best)]
        if too_much:
            cuts += 1
            kept = [pop_entry(queue) for _ in range(min(len(queue), least_queue))]
            queue = []
            needed = set()
            for entry in kept:
                push_entry(queue, entry)
                part: Hypothesis | None = entry
                while part is not None:
                    needed.add(part)
                    part = part.following
            held = len(needed)
            most_held = held + max_new
    return found
