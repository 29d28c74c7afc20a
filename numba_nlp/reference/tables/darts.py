"""Plain-Python twin of :mod:`numba_nlp.kernels.tables.darts`: the keys are spelled out, then compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["first_bad_unit", "longest_match", "unit_offset"]


def unit_offset(unit: int) -> int:
    """Offset of a unit: bits 10 to 30, in steps of 256 when bit 9 is set."""
    offset = unit // 2**10
    return offset * 256 if unit // 2**9 % 2 else offset


def first_bad_unit(units: NDArray[np.uint32], n_values: int) -> int:
    """Index of the first unit from which a lookup could leave the array or give too large a value, or -1."""
    array = [int(unit) for unit in units]
    if len(array) % 256:
        return 0
    if array and (array[0] >= 2**31 or array[0] % 2**9):
        return 0
    for i, unit in enumerate(array):
        if unit >= 2**31:
            if unit % 2**31 >= n_values:
                return i
            continue
        base = i ^ unit_offset(unit)
        children_inside = all(base ^ byte < len(array) for byte in range(256))
        ends_key = unit // 2**8 % 2 == 1
        if not children_inside or (ends_key and array[base] < 2**31):
            return i
    return -1


def _matches(units: list[int], text: bytes) -> list[tuple[int, int]]:
    """(length, value) of every key that the text begins with, shortest first."""
    found = []
    base = unit_offset(units[0])
    for i, byte in enumerate(text):
        child = base ^ byte
        unit = units[child]
        if unit >= 2**31 or unit % 256 != byte:
            break
        base = child ^ unit_offset(unit)
        if unit // 2**8 % 2:
            found.append((i + 1, units[base] % 2**31))
    return found


def longest_match(
    units: NDArray[np.uint32], data: NDArray[np.uint8], start: int, stop: int, most: int
) -> tuple[int, int]:
    """Length and value of the longest of the first ``most`` keys that ``data[start:stop]`` begins with."""
    found = _matches([int(unit) for unit in units], data[start:stop].tobytes())[:most]
    return found[-1] if found else (0, -1)
