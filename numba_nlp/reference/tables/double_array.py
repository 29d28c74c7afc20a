"""Twin of ``kernels/tables/double_array.py`` and ``double_array_build.py``: a dictionary from keys to values.

A node is the part of a key that has been walked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ROOT = b""


def step(keys: Mapping[bytes, int], node: bytes, byte: int) -> bytes | None:
    """What has been walked with one more byte; None when no key goes on like that."""
    walked = node + bytes([byte])
    return walked if any(key.startswith(walked) for key in keys) else None


def value_at(keys: Mapping[bytes, int], node: bytes) -> int:
    """Value of the key that equals what has been walked, or -1."""
    return keys.get(node, -1)


def find(keys: Mapping[bytes, int], text: bytes) -> int:
    """Value of a key, or -1."""
    return keys.get(text, -1)


def common_prefix_search(keys: Mapping[bytes, int], text: bytes) -> list[tuple[int, int]]:
    """Length and value of every key that the text begins with, shortest first."""
    return [(n, keys[text[:n]]) for n in range(1, len(text) + 1) if text[:n] in keys]


def longest_below(keys: Mapping[bytes, int], node: bytes, text: bytes, start: int, stop: int) -> tuple[int, int]:
    """Value and end of the longest stretch of ``text[start:stop]`` that goes on from a node to the end of a key."""
    for end in range(stop, start, -1):
        if node + text[start:end] in keys:
            return keys[node + text[start:end]], end
    return -1, start


def longest_prefix(keys: Mapping[bytes, int], text: bytes) -> tuple[int, int]:
    """Length and value of the longest key that the text begins with; 0 and -1 when there is none."""
    found = common_prefix_search(keys, text)
    return found[-1] if found else (0, -1)


def check_units(bases: Mapping[int, int], n_units: int) -> bool:
    """Whether the base of every node lies among the units."""
    return all(0 <= base < n_units for base in bases.values())


def count_nodes(keys: Sequence[bytes]) -> int:
    """Number of different beginnings of the keys, the empty one included; -1 when they are not sorted and distinct."""
    if list(keys) != sorted(set(keys)) or b"" in keys:
        return -1
    return len({key[:n] for key in keys for n in range(len(key) + 1)} | {b""})


def fill_units(keys: Sequence[bytes], values: Sequence[int]) -> dict[bytes, int]:
    """Make the dictionary."""
    return dict(zip(keys, values, strict=True))


def first_missing(keys: Mapping[bytes, int], wanted: Sequence[bytes]) -> int:
    """First of some keys whose value is not its number, or -1."""
    return next((number for number, key in enumerate(wanted) if keys.get(key, -1) != number), -1)
