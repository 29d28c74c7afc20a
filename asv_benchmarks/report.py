"""Measure everything, write the results as JSON, and render ``docs/benchmarks.md`` from them.

::

    python -m asv_benchmarks.report                    # all of it, about half an hour
    python -m asv_benchmarks.report --quick            # small samples, few rounds: to see that it works
    python -m asv_benchmarks.report --render A.json,B.json   # only the document, from earlier results

Every (vocabulary, threads) group is one subprocess, since thread pools are sized by the environment at import.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tools.files import ROOT
from tools.references import CHARACTER_BPE, SENTENCEPIECE_MODELS, STAGED, WORDPIECE, source_path

from .benchmarks.backends import BACKENDS, available, references_of, serves, thread_environment
from .benchmarks.corpora import ADVERSARIAL, CORPORA
from .machine import machine, pin, processors, versions
from .render import render
from .startup import STARTUP, start

__all__ = ["main", "run"]

QUICK_BYTES = 2_000_000
#: Megabytes of a corpus that the slow backends are timed on, unless --slow-megabytes says otherwise.
SLOW_MEGABYTES = 2.0
MEASURED = ["gpt2", "cl100k", *SENTENCEPIECE_MODELS, *WORDPIECE, *CHARACTER_BPE, *STAGED]
#: A peer that takes longer over 1 MB of one shape is stopped and reported so.
ADVERSARIAL_SECONDS = 60


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _environment(threads: int) -> dict[str, str]:
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **thread_environment(threads), "PYTHONPATH": paths}


def _job(kinds: list[str], pool: int, cpus: list[int], /, **job: Any) -> dict[str, Any]:
    """Run one measuring process and return its records, and what each library says that refuses the vocabulary."""
    _say(f"== {', '.join(kinds)}: {job['vocabulary']}, {pool} thread(s), processors {cpus}")
    done = subprocess.run(
        [sys.executable, "-m", "asv_benchmarks.measure"],
        input=json.dumps({"kinds": kinds, "cpus": cpus, **job}),
        stdout=subprocess.PIPE,
        text=True,
        env=_environment(pool),
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _alone(kind: str, cpus: list[int], *arguments: str, timeout: float | None = None) -> dict[str, Any] | None:
    """One ``asv_benchmarks.alone`` process, pinned; None when it ran into the time limit."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "asv_benchmarks.alone", kind, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(1),
            check=True,
            timeout=timeout,
            preexec_fn=lambda: pin(cpus),
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def _measure_alone(names: list[str], vocabulary: str, rounds: int, one: list[int], quick: bool) -> dict[str, Any]:
    """Adversarial texts, start-up and memory of one vocabulary."""
    found: dict[str, Any] = {"adversarial": [], "startup": [], "memory": []}
    for shape in ADVERSARIAL:
        reference = _alone("adversarial", one, references_of(vocabulary)[0], vocabulary, shape)
        assert reference is not None
        for name in names:
            _say(f"== adversarial, {vocabulary}, {shape}, {name}")
            got = _alone("adversarial", one, name, vocabulary, shape, timeout=ADVERSARIAL_SECONDS)
            entry = {"vocabulary": vocabulary, "shape": shape, "backend": name, "limit": ADVERSARIAL_SECONDS}
            if got is not None:
                entry["exact"] = got.pop("digest") == reference["digest"]
            found["adversarial"].append({**entry, "seconds": got})
    for turn in range(rounds):
        for name in names:
            if name in STARTUP:
                _say(f"== start-up, {vocabulary}, {name}, {turn + 1} of {rounds}")
                found["startup"].append({"vocabulary": vocabulary, "backend": name, **start(name, vocabulary)})
    if "numba_nlp" in names:
        with tempfile.TemporaryDirectory() as folder:
            cold = start("numba_nlp", vocabulary, {"NUMBA_NLP_CACHE_DIR": folder})
        found["startup"].append({"vocabulary": vocabulary, "backend": "numba_nlp, nothing compiled", **cold})
    corpus_name = "hamlet_lines" if quick else "python_sources"
    for name in names:
        _say(f"== memory, {vocabulary}, {name}")
        got = _alone("memory", one, name, vocabulary, corpus_name)
        found["memory"].append({"vocabulary": vocabulary, "backend": name, "corpus": corpus_name, "megabytes": got})
    return found


