"""Twin of ``kernels/segment/unigram_chunks.py``: cutting with a regular expression, limits by their formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from numba_nlp.reference.segment.unigram import Model, find_best, trace_path, write_ids

#: What comes before a cut, by the number of the way to split.
_CUTS = {1: "(?=\u2581)", 2: "(?<!\u2581)(?=\u2581)", 3: "(?<=\u2581)", 4: "(?<=\u2581)(?!\u2581)"}


def chunk_end(text: bytes, split: int) -> int:
    """Length of the first chunk of a text."""
    decoded = text.decode()
    if split in _CUTS:
        found = re.compile(_CUTS[split]).search(decoded, 1)
        if found is not None:
            return len(decoded[: found.start()].encode())
    return len(text)


def running_limit(
    model: Model, n_characters: int, running: Any, candidates: Sequence[Any], steps: Sequence[int]
) -> float:
    """Below which absolute value the running score changes nothing; -1 when that is not known."""
    scores = [abs(float(model.scores[number])) for number in model.pieces.values()]
    sums = n_characters * max([abs(float(model.unknown_score)), *scores])
    reset = 0.999 * model.reset - sums
    if n_characters > 1 << 14 or not abs(float(running)) < reset or any(step < 0 for step in steps):
        return -1.0
    lengths = {number: len(piece) for piece, number in model.pieces.items()}
    margin = float("inf")
    place = 0
    for step in steps:
        place += lengths[step]
        best, *losers = (float(candidate.score) for candidate in candidates[place])
        margin = min([margin, *(best - loser for loser in losers)])
    unit = float(np.finfo(type(model.unknown_score)).eps) / 2
    bound = 0.999 * margin / (2.0 * unit * n_characters) - abs(float(running)) - 2.0 * sums
    return max(min(bound, reset) - 1.0, -1.0)


def solve(model: Model, text: bytes, running: Any) -> tuple[list[tuple[int, int]], Any, float]:
    """Tokens of a chunk with their ends, the running score behind it, and the limit of the one before it."""
    if not text:
        return [], running, float("inf")
    candidates, n_characters = find_best(model, text, running)
    steps = trace_path(candidates)
    limit = running_limit(model, n_characters, running, candidates, steps)
    return write_ids(model, text, steps), candidates[-1][0].score, limit


def replay(model: Model, ids: Sequence[int], running: Any) -> Any:
    """Running score behind known ids."""
    for number in ids:
        running = running + model.scores[number]
    return running


def segment_chunks(model: Model, chunks: Sequence[bytes]) -> list[tuple[int, int]]:
    """Tokens of a row and their ends: every chunk solved with the running score before it."""
    running, place = type(model.unknown_score)(0), 0
    tokens: list[tuple[int, int]] = []
    for chunk in chunks:
        found, running, _ = solve(model, chunk, running)
        tokens += [(number, place + end) for number, end in found]
        place += len(chunk)
    return tokens
