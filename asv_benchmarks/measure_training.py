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

#: Kind -> trainers by the name of their library, and what of their results is compared with that of tokenizers.
_KINDS: dict[str, tuple[dict[str, str], Callable[[Any], Any]]] = {
    "BPE": ({"numba_nlp": "numba_nlp", "tokenizers": "tokenizers", "gigatoken": "gigatoken"}, merges_of),
    "WordPiece": ({"numba_nlp": "numba_nlp_wordpiece", "tokenizers": "tokenizers_wordpiece"}, pieces_of),
}
#: Tokens of each corpus.
SIZES = {"hamlet_lines": 2000, "english_16mb": 32000}
#: gigatoken takes tens of seconds for more; Unigram is trained for so many.
FEWER = 8000


def measure_training(rounds: Rounds, corpora: list[str]) -> list[Record]:
    """BPE and WordPiece, whose results are compared with those of tokenizers, and Unigram, with sentencepiece."""
    records = []
    for corpus_name in corpora:
        path = CORPORA[corpus_name]
        if path is None:
            say(f"training: {corpus_name} is not on this machine")
            continue
        for kind, (trainers, compared) in _KINDS.items():
            for n in sorted({min(SIZES[corpus_name], FEWER), SIZES[corpus_name]}):
                calls = {
                    library: partial(TRAINERS[trainer], path, n)
                    for library, trainer in trainers.items()
                    if find_spec(library) and (library != "gigatoken" or n <= FEWER)
                }
                records += _measure(f"{kind}, {n:,}", corpus_name, path, calls, compared, "tokenizers", rounds)
        with tempfile.TemporaryDirectory() as folder:
            n, target = min(SIZES[corpus_name], FEWER), Path(folder) / "made.model"
            libraries = [library for library in ("numba_nlp", "sentencepiece") if find_spec(library)]
            calls = {library: partial(train, library, path, target, n) for library in libraries}

            def pieces(_: Any, target: Path = target) -> list[str]:
                return list(sentencepiece_model.read(target).pieces)

            records += _measure(f"Unigram, {n:,}", corpus_name, path, calls, pieces, "sentencepiece", rounds)
    return records


def _measure(
    cell: str,
    corpus_name: str,
    path: Path,
    calls: dict[str, Callable[[], Any]],
    compared: Callable[[Any], Any],
    reference: str,
    rounds: Rounds,
) -> list[Record]:
    """Take turns, after one training that is not counted, whose result is compared."""
    made = {name: compared(call()) for name, call in calls.items()}
    n_bytes, right = path.stat().st_size, made.get(reference)
    found = {
        name: Record("training", "", corpus_name, cell, name, 2, n_bytes, result == right)
        for name, result in made.items()
    }

    def take(name: str, turn: int) -> None:
        add(found[name], turn, timed(calls[name]))

    turns = interleaved(list(calls), take, rounds, wanted_names(list(found.values()), rounds, ()))
    exact = [name for name, record in found.items() if record.exact]
    say(f"training: {cell}, {corpus_name}: {turns} rounds; as {reference}: {', '.join(exact)}")
    return list(found.values())
