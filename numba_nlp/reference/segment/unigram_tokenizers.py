"""Twin of ``kernels/segment/unigram_tokenizers.py``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from numba_nlp.reference.segment.unigram import Model, character_length, find_best, trace_path


def is_unknown_anywhere(text: bytes, candidates: Sequence[Sequence[Any]]) -> bool:
    """Whether the best path to some character's end is one by an unknown character."""
    at, ends = 0, []
    while at < len(text):
        at += character_length(text[at], len(text) - at)
        ends.append(at)
    return any(candidates[end][0].step < 0 for end in ends)


def write_unknown(model: Model, stretch: bytes) -> list[tuple[int, int]]:
    """Ids of a stretch of unknown characters, each with the length of text that it stands for."""
    if stretch in model.pieces:
        return [(model.pieces[stretch], len(stretch))]
    if model.byte_ids is not None and all(model.byte_ids[byte] >= 0 for byte in stretch):
        return [(model.byte_ids[byte], 1) for byte in stretch]
    return [(model.unknown_id, len(stretch))]


def segment(model: Model, text: bytes) -> list[tuple[int, int]] | None:
    """Id and end of each token; None when the vocabulary lacks an unknown token and needs one."""
    candidates, _ = find_best(model, text, type(model.unknown_score)(0))
    if model.unknown_id < 0 and is_unknown_anywhere(text, candidates):
        return None
    lengths = {number: len(piece) for piece, number in model.pieces.items()}
    parts: list[tuple[bool, int, int]] = []
    for step in trace_path(candidates):
        parts.append((step < 0 or step == model.unknown_id, step, -step if step < 0 else lengths[step]))
    tokens: list[tuple[int, int]] = []
    place = 0
    for is_unknown, group in groupby(parts, key=lambda part: part[0]):
        members = list(group)
        if is_unknown:
            n = sum(length for _, _, length in members)
            found = write_unknown(model, text[place : place + n])
        else:
            found = [(step, length) for _, step, length in members]
        for number, length in found:
            place += length
            tokens.append((number, place))
    return tokens
