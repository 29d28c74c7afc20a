"""Twin of ``kernels/segment/unigram.py``: the definition, position by position over dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Model(NamedTuple):
    """A Unigram vocabulary."""

    pieces: Mapping[bytes, int]  # what text is compared with -> id
    scores: Mapping[int, Any]  # id -> score as it is added up, numpy.float32 or numpy.float64
    unknown_id: int
    unknown_score: Any
    byte_ids: Sequence[int] | None  # with byte fallback
    reset: float  # a running score beyond starts again from 0


class Candidate(NamedTuple):
    """A path that ends with a piece."""

    score: Any
    start: int
    step: int  # id, or minus the bytes of an unknown character


def character_length(byte: int, left: int) -> int:
    """Bytes of the character that starts with ``byte``, at most ``left``."""
    for length, lowest in ((4, 0xF0), (3, 0xE0), (2, 0xC0)):
        if byte >= lowest:
            return min(length, left)
    return min(1, left)


def find_best(model: Model, text: bytes, running: Any) -> tuple[list[list[Candidate]], int]:
    """Candidates of each position, of which the first is the best, and the number of characters."""
    candidates: list[list[Candidate]] = [[] for _ in range(len(text) + 1)]
    candidates[0].append(Candidate(running, 0, 0))
    at = n_characters = 0
    while at < len(text):
        here = candidates[at][0].score
        if abs(here) > model.reset:
            for place in range(at, len(text) + 1):
                candidates[place] = [
                    candidate._replace(score=candidate.score - here) for candidate in candidates[place]
                ]
            here = candidates[at][0].score
        width = character_length(text[at], len(text) - at)
        found = [end for end in range(at + 1, len(text) + 1) if text[at:end] in model.pieces]
        for end in found:
            piece = model.pieces[text[at:end]]
            _enter(candidates[end], Candidate(here + model.scores[piece], at, piece))
        if at + width not in found:
            _enter(candidates[at + width], Candidate(here + model.unknown_score, at, -width))
        at += width
        n_characters += 1
    return candidates, n_characters


def _enter(candidates: list[Candidate], new: Candidate) -> None:
    """Put a candidate first if it is better than the one that is first, else last."""
    candidates.insert(0 if not candidates or new.score > candidates[0].score else len(candidates), new)


def trace_path(candidates: Sequence[Sequence[Candidate]]) -> list[int]:
    """Steps of the best path to the last position."""
    steps: list[int] = []
    end = len(candidates) - 1
    while end > 0:
        steps.insert(0, candidates[end][0].step)
        end = candidates[end][0].start
    return steps


def write_ids(model: Model, text: bytes, steps: Sequence[int]) -> list[tuple[int, int]]:
    """Id and end of each token."""
    lengths = {number: len(piece) for piece, number in model.pieces.items()}
    tokens: list[tuple[int, int]] = []
    place = 0
    for number, step in enumerate(steps):
        if step >= 0:
            place += lengths[step]
            tokens.append((step, place))
        elif model.byte_ids is not None:
            for _ in range(-step):
                tokens.append((model.byte_ids[text[place]], place + 1))
                place += 1
        else:
            place -= step
            if number > 0 and steps[number - 1] < 0:
                tokens.pop()
            tokens.append((model.unknown_id, place))
    return tokens


def segment(model: Model, text: bytes) -> list[tuple[int, int]]:
    """Id and end of each token of a row."""
    candidates, _ = find_best(model, text, type(model.unknown_score)(0))
    return write_ids(model, text, trace_path(candidates))


def user_defined_score(length: int) -> Any:
    """Score of a user-defined piece in sentencepiece 0.2.3."""
    return np.float32(0.1 * (length - 1))
