"""Positions of the bits of a mask, one after the other."""

from __future__ import annotations

from typing import Any


def put_places(places: Any, at: int, base: int, mask: int) -> None:
    """Write ``base`` plus the number of each bit of ``mask``, from the lowest on.

    Parameters
    ----------
    places : int64[at + 64]
        Written from ``at`` on.
    at, base : int
    mask : int
        Below 2^64.
    """
    for bit in range(64):
        if int(mask) >> bit & 1:
            places[at] = base + bit
            at += 1
