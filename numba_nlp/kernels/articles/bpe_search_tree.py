"""The article's third algorithm: a priority queue of pairs, and the symbols in a balanced search tree. O(n log n).

The tree is an AVL tree (Adelson-Velsky, Landis 1962) in flat arrays, ordered by where symbols start. A pair in the
queue names its two symbols by their bytes; when its turn comes it is merged if the tree still holds both. The left
symbol then grows in place, which keeps its place in the order, and the right one is removed.

Twin: ``numba_nlp.reference.articles.bpe_search_tree``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.articles.merge_pieces import emit_token, is_too_short, piece_rank, prepare_text
from numba_nlp.kernels.tables.heap import heap_key, pop_entry, push_entry

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@kernel
def build_tree(n, lefts, rights, heights, path):
    """Link nodes 0 to ``n - 1``, in order, to a balanced tree.

    Parameters
    ----------
    n : int64
    lefts, rights, heights : int32[n] each
        Written: children of each node, -1 for none, and the height of the tree below, 1 for a leaf.
    path : int32[64]
        Scratch.

    Returns
    -------
    int64
        The root, -1 when there is no node.
    """
    # each node is the middle one of a range; the ranges that are still to be split wait on a stack
    if n == 0:
        return np.int64(-1)
    path[0], path[1] = 0, n
    depth = np.int64(2)
    while depth > 0:
        first, last = np.int64(path[depth - 2]), np.int64(path[depth - 1])
        depth -= 2
        middle = (first + last) >> 1
        lefts[middle] = (first + middle) >> 1 if first < middle else -1
        rights[middle] = (middle + 1 + last) >> 1 if middle + 1 < last else -1
        height = 0
        while (last - first) >> height != 0:
            height += 1
        heights[middle] = height
        if middle + 1 < last:
            path[depth], path[depth + 1] = middle + 1, last
            depth += 2
        if first < middle:
            path[depth], path[depth + 1] = first, middle
            depth += 2
    return np.int64(n >> 1)


@kernel
def find_node(root, key, keys, lefts, rights):
    """Node with a key, or -1.

    Parameters
    ----------
    root, key : int64
    keys, lefts, rights : int32[n] each
        Keys and children of the nodes.

    Returns
    -------
    int64
    """
    node = np.int64(root)
    while node >= 0 and keys[node] != key:
        node = np.int64(lefts[node] if key < keys[node] else rights[node])
    return node


@kernel
def node_after(root, key, keys, lefts, rights):
    """Node with the smallest key above ``key``, or -1; arguments as of :func:`find_node`."""
    found = np.int64(-1)
    node = np.int64(root)
    while node >= 0:
        if keys[node] > key:
            found = node
            node = np.int64(lefts[node])
        else:
            node = np.int64(rights[node])
    return found


@kernel
def node_before(root, key, keys, lefts, rights):
    """Node with the largest key below ``key``, or -1; arguments as of :func:`find_node`."""
    found = np.int64(-1)
    node = np.int64(root)
    while node >= 0:
        if keys[node] < key:
            found = node
            node = np.int64(rights[node])
        else:
            node = np.int64(lefts[node])
    return found


@kernel
def _height(node, heights):
    return np.int64(heights[node]) if node >= 0 else np.int64(0)


@kernel
def _update_height(node, lefts, rights, heights):
    heights[node] = 1 + max(_height(lefts[node], heights), _height(rights[node], heights))


@kernel
def _rotate_right(node, lefts, rights, heights):
    top = lefts[node]
    lefts[node] = rights[top]
    rights[top] = node
    _update_height(node, lefts, rights, heights)
    _update_height(top, lefts, rights, heights)
    return np.int64(top)


@kernel
def _rotate_left(node, lefts, rights, heights):
    top = rights[node]
    rights[node] = lefts[top]
    lefts[top] = node
    _update_height(node, lefts, rights, heights)
    _update_height(top, lefts, rights, heights)
    return np.int64(top)


@kernel
def rebalance(node, lefts, rights, heights):
    """Make the heights below a node differ by one at most, which differ by two at most.

    Parameters
    ----------
    node : int64
    lefts, rights, heights : int32[n] each
        Changed.

    Returns
    -------
    int64
        The node that stands in its place now.
    """
    left, right = np.int64(lefts[node]), np.int64(rights[node])
    balance = _height(left, heights) - _height(right, heights)
    if balance > 1:
        if _height(lefts[left], heights) < _height(rights[left], heights):
            lefts[node] = _rotate_left(left, lefts, rights, heights)
        return _rotate_right(node, lefts, rights, heights)
    if balance < -1:
        if _height(rights[right], heights) < _height(lefts[right], heights):
            rights[node] = _rotate_right(right, lefts, rights, heights)
        return _rotate_left(node, lefts, rights, heights)
    _update_height(node, lefts, rights, heights)
    return np.int64(node)


@kernel
def remove_node(root, key, keys, values, lefts, rights, heights, path):
    """Remove the node with a key that the tree holds.

    Parameters
    ----------
    root, key : int64
    keys, values, lefts, rights, heights : int32[n] each
        Keys, values, children and heights of the nodes; changed.
    path : int32[64]
        Scratch.

    Returns
    -------
    int64
        The root now.
    """
    node = np.int64(root)
    depth = 0
    while keys[node] != key:
        path[depth] = node
        depth += 1
        node = np.int64(lefts[node] if key < keys[node] else rights[node])
    if lefts[node] >= 0 and rights[node] >= 0:
        # the next node has no left child: it gives its content and goes
        path[depth] = node
        depth += 1
        gone = np.int64(rights[node])
        while lefts[gone] >= 0:
            path[depth] = gone
            depth += 1
            gone = np.int64(lefts[gone])
        keys[node] = keys[gone]
        values[node] = values[gone]
        node = gone
    child = np.int64(lefts[node] if lefts[node] >= 0 else rights[node])
    while depth > 0:
        depth -= 1
        parent = np.int64(path[depth])
        if lefts[parent] == node:
            lefts[parent] = child
        else:
            rights[parent] = child
        height = heights[parent]
        node = parent
        child = rebalance(parent, lefts, rights, heights)
        if child == parent and heights[child] == height:
            # nothing changes above
            return np.int64(root)
    return child


@inlined
def _push_pair(pieces, scratch, start, middle, stop, size):
    """Put a pair of symbols into the queue when it merges; returns the new size."""
    rank = piece_rank(pieces, scratch.text, np.int64(start), np.int64(stop))
    if rank < 0:
        return size
    value = np.uint64((np.int64(middle) << 32) | np.int64(stop))
    return push_entry(scratch.heap, scratch.heap_values, size, heap_key(rank, start), value)


@kernel
def tokenize_priority_queue_bst(pieces, data, start, stop, scratch, ids, token_starts, token_ends):
    """Tokens of a text; arguments and result as of :func:`numba_nlp.kernels.articles.bpe_naive.tokenize_naive`."""
    if is_too_short(scratch, start, stop):
        return start - stop
    # nodes are ordered by where their symbol starts
    keys, values, lefts, rights, heights = (
        scratch.starts, scratch.ends, scratch.previous, scratch.following, scratch.sizes,
    )  # fmt: skip
    n = prepare_text(data, start, stop, scratch.text, scratch.origins, keys)
    for i in range(n):
        values[i] = keys[i + 1]
    root = build_tree(n, lefts, rights, heights, scratch.path)
    size = np.int64(0)
    for i in range(n - 1):
        size = _push_pair(pieces, scratch, keys[i], keys[i + 1], values[i + 1], size)
    while size > 0:
        first = np.int64(scratch.heap[0] & LOW)
        value = scratch.heap_values[0]
        size = pop_entry(scratch.heap, scratch.heap_values, size)
        middle, last = np.int64(value >> HALF), np.int64(value & LOW)
        left = find_node(root, first, keys, lefts, rights)
        if left < 0 or values[left] != middle:
            continue
        right = find_node(root, middle, keys, lefts, rights)
        if right < 0 or values[right] != last:
            continue
        values[left] = last
        root = remove_node(root, middle, keys, values, lefts, rights, heights, scratch.path)
        after = node_after(root, first, keys, lefts, rights)
        if after >= 0:
            size = _push_pair(pieces, scratch, first, keys[after], values[after], size)
        before = node_before(root, first, keys, lefts, rights)
        if before >= 0:
            size = _push_pair(pieces, scratch, keys[before], first, last, size)
    out = np.int64(0)
    place = np.int64(-1)
    node = node_after(root, place, keys, lefts, rights)
    while node >= 0:
        place = np.int64(keys[node])
        out = emit_token(
            pieces, scratch.text, scratch.origins, place, np.int64(values[node]), ids, token_starts, token_ends, out
        )
        node = node_after(root, place, keys, lefts, rights)
    return out
