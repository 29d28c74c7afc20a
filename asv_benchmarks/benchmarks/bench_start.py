"""The start of each library in an interpreter of its own: import, load, first ids."""

from __future__ import annotations

from asv_benchmarks.startup import STARTUP, start

from .common import ONE_OF_EACH, fresh


class Start:
    """Seconds of what a script does first, and from before the interpreter starts to the ids of one sentence.

    The lines are those that a user of the library would write (:mod:`asv_benchmarks.startup`). Ours loads a compiled
    vocabulary and kernels from their cache; ``FirstIds`` has the start with nothing compiled.
    """

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(STARTUP))
    param_names = ("vocabulary", "backend")
    timeout = 300

    def setup(self, vocabulary: str, backend: str) -> None:
        fresh(backend, vocabulary)  # makes converted files
        start(backend, vocabulary)  # reads the files into the page cache; ours fills the kernel cache
        self.seconds = start(backend, vocabulary)

    def track_import(self, *_: str) -> float:
        return self.seconds["import"]

    def track_load(self, *_: str) -> float:
        return self.seconds["load"]

    def track_first_encode(self, *_: str) -> float:
        return self.seconds["first encode"]

    def track_total(self, *_: str) -> float:
        return self.seconds["total"]


for _track in (Start.track_import, Start.track_load, Start.track_first_encode, Start.track_total):
    _track.unit = "s"  # type: ignore[attr-defined]
