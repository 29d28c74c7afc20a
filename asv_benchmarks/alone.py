"""What must be measured in a process of its own: peak memory, one adversarial text, and the start.

``python -m asv_benchmarks.alone KIND BACKEND VOCABULARY TEXT`` prints one JSON object.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from .benchmarks.backends import BACKENDS, references_of
from .benchmarks.corpora import ADVERSARIAL, corpus, slices
from .benchmarks.corpora import adversarial as make_text
from .machine import pin
from .ratios import OURS
from .samples import say
from .startup import STARTUP, start

__all__ = ["measure_alone"]

#: A peer that takes longer over 1 MB of one shape is stopped and reported so.
ADVERSARIAL_SECONDS = 60


def _peak_megabytes() -> float:
    """Largest resident size of this process so far (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def memory(name: str, vocabulary: str, corpus_name: str) -> dict[str, Any]:
    """Peak resident megabytes: of the texts alone, what import and loading add, what encoding twice adds to that.

    The growth includes the ids of one pass (4 bytes an id and more in lists), which any caller has to hold.
    """
    texts = list(corpus(corpus_name))
    before = _peak_megabytes()
    backend = BACKENDS[name](vocabulary, 1)
    loaded = _peak_megabytes()
    for _ in range(1 if backend.slow else 2):
        result = backend.encode_batch(texts)
        del result
    return {"texts": before, "loaded": loaded - before, "peak": _peak_megabytes() - before}


def adversarial(name: str, vocabulary: str, shape: str) -> dict[str, Any]:
    """Seconds of 1 MB of ordinary text and of 1 MB of one shape, first and second pass, and a digest of the ids."""
    clock = time.perf_counter
    ordinary = slices(corpus("python_sources"))[0]
    text = make_text(shape)
    backend = BACKENDS[name](vocabulary, 1)
    backend.encode_batch(["warm up"])
    found: dict[str, Any] = {}
    for label, texts in (("ordinary", ordinary), ("first", [text]), ("second", [text])):
        start = clock()
        result = backend.encode_batch(texts)
        found[label] = clock() - start
        found["digest"] = hashlib.sha256(backend.flat(result)[0].tobytes()).hexdigest()
    return found


def _child(
    cpus: list[int], environment: dict[str, str], *arguments: str, timeout: float | None = None
) -> dict[str, Any] | None:
    """One process of this module, pinned; None when it ran into the time limit."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "asv_benchmarks.alone", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            check=True,
            timeout=timeout,
            preexec_fn=lambda: pin(cpus),
        )
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure_alone(
    names: list[str], vocabulary: str, rounds: int, cpus: list[int], environment: dict[str, str], corpus_name: str
) -> dict[str, Any]:
    """Adversarial texts, start and memory of one vocabulary."""
    found: dict[str, Any] = {"adversarial": [], "startup": [], "memory": []}
    for shape in ADVERSARIAL:
        reference = _child(cpus, environment, "adversarial", references_of(vocabulary)[0], vocabulary, shape)
        assert reference is not None
        for name in names:
            say(f"== adversarial, {vocabulary}, {shape}, {name}")
            limit = ADVERSARIAL_SECONDS
            got = _child(cpus, environment, "adversarial", name, vocabulary, shape, timeout=limit)
            entry = {"vocabulary": vocabulary, "shape": shape, "backend": name, "limit": limit}
            if got is not None:
                entry["exact"] = got.pop("digest") == reference["digest"]
            found["adversarial"].append({**entry, "seconds": got})
    for turn in range(rounds):
        for name in names:
            if name in STARTUP:
                say(f"== start, {vocabulary}, {name}, {turn + 1} of {rounds}")
                found["startup"].append({"vocabulary": vocabulary, "backend": name, **start(name, vocabulary)})
    if OURS in names:
        with tempfile.TemporaryDirectory() as folder:
            cold = start(OURS, vocabulary, {"NUMBA_NLP_CACHE_DIR": folder})
        found["startup"].append({"vocabulary": vocabulary, "backend": f"{OURS}, nothing compiled", **cold})
    for name in names:
        say(f"== memory, {vocabulary}, {name}")
        got = _child(cpus, environment, "memory", name, vocabulary, corpus_name)
        found["memory"].append({"vocabulary": vocabulary, "backend": name, "corpus": corpus_name, "megabytes": got})
    return found


def main() -> None:
    """Command line; see the module."""
    kinds = {"memory": memory, "adversarial": adversarial}
    json.dump(kinds[sys.argv[1]](*sys.argv[2:]), sys.stdout)


if __name__ == "__main__":
    main()
