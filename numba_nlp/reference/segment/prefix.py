"""Plain twin of :mod:`numba_nlp.kernels.segment.prefix`."""

from __future__ import annotations


def prefix_spaces(texts: list[bytes]) -> list[bytes]:
    """Put a space before each text that is neither empty nor starts with one."""
    return [text if not text or text.startswith(b" ") else b" " + text for text in texts]
