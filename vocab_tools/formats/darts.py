"""Darts-clone double arrays as files hold them: check one, list its keys, build one.

The layout is described in ``numba_nlp/kernels/tables/darts.py``. Nodes may be shared, as builders make them from a
directed acyclic word graph: the array of NFKC has 225,000 keys in 45,000 units. So checks go over the nodes of one
depth after the other; only :func:`items` spells the keys out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.tables import darts

__all__ = ["MAX_KEY", "DartsError", "Depth", "build", "check", "depths", "has_children", "items"]

#: Longest key that is read; a longer one means that the array leads in circles.
MAX_KEY = 1024

_HAS_LEAF = 0x100
_VALUE = 0x80000000
_INVALID = 8


class DartsError(ValueError):
    """The units are no double array that can be trusted; the message says why."""


class Depth(NamedTuple):
    """The nodes that keys reach after some number of bytes, each once.

    Attributes
    ----------
    length : int
        That number.
    nodes : int64[n]
        Indices of their units.
    labels : int64[n]
        The byte over which each was reached.
    ends : bool[n]
        Whether a key ends there.
    values : int64[n]
        The value of that key, -1 where none ends.
    nested : int64[n]
        Largest number of keys on one way to the node, the one that ends there included.
    """

    length: int
    nodes: NDArray[np.int64]
    labels: NDArray[np.int64]
    ends: NDArray[np.bool_]
    values: NDArray[np.int64]
    nested: NDArray[np.int64]


def check(units: NDArray[np.uint32], n_values: int) -> None:
    """Raise unless no input can lead a lookup outside of the array, and all values are below ``n_values``.

    Raises
    ------
    DartsError
    """
    if units.size == 0 or units.size % 256:
        raise DartsError(f"{units.size} units, which is not a multiple of 256 above 0")
    bad = int(darts.first_bad_unit(units, n_values))
    if bad >= 0:
        raise DartsError(
            f"unit {bad} (0x{int(units[bad]):08x}) leads outside of the array or of its {n_values:,} values"
        )


class _Graph:
    """Children of every node, found at once for the whole array."""

    def __init__(self, units: NDArray[np.uint32]) -> None:
        self.units = units.astype(np.int64)
        nodes = np.flatnonzero((self.units & _VALUE) == 0)
        # The base of a node's parent is the node's index without its label; ordered by base, then label.
        bases = nodes ^ (self.units[nodes] & 0xFF)
        order = np.lexsort((self.units[nodes] & 0xFF, bases))
        self.nodes = nodes[order]
        self._bases = bases[order]

    def base(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bases of the children of nodes."""
        units = self.units[nodes]
        made: NDArray[np.int64] = nodes ^ ((units >> 10) << ((units & 0x200) >> 6))
        return made

    def ranges(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the children of nodes begin and end in ``self.nodes``."""
        bases = self.base(nodes)
        return np.searchsorted(self._bases, bases), np.searchsorted(self._bases, bases + 1)


def _utf8_steps() -> NDArray[np.uint8]:
    """Automaton of UTF-8 (Unicode standard, table 3-7): state, byte -> state; 0 between characters, 8 is a fault."""
    steps = np.full((9, 256), _INVALID, np.uint8)
    steps[0, 0x00:0x80] = 0
    steps[0, 0xC2:0xE0] = 1
    steps[0, 0xE0:0xF0] = 2
    steps[0, 0xE0] = 4
    steps[0, 0xED] = 5
    steps[0, 0xF1:0xF4] = 3
    steps[0, 0xF0] = 6
    steps[0, 0xF4] = 7
    for state, low, high, following in (
        (1, 0x80, 0xC0, 0),
        (2, 0x80, 0xC0, 1),
        (3, 0x80, 0xC0, 2),
        (4, 0xA0, 0xC0, 1),
        (5, 0x80, 0xA0, 1),
        (6, 0x90, 0xC0, 2),
        (7, 0x80, 0x90, 2),
    ):
        steps[state, low:high] = following
    return steps


def has_children(units: NDArray[np.uint32], nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether keys go on from nodes of an array that :func:`check` has passed."""
    bases = _Graph(units).base(nodes)
    labels = np.arange(1, 256)
    found: NDArray[np.bool_] = ((units[bases[:, None] ^ labels] & (_VALUE | 0xFF)) == labels).any(axis=1)
    return found


def depths(units: NDArray[np.uint32]) -> Iterator[Depth]:
    """Nodes by depth, from 1 on, of an array that :func:`check` has passed.

    Raises
    ------
    DartsError
        The array leads in circles, or a key is not UTF-8.
    """
    graph = _Graph(units)
    steps = _utf8_steps()
    nodes, states, nested = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    for length in range(1, MAX_KEY + 1):
        first, last = graph.ranges(nodes)
        counts = last - first
        n = int(counts.sum())
        if n == 0:
            return
        parents = np.repeat(np.arange(nodes.size), counts)
        place = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(n)
        reached = graph.nodes[place]
        # One node reached in two states of UTF-8 counts as two.
        code, inverse = np.unique(
            reached * 16 + steps[states[parents], graph.units[reached] & 0xFF], return_inverse=True
        )
        before = np.zeros(code.size, np.int64)
        np.maximum.at(before, inverse, nested[parents])
        nodes, states = code >> 4, code & 15
        ends = (graph.units[nodes] & _HAS_LEAF) != 0
        wrong = (states == _INVALID) | (ends & (states != 0))
        if wrong.any():
            raise DartsError(f"unit {int(nodes[wrong][0])} is on the way to a key that is not UTF-8")
        nested = before + ends
        values = np.where(ends, graph.units[graph.base(nodes)] & 0x7FFFFFFF, -1)
        yield Depth(length, nodes, graph.units[nodes] & 0xFF, ends, values, nested)
    raise DartsError(f"leads in circles: it has keys of more than {MAX_KEY} bytes")


def items(units: NDArray[np.uint32]) -> Iterator[tuple[bytes, int]]:
    """Keys and values, in the order of the keys, of an array that :func:`depths` goes through without a fault."""
    graph = _Graph(units)
    table = graph.units.tolist()
    nodes = graph.nodes.tolist()
    begin, end = (place.tolist() for place in graph.ranges(np.arange(units.size)))
    stack = [(0, b"")]
    while stack:
        node, key = stack.pop()
        unit = table[node]
        if key and unit & _HAS_LEAF:
            yield key, table[node ^ ((unit >> 10) << ((unit & 0x200) >> 6))] & 0x7FFFFFFF
        stack += [(child, key + bytes([table[child] & 0xFF])) for child in nodes[begin[node] : end[node]][::-1]]


def build(keys: Sequence[bytes], values: Sequence[int]) -> NDArray[np.uint32]:
    """Build the double array of some keys.

    Parameters
    ----------
    keys : sequence of bytes
        Distinct, not empty, without the byte 0 (whose place under a node is where its value stands).
    values : sequence of int
        One a key, ``0 <= value < 2**31``.

    Returns
    -------
    uint32[n]
        ``n`` is a multiple of 256, also for no keys at all.

    Raises
    ------
    ValueError
        A key or a value breaks these rules, or the array would need more than 2^21 units.
    """
    if len(set(keys)) != len(keys) or len(keys) != len(values):
        raise ValueError("keys must be distinct and have one value each")
    for key, value in zip(keys, values, strict=True):
        if not key or 0 in key:
            raise ValueError(f"a key must have bytes, none of them 0, got {key!r}")
        if not 0 <= value < _VALUE:
            raise ValueError(f"the value of {key!r} must be in [0, 2**31), got {value}")
    return _Builder().build(sorted(zip(keys, values, strict=True)))


#: What is below a node: label -> number of what is below that child; under 0 the value of the key that ends here.
_Below = tuple[tuple[int, int], ...]


class _Builder:
    """Units under construction; free ones hold a value, so that no byte is ever their label."""

    #: Blocks of 256 units that are searched for room, counted from the end; earlier ones are nearly full.
    OPEN_BLOCKS = 16
    #: Offsets of more units need steps of 256, which this builder leaves out.
    MAX_UNITS = 1 << 21

    def __init__(self) -> None:
        self.units: list[int] = []
        self.is_base: list[bool] = []
        self.is_free: list[bool] = []
        #: Free units in a ring by index; -1 stands for the ends of both lists.
        self._following: list[int] = [-1]
        self._previous: list[int] = [-1]
        self._grow()
        self._take(0)
        self.units[0] = 0
        # A node with base 0 would find the root, whose label is 0, over the byte 0.
        self.is_base[0] = True

    def _take(self, index: int) -> None:
        self.is_free[index] = False
        # Index -1 of the lists is their last element, the ring's end, so it needs no case of its own.
        before, after = self._previous[index], self._following[index]
        self._following[before], self._previous[after] = after, before

    def _grow(self) -> None:
        n = len(self.units)
        if n >= self.MAX_UNITS:
            raise ValueError(f"the keys need more than {self.MAX_UNITS:,} units")
        closed = n - 256 * (self.OPEN_BLOCKS - 1)
        for index in range(max(0, closed - 256), max(0, closed)):
            if self.is_free[index]:
                self._take(index)
        self.units += [_VALUE] * 256
        self.is_base += [False] * 256
        self.is_free += [True] * 256
        first, last = self._following.pop(), self._previous.pop()
        self._following += [*range(n + 1, n + 256), -1, n if first == -1 else first]
        self._previous += [last, *range(n, n + 255), n + 255]
        if last != -1:
            self._following[last] = n

    def _find_base(self, labels: list[int]) -> int:
        """A base that no node has yet, with free units for all labels."""
        while True:
            index = self._following[-1]
            while index != -1:
                base = index ^ labels[0]
                if not self.is_base[base] and all(self.is_free[base ^ label] for label in labels):
                    return base
                index = self._following[index]
            self._grow()

    def build(self, items: list[tuple[bytes, int]]) -> NDArray[np.uint32]:
        """Place what is below each node, equal ones once."""
        root, below = _number_nodes(items)
        bases: dict[int, int] = {}
        stack = [(0, root)]
        while stack:
            index, number = stack.pop()
            children = below[number]
            base = bases.get(number)
            is_new = base is None
            if base is None:
                # Only a root without keys has no children; it too needs a base that is not its own place.
                base = bases[number] = self._find_base([label for label, _ in children] or [0])
                self.is_base[base] = True
            self.units[index] |= (index ^ base) << 10
            if children and children[0][0] == 0:
                self.units[index] |= _HAS_LEAF
            if is_new:
                for label, child in children:
                    self._take(base ^ label)
                    self.units[base ^ label] = label if label else _VALUE | child
                stack += [(base ^ label, child) for label, child in children if label]
        return np.array(self.units, np.uint32)


def _number_nodes(items: list[tuple[bytes, int]]) -> tuple[int, list[_Below]]:
    """Number of what is below the root of these keys, in order, and what each number stands for."""
    numbers: dict[_Below, int] = {}
    #: What is below the nodes on the way to the last key, as far as it is known.
    unfinished: list[list[tuple[int, int]]] = [[]]
    last = b""

    def finish(depth: int) -> None:
        while len(unfinished) > depth + 1:
            number = numbers.setdefault(tuple(unfinished.pop()), len(numbers))
            unfinished[-1].append((last[len(unfinished) - 1], number))

    for key, value in items:
        common = 0
        while common < min(len(key), len(last)) and key[common] == last[common]:
            common += 1
        finish(common)
        unfinished += [[] for _ in range(len(key) - common)]
        unfinished[-1].append((0, value))
        last = key
    finish(0)
    root = numbers.setdefault(tuple(unfinished[0]), len(numbers))
    return root, list(numbers)
