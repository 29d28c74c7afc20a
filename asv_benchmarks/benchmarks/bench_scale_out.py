"""Two workers of a dask cluster beside two processes that know nothing of each other, over the same shards.

Text files go to Parquet files of ids, one thread a worker, from warm processes: both ways read, encode, compress and
write the same. ``python -m asv_benchmarks.scale_out_page`` writes ``docs/scale_out.md`` from the figures of

    python -m asv_benchmarks.benchmarks.bench_scale_out --rounds 7 --record docs/results/scale_out.json
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .common import texts
from .compiled import compiled_path
from .corpora import CORPORA

#: Bytes of text in all files together, and the number of files, each of which is a shard.
TOTAL_BYTES = 256_000_000
FILES = 16
WORKERS = 2
#: The workers are processes; the test of the benchmarks starts threads, which is quicker.
PROCESSES = True
VOCABULARY = "gpt2"
REPOSITORY = Path(__file__).resolve().parents[2]


class ScaleOut:
    """A corpus by both ways; ``track_share`` is the speed of the workers as a share of that of the independent runs."""

    params = (["english_lines", "hamlet_lines"],)
    param_names = ("corpus",)
    timeout = 600
    warmup_time = 0
    rounds = 1

    def setup(self, corpus: str) -> None:
        if find_spec("distributed") is None:
            raise NotImplementedError("dask.distributed is not installed")
        self._folder = tempfile.TemporaryDirectory()
        try:
            self._start(Path(self._folder.name), corpus)
        except BaseException:
            self.teardown(corpus)
            raise

    def _start(self, folder: Path, corpus: str) -> None:
        """Write the files; start and warm both the cluster and the runs."""
        import distributed

        import numba_nlp as nlp

        self._sources = write_files(folder, corpus)
        vocabulary = compiled_path(VOCABULARY)
        self._tokenizer = nlp.load_tokenizer(vocabulary)
        self._cluster = distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=PROCESSES, memory_limit=0, dashboard_address=":0"
        )
        self._client = distributed.Client(self._cluster)
        command = [sys.executable, "-m", "asv_benchmarks.independent_run", str(vocabulary)]
        self._runs = [
            subprocess.Popen(
                [*command, str(turn), str(WORKERS), *map(str, self._sources)],
                cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for turn in range(WORKERS)
        ]  # fmt: skip
        if any(_line(run) != "ready" for run in self._runs):
            raise RuntimeError("an independent run did not start")
        # both ways give the same files
        if self._compared(self._by_workers, "a") != self._compared(self._by_runs, "b"):
            raise RuntimeError("the two ways give other ids")

    def teardown(self, *_: str) -> None:
        for run in getattr(self, "_runs", ()):
            run.stdin.close()
            run.wait(60)
            run.stdout.close()
        for name in ("_client", "_cluster"):
            if hasattr(self, name):
                getattr(self, name).close()
        self._folder.cleanup()

    def _by_workers(self, out: Path) -> None:
        from numba_nlp.integrations.dask import encode_corpus

        encode_corpus(self._sources, out, self._tokenizer)

    def _by_runs(self, out: Path) -> None:
        out.mkdir()
        for run in self._runs:
            run.stdin.write(f"{out}\n")
            run.stdin.flush()
        if not all(int(_line(run) or 0) for run in self._runs):
            raise RuntimeError("an independent run ended early")

    def _once(self, encode: Any, name: str = "out") -> float:
        """Seconds of one way; the files are removed when the clock has been read."""
        out = Path(self._folder.name) / name
        start = time.perf_counter()
        encode(out)
        seconds = time.perf_counter() - start
        shutil.rmtree(out)
        return seconds

    def _compared(self, encode: Any, name: str) -> dict[str, bytes]:
        out = Path(self._folder.name) / name
        encode(out)
        found = {path.name: path.read_bytes() for path in out.iterdir()}
        shutil.rmtree(out)
        return found

    def time_two_workers(self, corpus: str) -> None:
        self._once(self._by_workers)

    def time_two_independent_runs(self, corpus: str) -> None:
        self._once(self._by_runs)

    def track_share(self, corpus: str) -> float:
        """Speed of two workers, 1 = that of two independent runs; median of three rounds, by turns."""
        return share(self.rounds_of(3))

    track_share.unit = "share"  # type: ignore[attr-defined]

    def rounds_of(self, n: int) -> list[dict[str, float]]:
        """Seconds of both ways in turns, with the one first and with the other."""
        ways = [("workers", self._by_workers), ("runs", self._by_runs)]
        rounds = []
        for number in range(n):
            order = ways if number % 2 == 0 else ways[::-1]
            rounds.append({name: self._once(encode) for name, encode in order})
        return rounds

    def sizes(self) -> dict[str, int]:
        """Bytes of text and of the files of ids, ids, and the largest memory of a worker so far, in bytes."""
        from numba_nlp.integrations.dask import encode_corpus

        out = Path(self._folder.name) / "sizes"
        corpus = encode_corpus(self._sources, out, self._tokenizer)
        written = sum(Path(path).stat().st_size for path in corpus.paths)
        shutil.rmtree(out)
        memory = max(self._client.run(_peak_bytes).values())
        return {"text_bytes": corpus.text_bytes, "ids": corpus.ids, "file_bytes": written, "worker_bytes": memory}


def _peak_bytes() -> int:
    """Largest resident size of this process so far (Linux counts in KiB)."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def share(rounds: list[dict[str, float]]) -> float:
    """Speed of the workers as a share of that of the runs: the median of what each round gives."""
    return statistics.median(one["runs"] / one["workers"] for one in rounds)


def write_files(folder: Path, corpus: str) -> list[Path]:
    """Text files of a corpus, repeated as often as it takes."""
    data = "\n".join(texts(corpus, 1 << 40)).encode() + b"\n"
    each = TOTAL_BYTES // FILES
    paths = []
    for number in range(FILES):
        path = folder / f"{number:02d}.txt"
        # from another place in each file, so that no two are the same
        turned = data[number * len(data) // FILES :] + data
        block = turned * (each // len(turned) + 1)
        path.write_bytes(block[: block.rfind(b"\n", 0, max(each, 1)) + 1].decode(errors="ignore").encode())
        paths.append(path)
    return paths


def _line(run: Any) -> str:
    return str(run.stdout.readline()).rstrip("\n")


def main() -> None:
    """Command line; see the module."""
    from ..machine import machine
    from ..records import stamp

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=["english_lines"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", type=Path, help="JSON file of the figures")
    options = parser.parse_args()
    found: dict[str, Any] = {
        "date": stamp()["date"],
        "machine": machine(),
        "workers": WORKERS,
        "vocabulary": VOCABULARY,
        "corpora": {},
    }
    for corpus in options.corpora:
        benchmark = ScaleOut()
        benchmark.setup(corpus)
        try:
            rounds = benchmark.rounds_of(options.rounds)
            sizes = benchmark.sizes()
        finally:
            benchmark.teardown()
        found["corpora"][corpus] = {**sizes, "files": FILES, "share": share(rounds), "rounds": rounds}
        speed = sizes["text_bytes"] / 1e6 / statistics.median(one["workers"] for one in rounds)
        print(f"{corpus}: {speed:.0f} MB/s by {WORKERS} workers, {share(rounds):.3f} of independent runs; {sizes}")
    if options.record:
        options.record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
