"""Sorted suffixes of words in plain Python: compare the suffixes themselves."""

from __future__ import annotations

__all__ = ["common_prefixes", "suffixes_in_order"]


def suffix(codes, place, limit):
    """The characters from a place to the end of its word, ``limit`` at most."""
    return codes[place : codes.index(0, place)][:limit]


def suffixes_in_order(codes, width):
    """Places of the suffixes that are not empty, by their first characters; equal ones as they come."""
    places = [place for place, code in enumerate(codes) if code != 0]
    return sorted(places, key=lambda place: suffix(codes, place, width))


def common_prefixes(codes, order, limit):
    """Characters that each suffix shares with the one before it, of the first ``limit``; 0 at both ends."""
    made = [0] * (len(order) + 1)
    for i in range(1, len(order)):
        left, right = suffix(codes, order[i - 1], limit), suffix(codes, order[i], limit)
        while made[i] < min(len(left), len(right)) and left[made[i]] == right[made[i]]:
            made[i] += 1
    return made
