"""Plain twin of ``numba_nlp/kernels/articles/bpe_linked_list.py``."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from numba_nlp.reference.articles.merge_pieces import Symbol, Token, emit_tokens, prepare_text


@dataclass
class Node:
    """A symbol, and its neighbours in the list."""

    start: int
    stop: int
    previous: int | None
    following: int | None
    is_gone: bool = False


def tokenize_priority_queue_linked_list(ranks: Mapping[str, int], unknown: int, text: str) -> list[Token]:
    """Tokens of a text."""
    prepared = prepare_text(text)
    n = len(prepared)
    nodes = [Node(i, i + 1, i - 1 if i else None, i + 1 if i + 1 < n else None) for i in range(n)]
    queue: list[tuple[int, int, int, int]] = []

    def push(left: int | None, right: int | None) -> None:
        if left is not None and right is not None:
            joined = prepared[nodes[left].start : nodes[right].stop]
            if joined in ranks:
                heapq.heappush(queue, (ranks[joined], left, right, len(joined)))

    for i in range(n - 1):
        push(i, i + 1)
    while queue:
        _, left, right, size = heapq.heappop(queue)
        a, b = nodes[left], nodes[right]
        if a.is_gone or b.is_gone or a.stop - a.start + b.stop - b.start != size:
            continue
        a.stop, a.following, b.is_gone = b.stop, b.following, True
        if b.following is not None:
            nodes[b.following].previous = left
        push(a.previous, left)
        push(left, a.following)
    symbols = [Symbol(node.start, node.stop) for node in nodes if not node.is_gone]
    return emit_tokens(ranks, unknown, text, prepared, symbols)
