"""What must be measured in a process of its own: peak memory, and one adversarial text.

``python -m asv_benchmarks.alone KIND BACKEND VOCABULARY TEXT`` prints one JSON object.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from typing import Any

from .benchmarks.backends import BACKENDS
from .benchmarks.corpora import adversarial as make_text
from .benchmarks.corpora import corpus, slices


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


def main() -> None:
    """Command line; see the module."""
    kinds = {"memory": memory, "adversarial": adversarial}
    json.dump(kinds[sys.argv[1]](*sys.argv[2:]), sys.stdout)


if __name__ == "__main__":
    main()
