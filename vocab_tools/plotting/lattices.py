"""The lattice of a sentence: every piece of a Unigram vocabulary at every place, and the best way through."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp._encoders.sentencepiece import SentencePieceEncoder
from numba_nlp._fastcall import NOTHING_WATCHED
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.tokenizer import Tokenizer

__all__ = ["Edge", "Lattice", "lattice_of"]


class Edge(NamedTuple):
    """A piece at a place.

    Attributes
    ----------
    begin, end : int
        Characters of the normalised text between which it lies.
    piece : str
        The unknown piece for a character that no piece is.
    score : float
    best : bool
        It is on the best path.
    """

    begin: int
    end: int
    piece: str
    score: float
    best: bool


class Lattice(NamedTuple):
    """All segmentations of a text.

    Attributes
    ----------
    text : str
        Normalised, with U+2581 for spaces.
    edges : tuple of Edge
        By where they begin, then by where they end.
    """

    text: str
    edges: tuple[Edge, ...]

    @property
    def best(self) -> tuple[Edge, ...]:
        """The best path."""
        return tuple(edge for edge in self.edges if edge.best)


def lattice_of(tokenizer: Tokenizer, text: str) -> Lattice:
    """The lattice of a text.

    Parameters
    ----------
    tokenizer : Tokenizer
        Of a SentencePiece Unigram model.
    text : str

    Returns
    -------
    Lattice
        Scores are those of sentencepiece's n-best lists.

    Raises
    ------
    UnsupportedFeatureError
        The tokenizer is not of algorithm ``unigram``.
    """
    vocabulary = tokenizer.vocabulary
    if vocabulary.metadata["algorithm"] != "unigram":
        raise UnsupportedFeatureError(
            f"{vocabulary.metadata['name']}: a lattice is drawn of SentencePiece Unigram models, this is "
            f"{vocabulary.metadata['algorithm']}; give the .model file"
        )
    encoder = SentencePieceEncoder(vocabulary, NOTHING_WATCHED)
    normalized, nodes, ends = encoder.lattice(text.encode())
    kinds = vocabulary["piece_kinds"]
    unknown = tokenizer.id_to_token(int(np.flatnonzero(kinds == 1)[0]))
    places = list(zip(nodes.begins.tolist(), nodes.ends.tolist(), strict=True))
    best = _path(normalized, ends.tolist(), set(places))
    spelled = [unknown if step < 0 else tokenizer.id_to_token(step) for step in nodes.steps.tolist()]
    scores = nodes.scores.tolist()
    found = zip(places, spelled, scores, strict=True)
    edges = [Edge(begin, end, piece, score, (begin, end) in best) for (begin, end), piece, score in found]
    return Lattice(normalized.decode(), tuple(sorted(edges)))


def _path(normalized: bytes, token_ends: list[int], places: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Where the pieces of the best path lie, in characters."""
    characters = np.cumsum((np.frombuffer(normalized, np.uint8) & 0xC0) != 0x80)
    path: set[tuple[int, int]] = set()
    begin = 0
    for token_end in token_ends:
        end = int(characters[token_end - 1])
        if (begin, end) in places:
            path.add((begin, end))
        else:  # one token of several unknown characters; or none, where several tokens are bytes of one character
            path.update((place, place + 1) for place in range(begin, end))
        begin = end
    return path
