"""How time grows, of every backend in one process, by turns at each size: the classes of ``bench_scaling``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .benchmarks.bench_scaling import SHAPES, BatchSize, InputSize, VocabularySize
from .benchmarks.common import Inexact
from .curves import Case, curves
from .samples import say

__all__ = ["measure_scaling"]


def measure_scaling(vocabulary: str, names: list[str], shapes: list[str] | None = None) -> list[dict[str, Any]]:
    """Curves by bytes of a text, bytes of a batch, and ids of the vocabulary.

    Parameters
    ----------
    shapes : list of str, optional
        Of ``SHAPES``; by default all but Hamlet, which is repeated where it ends.
    """
    found = []
    for shape in shapes or [name for name in SHAPES if name != "hamlet_lines"]:
        found += _curves(InputSize, "input size", vocabulary, shape, names, lambda made, shape=shape: made.cases(shape))
    found += _curves(BatchSize, "batch size", vocabulary, "", names, lambda made: made.cases())
    if vocabulary == "gpt2":
        corpus = VocabularySize.params[0][0]
        for what, cases in (("vocabulary, encoding", "cases"), ("vocabulary, loading", "load_cases")):
            found += _curves(
                VocabularySize, what, vocabulary, corpus, names, lambda made, cases=cases: getattr(made, cases)()
            )
    return found


def _curves(
    kind: Any, what: str, vocabulary: str, shape: str, names: list[str], cases: Callable[[Any], Iterable[Case]]
) -> list[dict[str, Any]]:
    """One entry a backend; one that gives other ids than the reference has no sizes."""
    given: dict[str, Iterable[Case]] = {}
    if "vocabulary" in kind.param_names and vocabulary not in kind.params[0]:
        return []
    for name in names:
        if name not in kind.params[-1]:
            continue
        values = {"vocabulary": vocabulary, "shape": shape, "corpus": shape, "backend": name}
        benchmark = kind()
        try:
            benchmark.setup(*(values[parameter] for parameter in kind.param_names))
            given[name] = cases(benchmark)
        except Inexact as reason:
            say(f"{what}: {reason}")
            given[name] = []
        except NotImplementedError as reason:
            say(f"{what}: left out, {reason}")
    say(f"{what}: {vocabulary} {shape}")
    return [
        {"what": what, "vocabulary": vocabulary, "shape": shape, "backend": name, "sizes": sizes, "seconds": seconds}
        for name, (sizes, seconds) in curves(given).items()
    ]
