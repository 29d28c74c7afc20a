"""Plain twin of ``numba_nlp/kernels/articles/bpe_search_tree.py``: an AVL tree of symbols that can be looked at."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from numba_nlp.reference.articles.merge_pieces import Symbol, Token, emit_tokens, prepare_text


@dataclass
class Node:
    """A symbol, and what is left and right of it."""

    symbol: Symbol
    left: Node | None = None
    right: Node | None = None
    height: int = 1


def height_of(node: Node | None) -> int:
    """Nodes on the longest way down."""
    return 0 if node is None else node.height


def _balanced(node: Node) -> Node:
    """The node, or the one that takes its place, after a change below."""
    balance = height_of(node.left) - height_of(node.right)
    if balance > 1 and node.left is not None:
        if height_of(node.left.left) < height_of(node.left.right):
            node.left = _rotated_left(node.left)
        return _rotated_right(node)
    if balance < -1 and node.right is not None:
        if height_of(node.right.right) < height_of(node.right.left):
            node.right = _rotated_right(node.right)
        return _rotated_left(node)
    node.height = 1 + max(height_of(node.left), height_of(node.right))
    return node


def _rotated_right(node: Node) -> Node:
    top = node.left
    assert top is not None
    node.left, top.right = top.right, node
    node.height = 1 + max(height_of(node.left), height_of(node.right))
    top.height = 1 + max(height_of(top.left), height_of(top.right))
    return top


def _rotated_left(node: Node) -> Node:
    top = node.right
    assert top is not None
    node.right, top.left = top.left, node
    node.height = 1 + max(height_of(node.left), height_of(node.right))
    top.height = 1 + max(height_of(top.left), height_of(top.right))
    return top


class SymbolTree:
    """Symbols ordered by where they start, in an AVL tree."""

    def __init__(self) -> None:
        self.root: Node | None = None

    def insert(self, symbol: Symbol) -> None:
        """Add a symbol that the tree does not hold."""
        self.root = self._inserted(self.root, symbol)

    def _inserted(self, node: Node | None, symbol: Symbol) -> Node:
        if node is None:
            return Node(symbol)
        if symbol < node.symbol:
            node.left = self._inserted(node.left, symbol)
        else:
            node.right = self._inserted(node.right, symbol)
        return _balanced(node)

    def remove(self, symbol: Symbol) -> None:
        """Remove a symbol that the tree holds."""
        self.root = self._removed(self.root, symbol)

    def _removed(self, node: Node | None, symbol: Symbol) -> Node | None:
        assert node is not None
        if symbol < node.symbol:
            node.left = self._removed(node.left, symbol)
        elif symbol > node.symbol:
            node.right = self._removed(node.right, symbol)
        elif node.left is None:
            return node.right
        elif node.right is None:
            return node.left
        else:
            smallest = node.right
            while smallest.left is not None:
                smallest = smallest.left
            node.symbol = smallest.symbol
            node.right = self._removed(node.right, smallest.symbol)
        return _balanced(node)

    def __contains__(self, symbol: Symbol) -> bool:
        node = self.root
        while node is not None and node.symbol != symbol:
            node = node.left if symbol < node.symbol else node.right
        return node is not None

    def after(self, symbol: Symbol) -> Symbol | None:
        """The next symbol."""
        found, node = None, self.root
        while node is not None:
            if node.symbol > symbol:
                found, node = node.symbol, node.left
            else:
                node = node.right
        return found

    def before(self, symbol: Symbol) -> Symbol | None:
        """The previous symbol."""
        found, node = None, self.root
        while node is not None:
            if node.symbol < symbol:
                found, node = node.symbol, node.right
            else:
                node = node.left
        return found

    def __iter__(self) -> Iterator[Symbol]:
        waiting: list[Node] = []
        node = self.root
        while waiting or node is not None:
            while node is not None:
                waiting.append(node)
                node = node.left
            node = waiting.pop()
            yield node.symbol
            node = node.right


def merge_by_tree(ranks: Mapping[str, int], prepared: str) -> Iterator[SymbolTree]:
    """The tree at the start and after each merge; always the same object."""
    tree = SymbolTree()
    queue: list[tuple[int, int, Symbol, Symbol]] = []

    def push(left: Symbol | None, right: Symbol | None) -> None:
        if left is not None and right is not None:
            joined = prepared[left.start : right.stop]
            if joined in ranks:
                heapq.heappush(queue, (ranks[joined], left.start, left, right))

    for place in range(len(prepared)):
        tree.insert(Symbol(place, place + 1))
        if place:
            push(Symbol(place - 1, place), Symbol(place, place + 1))
    yield tree
    while queue:
        _, _, left, right = heapq.heappop(queue)
        if left not in tree or right not in tree:
            continue
        tree.remove(left)
        tree.remove(right)
        joined = Symbol(left.start, right.stop)
        tree.insert(joined)
        push(joined, tree.after(joined))
        push(tree.before(joined), joined)
        yield tree


def tokenize_priority_queue_bst(ranks: Mapping[str, int], unknown: int, text: str) -> list[Token]:
    """Tokens of a text."""
    prepared = prepare_text(text)
    *_, tree = merge_by_tree(ranks, prepared)
    return emit_tokens(ranks, unknown, text, prepared, list(tree))
