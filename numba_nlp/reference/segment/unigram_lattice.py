"""Twin of ``kernels/segment/unigram_lattice.py``: a list of nodes, and all paths one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Any, NamedTuple

from numba_nlp.reference.segment.unigram import Model, character_length
from numba_nlp.reference.tables.random_bits import random_fraction


class Node(NamedTuple):
    """A piece at a place; begin and end count characters."""

    begin: int
    end: int
    step: int
    score: Any


def fill_lattice(model: Model, text: bytes) -> list[Node]:
    """Nodes by start and length."""
    starts = []
    at = 0
    while at < len(text):
        starts.append(at)
        at += character_length(text[at], len(text) - at)
    starts.append(len(text))
    nodes = []
    for begin, start in enumerate(starts[:-1]):
        ends = range(begin + 1, len(starts))
        known = [end for end in ends if text[start : starts[end]] in model.pieces]
        for end in known:
            piece = model.pieces[text[start : starts[end]]]
            nodes.append(Node(begin, end, piece, model.scores[piece]))
        if begin + 1 not in known:
            nodes.append(Node(begin, begin + 1, start - starts[begin + 1], model.unknown_score))
    return nodes


def count_lattice(model: Model, text: bytes) -> tuple[int, int]:
    """Number of characters and of nodes."""
    return len(text.decode()), len(fill_lattice(model, text))


def all_paths(nodes: Sequence[Node], end: int) -> Iterator[list[Node]]:
    """Every path to a character."""
    if end == 0:
        yield []
    for node in nodes:
        if node.end == end:
            for path in all_paths(nodes, node.begin):
                yield [*path, node]


def add_logarithms(a: float, b: float) -> float:
    """Logarithm of a sum of two numbers that are given by their logarithms."""
    return max(a, b) + log(1 + exp(min(a, b) - max(a, b)))


def sum_paths(nodes: Sequence[Node], n_characters: int, alpha: float) -> list[float]:
    """Logarithm of the summed weights of all paths to each character."""
    sums = []
    for end in range(n_characters + 1):
        sums.append(log(sum(exp(alpha * sum(float(node.score) for node in path)) for path in all_paths(nodes, end))))
    return sums


def sample_path(
    nodes: Sequence[Node], sums: Sequence[float], alpha: float, seed: int, stream: int, counter: int
) -> list[int]:
    """Steps of a random path, drawn piece by piece from the end."""
    steps: list[int] = []
    end = len(sums) - 1
    while end > 0:
        drawn = random_fraction(seed, stream, counter)
        counter += 1
        choices = [node for node in nodes if node.end == end]
        chosen = choices[-1]
        for node in choices:
            drawn -= exp(sums[node.begin] + alpha * float(node.score) - sums[end])
            if drawn < 0:
                chosen = node
                break
        steps.insert(0, chosen.step)
        end = chosen.begin
    return steps


def score_ids(model: Model, text: bytes, tokens: Sequence[tuple[int, int]]) -> Any:
    """Score of tokens (id, end) of a text, added up from the end; None when they do not spell the text."""
    total = type(model.unknown_score)(0)
    bounds = [0, *(end for _, end in tokens)]
    for number in reversed(range(len(tokens))):
        token, part = tokens[number][0], text[bounds[number] : bounds[number + 1]]
        if not part:
            return None
        if model.pieces.get(part, -1) == token:
            total = model.scores[token] + total
            continue
        is_byte = len(part) == 1 and model.byte_ids is not None and model.byte_ids[part[0]] == token
        if token != model.unknown_id and not is_byte:
            return None
        for byte in part:
            if not 0x80 <= byte < 0xC0:
                total = model.unknown_score + total
    return total