def _save(results: dict[str, Any], options: argparse.Namespace) -> Path:
    path: Path = options.results or ROOT / "docs" / "results" / f"{results['date'][:10]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return path


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what the options ask for, and save after each vocabulary; see :func:`main`."""
    names = [name for name in options.backends if available(name)]
    for name in options.backends:
        if name not in names:
            _say(f"{name} is not installed (or has no tokenizer yet) and is left out")
    cpus = processors()
    one, two = cpus[-1:], cpus[-2:]
    rounds = [options.rounds, options.most_rounds, options.most_seconds]
    limit = QUICK_BYTES if options.quick else None if options.megabytes is None else int(1e6 * options.megabytes)
    results: dict[str, Any] = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "versions": versions(),
        "settings": {
            "quick": options.quick,
            "rounds": options.rounds,
            "most rounds": options.most_rounds,
            "most seconds": options.most_seconds,
            "megabytes": options.megabytes,
            "slow megabytes": options.slow_megabytes,
            "one thread on processors": one,
            "two threads on processors": two,
        },
        "records": [],
        "adversarial": [],
        "startup": [],
        "memory": [],
        "refusals": [],
    }
    started = time.time()
    available_names = names
    for vocabulary in options.vocab:
        try:
            source_path(vocabulary)
        except FileNotFoundError as missing:
            _say(f"{vocabulary}: skipped, {missing}")
            continue
        names = [name for name in available_names if serves(name, vocabulary)]
        job = {
            "vocabulary": vocabulary,
            "names": names,
            "rounds": rounds,
            "corpora": options.corpora,
            "limit_bytes": limit,
            "slow_bytes": int(1e6 * options.slow_megabytes),
        }
        found = _job(["encode", "latency", "spans"], 1, one, **job)
        results["records"] += found["records"]
        for name, message in found["refusals"].items():
            results["refusals"].append({"vocabulary": vocabulary, "backend": name, "message": message})
        job["names"] = names = [name for name in names if name not in found["refusals"]]
        if len(two) == 2:
            results["records"] += _job(["threads"], 2, two, **job)["records"]
        if "alone" not in options.skip:
            for kind, entries in _measure_alone(names, vocabulary, min(3, options.rounds), one, options.quick).items():
                results[kind] += entries
        results["settings"]["minutes"] = round((time.time() - started) / 60, 1)
        _save(results, options)
    return results


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def main(arguments: list[str] | None = None) -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 MB of each corpus, 2 rounds")
    parser.add_argument("--rounds", type=int, default=5, help="of each cell at least (with --quick 2)")
    parser.add_argument("--most-rounds", type=int, default=15, help="rounds until ratios have settled, at most")
    parser.add_argument("--most-seconds", type=float, default=8, help="no round more begins after these, a cell group")
    parser.add_argument("--vocab", type=_names, default=MEASURED, help=f"comma-separated: {','.join(MEASURED)}")
    parser.add_argument("--megabytes", type=float, help="take only so many megabytes of each corpus")
    parser.add_argument("--slow-megabytes", type=float, default=SLOW_MEGABYTES, help="the same for slow libraries")
    parser.add_argument("--corpora", type=_names, default=list(CORPORA), help=f"comma-separated: {','.join(CORPORA)}")
    parser.add_argument("--backends", type=_names, default=list(BACKENDS), help=f"of {','.join(BACKENDS)}")
    parser.add_argument("--skip", type=_names, default=[], help="'alone': no start-up, memory and adversarial texts")
    parser.add_argument("--results", type=Path, help="results file (default docs/results/<date>.json)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--render", type=_names, metavar="RESULTS", help="only render the document, of these files")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds = options.most_rounds = min(2, options.rounds)
    options.most_rounds = max(options.rounds, options.most_rounds)
    if options.render:
        runs = {Path(name).name: json.loads(Path(name).read_text(encoding="utf-8")) for name in options.render}
    else:
        results = run(options)
        path = _save(results, options)
        _say(f"results: {path}")
        runs = {path.name: results}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(render(runs), encoding="utf-8")
    _say(f"document: {options.out}")


if __name__ == "__main__":
    main()
