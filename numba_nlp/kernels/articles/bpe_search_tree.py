"""The article's third algorithm: a priority queue of pairs, and the symbols in a balanced search tree. O(n log n).

The tree is an AVL tree (Adelson-Velsky, Landis 1962) in a flat array, ordered by where symbols start. A pair in the
queue is its rank and where it starts; it is merged if the tree still holds a symbol there and, after it, one with which
it has the length of the piece (in the article: if the tree holds both symbols). The left symbol then grows in place,
which keeps its place in the order, and the right one is removed.

Twin: ``numba_nlp.reference.articles.bpe_search_tree``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.articles.merge_pieces import (
    NODE,
    STRETCH,
    has_length,
    is_too_short,
    keep_tokens,
    piece_rank,
    prepare_text,
)
from numba_nlp.kernels.tables.heap import heap_key, pop_key, push_key

#: Numbers of a node: first character, character after the last, children or -1, height of the tree below (leaf: 1).
START, END, LEFT, RIGHT, HEIGHT = 0, 1, 2, 3, 4
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@kernel
def build_tree(start, n, nodes, path):
    """Make a balanced tree of characters.

    Parameters
    ----------
    start, n : int64
        The first of them, and their number.
    nodes : int32[NODE * n]
        Written: node ``i`` is character ``start + i``.
    path : int32[64]
        Scratch.

    Returns
    -------
    int64
        The root, -1 when there is no node.
    """
    if n == 0:
        return np.int64(-1)
    # each node is the middle one of a range; the ranges that are still to be split wait on a stack
    path[0], path[1] = 0, n
    depth = np.int64(2)
    while depth > 0:
        first, last = np.int64(path[depth - 2]), np.int64(path[depth - 1])
        depth -= 2
        middle = (first + last) >> 1
        place = NODE * middle
        nodes[place + START] = start + middle
        nodes[place + END] = start + middle + 1
        nodes[place + LEFT] = (first + middle) >> 1 if first < middle else -1
        nodes[place + RIGHT] = (middle + 1 + last) >> 1 if middle + 1 < last else -1
        height = 0
        while (last - first) >> height != 0:
            height += 1
        nodes[place + HEIGHT] = height
        if middle + 1 < last:
            path[depth], path[depth + 1] = middle + 1, last
            depth += 2
        if first < middle:
            path[depth], path[depth + 1] = first, middle
            depth += 2
    return np.int64(n >> 1)


@inlined
def find_node(nodes, root, start):
    """Node of the symbol that starts at a place, or -1.

    Parameters
    ----------
    nodes : int32[NODE * n]
    root, start : int64

    Returns
    -------
    int64
    """
    node = np.int64(root)
    while node >= 0 and nodes[NODE * node + START] != start:
        node = np.int64(nodes[NODE * node + (LEFT if start < nodes[NODE * node + START] else RIGHT)])
    return node


@inlined
def node_after(nodes, root, start):
    """Node of the first symbol that starts after a place, or -1; arguments as of :func:`find_node`."""
    found = np.int64(-1)
    node = np.int64(root)
    while node >= 0:
        if nodes[NODE * node + START] > start:
            found = node
            node = np.int64(nodes[NODE * node + LEFT])
        else:
            node = np.int64(nodes[NODE * node + RIGHT])
    return found


@inlined
def node_before(nodes, root, start):
    """Node of the last symbol that starts before a place, or -1; arguments as of :func:`find_node`."""
    found = np.int64(-1)
    node = np.int64(root)
    while node >= 0:
        if nodes[NODE * node + START] < start:
            found = node
            node = np.int64(nodes[NODE * node + RIGHT])
        else:
            node = np.int64(nodes[NODE * node + LEFT])
    return found


@inlined
def _height(nodes, node):
    return np.int64(nodes[NODE * node + HEIGHT]) if node >= 0 else np.int64(0)


@inlined
def _update_height(nodes, node):
    left, right = np.int64(nodes[NODE * node + LEFT]), np.int64(nodes[NODE * node + RIGHT])
    nodes[NODE * node + HEIGHT] = 1 + max(_height(nodes, left), _height(nodes, right))


@kernel
def _rotate(nodes, node, side):
    """Let the child on one side take the place of its parent; gives the child."""
    other = LEFT + RIGHT - side
    top = np.int64(nodes[NODE * node + side])
    nodes[NODE * node + side] = nodes[NODE * top + other]
    nodes[NODE * top + other] = node
    _update_height(nodes, node)
    _update_height(nodes, top)
    return top


@inlined
def rebalance(nodes, node):
    """Make the heights below a node differ by one at most, which differ by two at most.

    Parameters
    ----------
    nodes : int32[NODE * n]
        Changed.
    node : int64

    Returns
    -------
    int64
        The node that stands in its place now.
    """
    left, right = np.int64(nodes[NODE * node + LEFT]), np.int64(nodes[NODE * node + RIGHT])
    balance = _height(nodes, left) - _height(nodes, right)
    if -1 <= balance <= 1:
        _update_height(nodes, node)
        return np.int64(node)
    side = LEFT if balance > 1 else RIGHT
    child = left if balance > 1 else right
    outer = np.int64(nodes[NODE * child + side])
    inner = np.int64(nodes[NODE * child + LEFT + RIGHT - side])
    if _height(nodes, outer) < _height(nodes, inner):
        nodes[NODE * node + side] = _rotate(nodes, child, LEFT + RIGHT - side)
    return _rotate(nodes, np.int64(node), side)


@kernel
def remove_node(nodes, root, start, path):
    """Remove the node of the symbol that starts at a place, which the tree holds.

    Parameters
    ----------
    nodes : int32[NODE * n]
        Changed.
    root, start : int64
    path : int32[64]
        Scratch.

    Returns
    -------
    int64
        The root now.
    """
    node = np.int64(root)
    depth = 0
    while nodes[NODE * node + START] != start:
        path[depth] = node
        depth += 1
        node = np.int64(nodes[NODE * node + (LEFT if start < nodes[NODE * node + START] else RIGHT)])
    if nodes[NODE * node + LEFT] >= 0 and nodes[NODE * node + RIGHT] >= 0:
        # the next node has no left child: it gives its content and goes
        path[depth] = node
        depth += 1
        gone = np.int64(nodes[NODE * node + RIGHT])
        while nodes[NODE * gone + LEFT] >= 0:
            path[depth] = gone
            depth += 1
            gone = np.int64(nodes[NODE * gone + LEFT])
        nodes[NODE * node + START] = nodes[NODE * gone + START]
        nodes[NODE * node + END] = nodes[NODE * gone + END]
        node = gone
    child = np.int64(nodes[NODE * node + LEFT])
    if child < 0:
        child = np.int64(nodes[NODE * node + RIGHT])
    while depth > 0:
        depth -= 1
        parent = np.int64(path[depth])
        nodes[NODE * parent + (LEFT if nodes[NODE * parent + LEFT] == node else RIGHT)] = child
        height = nodes[NODE * parent + HEIGHT]
        node = parent
        child = rebalance(nodes, parent)
        if child == parent and nodes[NODE * child + HEIGHT] == height:
            # nothing changes above
            return np.int64(root)
    return child


@inlined
def _push_pair(pieces, text, starts, left, end, heap, size):
    """Put the pair of symbols in some characters into the queue when it merges; returns the new size."""
    rank = piece_rank(pieces, text, np.int64(starts[left]), np.int64(starts[end]))
    return push_key(heap, size, heap_key(rank, left)) if rank >= 0 else size


@kernel
def merge_by_tree(pieces, scratch, first, last):
    """Merge some characters of the prepared text until nothing merges.

    Parameters
    ----------
    pieces : MergePieces
    scratch : ArticleScratch
        ``text`` and ``starts`` are read. Of each symbol left ``ends`` is written at its first character.
    first, last : int64
        The characters, ``first < last``.

    Returns
    -------
    int64
        Root of the tree in ``scratch.nodes``.
    """
    text, starts, nodes, heap = scratch.text, scratch.starts, scratch.nodes, scratch.heap
    root = build_tree(first, last - first, nodes, scratch.path)
    size = np.int64(0)
    for i in range(first, last - 1):
        size = _push_pair(pieces, text, starts, np.int64(i), np.int64(i + 2), heap, size)
    while size > 0:
        start = np.int64(heap[0] & LOW)
        rank = np.int64(heap[0] >> HALF)
        size = pop_key(heap, size)
        left = find_node(nodes, root, start)
        if left < 0:
            continue
        middle = np.int64(nodes[NODE * left + END])
        right = find_node(nodes, root, middle)
        if right < 0:
            continue
        end = np.int64(nodes[NODE * right + END])
        if not has_length(pieces, rank, np.int64(starts[end]) - np.int64(starts[start])):
            continue
        nodes[NODE * left + END] = end
        root = remove_node(nodes, root, middle, scratch.path)
        after = node_after(nodes, root, start)
        if after >= 0:
            size = _push_pair(pieces, text, starts, start, np.int64(nodes[NODE * after + END]), heap, size)
        before = node_before(nodes, root, start)
        if before >= 0:
            size = _push_pair(pieces, text, starts, np.int64(nodes[NODE * before + START]), end, heap, size)
    node = node_after(nodes, root, first - 1)
    while node >= 0:
        start = np.int64(nodes[NODE * node + START])
        scratch.ends[start] = nodes[NODE * node + END]
        node = node_after(nodes, root, start)
    return root


@kernel
def tokenize_priority_queue_bst(pieces, data, start, stop, scratch, ids, token_starts, token_ends):
    """Tokens of a text; arguments and result as of :func:`numba_nlp.kernels.articles.bpe_naive.tokenize_naive`."""
    if is_too_short(scratch, start, stop):
        return start - stop
    n = prepare_text(data, start, stop, scratch.text, scratch.origins, scratch.starts)
    stretch = np.int64(STRETCH)
    first, expected, out = np.int64(0), np.int64(-1), np.int64(0)
    while True:
        last = min(first + stretch, n)
        merge_by_tree(pieces, scratch, first, last)
        out, first, expected = keep_tokens(
            pieces, scratch, first, last, n, expected, ids, token_starts, token_ends, out
        )
        if first == n:
            return out
        if first < 0:
            stretch, first, out = n, np.int64(0), np.int64(0)
