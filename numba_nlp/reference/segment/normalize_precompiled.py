"""Plain twin of :mod:`numba_nlp.kernels.segment.normalize_precompiled`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numba_nlp.reference.segment.graphemes import clusters
from numba_nlp.reference.segment.normalize_text import Character, put_characters, text_of

__all__ = ["apply_charsmap"]


def apply_charsmap(
    rules: Mapping[bytes, str], class_of: Callable[[str], int], characters: list[Character]
) -> list[Character]:
    """Replace clusters of fewer than six bytes, else characters, by the shortest rule that they begin with."""
    result: list[Character] = []
    place = 0
    for cluster in clusters(class_of, text_of(characters)):
        whole = _shortest_rule(rules, cluster) if len(cluster.encode()) < 6 else None
        units = [cluster] if whole is not None else list(cluster)
        for unit in units:
            found = _shortest_rule(rules, unit)
            written = unit if found is None else found
            first, last = characters[place], characters[place + len(unit) - 1]
            result += put_characters(written[:1], first.start, first.end)
            result += put_characters(written[1:], last.start, last.end)
            place += len(unit)
    return result


def _shortest_rule(rules: Mapping[bytes, str], text: str) -> str | None:
    key = text.encode()
    return next((rules[key[:n]] for n in range(1, len(key) + 1) if key[:n] in rules), None)
