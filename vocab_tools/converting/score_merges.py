"""Merges with ranks that do what the scores of a SentencePiece BPE model do, and the way back.

sentencepiece merges the two neighbours whose concatenation is the piece with the highest score, the leftmost among
equals; tokenizers the pair with the lowest rank, the leftmost among equals (``bpe_model.cc``; ``word.rs``). Pieces with
scores of their own are merged in the order of the scores. Pieces that share one are refused unless they are powers of
one character (the runs of spaces of LLaMA's models), for which a search shows that the ranks give what the scores do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from numba_nlp.errors import ConversionError
from vocab_tools.formats.description import KIND_NORMAL
from vocab_tools.formats.sentencepiece_model import SentencePieceModel

__all__ = ["check_symbols", "merges_by_score", "scores_by_merges"]

Pair = tuple[str, str]
#: Runs are compared up to this many times the longest piece.
_RUNS = 4


def check_symbols(model: SentencePieceModel, where: str) -> None:
    """Refuse a model in which characters that are no pieces merge: in tokenizers unknown characters never do.

    Raises
    ------
    ConversionError
    """
    known = {model.pieces[i].decode() for i in np.flatnonzero(model.kinds == KIND_NORMAL).tolist()}
    for piece in known:
        for cut in range(1, len(piece)):
            parts = piece[:cut], piece[cut:]
            unknown = [part for part in parts if part not in known]
            if unknown and all(part in known or len(part) == 1 for part in parts):
                raise ConversionError(
                    f"{where}: the piece {piece!r} is merged of {parts[0]!r} and {parts[1]!r}, of which {unknown[0]!r} "
                    "is no piece; such merges would be lost"
                )


def merges_by_score(model: SentencePieceModel, where: str) -> list[Pair]:
    """Merges in the order of the scores of what they make.

    Raises
    ------
    ConversionError
        Several pieces have one score, and no order of their merges does the same.
    """
    numbers = np.flatnonzero(model.kinds == KIND_NORMAL).tolist()
    scores = {model.pieces[i].decode(): float(model.scores[i]) for i in numbers}
    made: dict[float, dict[str, list[Pair]]] = defaultdict(dict)
    for piece, score in scores.items():
        cuts = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        pairs = [pair for pair in cuts if pair[0] in scores and pair[1] in scores]
        if pairs:
            made[score][piece] = pairs
    merges: list[Pair] = []
    for score in sorted(made, reverse=True):
        merges += _ordered(made[score], score, where)
    return merges


def _ordered(made: Mapping[str, Sequence[Pair]], score: float, where: str) -> list[Pair]:
    """Merges of the pieces of one score, in an order of ranks that does what the equal scores do."""
    pairs = [pair for found in made.values() for pair in found]
    # of one piece the longest left part first: what merges from the left leaves longer pieces there
    by_left = sorted(pairs, key=lambda pair: (len(pair[0]) + len(pair[1]), -len(pair[0])))
    if len(made) == 1:
        return by_left
    character = next(iter(made))[0]
    if any(set(piece) != {character} for piece in made):
        first, second, *_ = made
        raise ConversionError(
            f"{where}: {len(made)} pieces have the score {score:g}, such as {first!r} and {second!r}; of them "
            "sentencepiece merges the leftmost first, and ranks have no equals, so that order would be lost"
        )
    longest = max(map(len, made))
    left_first = sorted(pairs, key=lambda pair: -len(pair[0]))
    for order in (left_first, by_left):
        ranks = {(len(left), len(right)): rank for rank, (left, right) in enumerate(order)}
        equal = dict.fromkeys(ranks, 0)
        if _alike(ranks, equal, longest):
            return order
    raise ConversionError(
        f"{where}: runs of {character!r} are merged from the left (their pieces have the score {score:g}), which no "
        "order of ranks that is known here does; it would be lost"
    )


def _run(n: int, ranks: Mapping[tuple[int, int], int]) -> list[int]:
    """Lengths of the pieces that a run of ``n`` equal characters ends as: the lowest rank first, then the leftmost."""
    parts = [1] * n
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not found:
            return parts
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def scores_by_merges(vocab: Mapping[str, int], merges: Sequence[Pair], where: str) -> dict[str, float]:
    """Scores that do what a list of merges does: minus the place of a piece in the order in which pieces are made.

    Parameters
    ----------
    vocab : Mapping of str to int
        Pieces that text can become, and their ids.
    merges : sequence of (str, str)
        In order of rank.
    where : str

    Raises
    ------
    ConversionError
        The merges are not all ways to make their pieces of two others, or those of two pieces are mixed: then scores,
        which belong to pieces, lose the order.
    """
    listed: dict[str, list[int]] = defaultdict(list)
    pairs = set()
    for rank, (left, right) in enumerate(merges):
        listed[left + right].append(rank)
        pairs.add((left, right))
    for piece in vocab:
        for cut in range(1, len(piece)):
            pair = piece[:cut], piece[cut:]
            if pair not in pairs and pair[0] in vocab and pair[1] in vocab:
                raise ConversionError(
                    f"{where}: {pair[0]!r} and {pair[1]!r} are pieces, and so is {piece!r}, but no merge makes it of "
                    "them; a .model merges any two neighbours that make a piece, so what this file keeps apart would "
                    "be lost"
                )
    ordered = sorted(listed, key=lambda piece: listed[piece][0])
    scores: dict[str, float] = {}
    place = 0
    while place < len(ordered):
        # pieces whose ranks are mixed
        block, last = [ordered[place]], listed[ordered[place]][-1]
        for piece in ordered[place + 1 :]:
            if listed[piece][0] > last:
                break
            block.append(piece)
            last = max(last, listed[piece][-1])
        if len(block) > 1:
            _check_mixed(block, merges, where)
        scores |= dict.fromkeys(block, -float(place))
        place += len(block)
    behind = len(ordered)
    for piece in sorted(vocab, key=vocab.__getitem__):
        if piece not in scores:
            scores[piece] = -float(behind)
            behind += 1
    return scores


def _check_mixed(block: Sequence[str], merges: Sequence[Pair], where: str) -> None:
    """Pieces whose merges are mixed may share a score where that merges runs of their character alike."""
    character = block[0][0]
    if all(set(piece) == {character} for piece in block):
        lengths = {len(piece) for piece in block}
        of_block = [pair for pair in merges if set("".join(pair)) == {character}]
        ranks = {(len(left), len(right)): rank for rank, (left, right) in enumerate(of_block)}
        # all pieces of this character are in the block, else runs depend on others too
        if set(map(sum, ranks)) == lengths and _alike(ranks, dict.fromkeys(ranks, 0), max(lengths)):
            return
    raise ConversionError(
        f"{where}: the merges that make {block[0]!r} and {block[1]!r} are mixed in rank, but in a .model each piece "
        "has one score; their order would be lost"
    )


def _alike(first: Mapping[tuple[int, int], int], second: Mapping[tuple[int, int], int], longest: int) -> bool:
    """Whether runs of one character are merged alike under two rankings."""
    return all(_run(n, first) == _run(n, second) for n in range(2, _RUNS * longest + 1))
