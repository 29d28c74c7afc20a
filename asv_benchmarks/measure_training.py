"""Training beside the peers, on two threads, by turns: the trainers of the asv classes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.measure_training import TRAINERS, merges_of, pieces_of
from vocab_tools.formats import sentencepiece_model

from .benchmarks.bench_training import CORPORA
from .benchmarks.training_unigram import train
from .samples import Record, Rounds, add, interleaved, say, timed, wanted_names

__all__ = ["measure_training"]

#: Kind -> trainers by the name of their library, and the corpora and numbers of tokens.
_KINDS: dict[str, tuple[dict[str, str], list[tuple[str, int]]]] = {
    "BPE": (
        {"numba_nlp": "numba_nlp", "tokenizers": "tokenizers", "gigatoken": "gigatoken"},
        [("hamlet_lines", 2000), ("english_16mb", 8000), ("english_16mb", 32000)],
    ),
    "WordPiece": (
        {"numba_nlp": "numba_nlp_wordpiece", "tokenizers": "tokenizers_wordpiece"},
        [("hamlet_lines", 2000), ("english_16mb", 32000)],
    ),
    "Unigram": ({"numba_nlp": "numba_nlp", "sentencepiece": "sentencepiece"}, [("hamlet_lines", 2000)]),
}
#: gigatoken takes tens of seconds for more.
GIGATOKEN_SIZE = 8000
#: Ties of WordPiece are decided by the order of a hash table in tokenizers: two of its runs differ by some pieces.
TIES = 0.01


def measure_training(rounds: Rounds, corpora: list[str]) -> list[Record]:
    """BPE and WordPiece, whose results are compared with those of tokenizers, and Unigram, with sentencepiece."""
    records = []
    for kind, (trainers, cases) in _KINDS.items():
        for corpus_name, size in cases:
            path = CORPORA[corpus_name]
            if corpus_name not in corpora or path is None:
                continue
            some = [name for name in trainers if find_spec(name) and (name != "gigatoken" or size <= GIGATOKEN_SIZE)]
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / "made.model"
                calls: dict[str, Callable[[], Any]] = {
                    name: partial(train, name, path, target, size)
                    if kind == "Unigram"
                    else partial(TRAINERS[trainers[name]], path, size)
                    for name in some
                }
                records += _measure(kind, f"{kind}, {size:,}", corpus_name, path, calls, target, rounds)
    return records


def _result(kind: str, made: Any, target: Path) -> Any:
    """What is compared."""
    if kind == "BPE":
        return merges_of(made)
    return pieces_of(made) if kind == "WordPiece" else set(sentencepiece_model.read(target).pieces)


def _is_same(kind: str, found: Any, right: Any) -> bool:
    if right is None or kind != "WordPiece":
        return right is not None and found == right
    return len(found ^ right) / len(right) <= TIES


def _measure(
    kind: str,
    cell: str,
    corpus_name: str,
    path: Path,
    calls: dict[str, Callable[[], Any]],
    target: Path,
    rounds: Rounds,
) -> list[Record]:
    """Take turns, after one training that is not counted, whose result is compared."""
    made = {name: _result(kind, call(), target) for name, call in calls.items()}
    right = made.get("sentencepiece" if kind == "Unigram" else "tokenizers")
    found = {
        name: Record("training", "", corpus_name, cell, name, 2, path.stat().st_size, _is_same(kind, made[name], right))
        for name in calls
    }

    def take(name: str, turn: int) -> None:
        add(found[name], turn, timed(calls[name]))

    turns = interleaved(list(calls), take, rounds, wanted_names(list(found.values()), rounds, ()))
    say(f"training: {cell}, {corpus_name}: {turns} rounds")
    return list(found.values())
