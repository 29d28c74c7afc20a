"""Measure everything, write the results as JSON, and write ``docs/benchmarks.md``, pictures and the README's tables.

::

    python -m asv_benchmarks.report                    # all of it, an hour
    python -m asv_benchmarks.report --quick            # small samples, few rounds: to see that it works
    python -m asv_benchmarks.report --render A.json,B.json   # only what is written, from earlier results

Every (vocabulary, threads) group is one subprocess, since thread pools are sized by the environment at import.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tools.files import ROOT
from tools.references import CHARACTER_BPE, SENTENCEPIECE_MODELS, STAGED, WORDPIECE, source_path

from .alone import measure_alone
from .benchmarks.backends import BACKENDS, available, serves, thread_environment
from .benchmarks.bench_training import CORPORA as TRAINING_CORPORA
from .benchmarks.corpora import CORPORA
from .machine import machine, processors, versions
from .records import write_results
from .samples import say

__all__ = ["main", "run"]

QUICK_BYTES = 2_000_000
#: Megabytes of a corpus that the slow backends are timed on, unless --slow-megabytes says otherwise.
SLOW_MEGABYTES = 2.0
MEASURED = ["gpt2", "cl100k", *SENTENCEPIECE_MODELS, *WORDPIECE, *CHARACTER_BPE, *STAGED]
#: What is measured on one thread in one process of a vocabulary, then on two, then otherwise.
ON_ONE = ("encode", "latency", "spans", "tasks", "scaling")
KINDS = (*ON_ONE, "threads", "alone", "training")
#: Vocabularies whose times are measured by size.
SCALED = ("gpt2", "bert_uncased", "t5")
TASK_CORPORA = ("english_lines", "multilingual_lines")


def _environment(threads: int) -> dict[str, str]:
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    # no curve goes on after a pass of so many seconds, unless the caller wants more
    longest = os.environ.get("NUMBA_NLP_BENCH_LONGEST", "0.1")
    return {**os.environ, **thread_environment(threads), "PYTHONPATH": paths, "NUMBA_NLP_BENCH_LONGEST": longest}


def _job(kinds: list[str], pool: int, cpus: list[int], job: dict[str, Any]) -> dict[str, Any]:
    """Run one measuring process and return its records, and what each library says that refuses the vocabulary."""
    say(f"== {', '.join(kinds)}: {job['vocabulary']}, {pool} thread(s), processors {cpus}")
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


def _save(results: dict[str, Any], options: argparse.Namespace) -> Path:
    path: Path = options.results or ROOT / "docs" / "results" / f"{results['date'][:10]}.json"
    write_results(path, results)
    return path


def _on_this_machine(vocabulary: str) -> bool:
    try:
        source_path(vocabulary)
    except FileNotFoundError as missing:
        say(f"{vocabulary}: skipped, {missing}")
        return False
    return True


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what the options ask for, and save after each vocabulary; see :func:`main`."""
    installed = [name for name in options.backends if available(name)]
    for name in options.backends:
        if name not in installed:
            say(f"{name} is not installed (or has no tokenizer yet) and is left out")
    cpus = processors()
    one, two = cpus[-1:], cpus[-2:]
    limit = QUICK_BYTES if options.quick else None if options.megabytes is None else int(1e6 * options.megabytes)
    results: dict[str, Any] = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "versions": versions(),
        "settings": {
            "quick": options.quick,
            "kinds": options.kinds,
            "rounds": options.rounds,
            "most rounds": options.most_rounds,
            "most seconds": options.most_seconds,
            "megabytes": options.megabytes,
            "slow megabytes": options.slow_megabytes,
            "one thread on processors": one,
            "two threads on processors": two,
        },
    }
    results |= {table: [] for table in ("records", "curves", "adversarial", "startup", "memory", "refusals")}
    job: dict[str, Any] = {
        "vocabulary": "",
        "names": installed,
        "rounds": [options.rounds, options.most_rounds, options.most_seconds],
        "corpora": options.corpora,
        "task_corpora": [name for name in TASK_CORPORA if name in options.corpora] or options.corpora[:1],
        "training_corpora": _training_corpora(options),
        "limit_bytes": limit,
        "slow_bytes": int(1e6 * options.slow_megabytes),
    }
    started = time.time()

    def keep(found: dict[str, Any]) -> None:
        for table, entries in found.items():
            results[table] += entries
        results["settings"]["minutes"] = round((time.time() - started) / 60, 1)
        _save(results, options)

    for vocabulary in filter(_on_this_machine, options.vocab):
        job |= {"vocabulary": vocabulary, "names": [name for name in installed if serves(name, vocabulary)]}
        kinds = [kind for kind in ON_ONE if kind in options.kinds and (kind != "scaling" or vocabulary in SCALED)]
        found = _job(kinds, 1, one, job)
        job["names"] = [name for name in job["names"] if name not in found["refusals"]]
        refused = [
            {"vocabulary": vocabulary, "backend": name, "message": message}
            for name, message in found["refusals"].items()
        ]
        keep({**found, "refusals": refused if "encode" in kinds else []})
        if len(two) == 2 and "threads" in options.kinds:
            keep({"records": _job(["threads"], 2, two, job)["records"]})
        if "alone" in options.kinds:
            corpus_name = "hamlet_lines" if options.quick else "python_sources"
            keep(measure_alone(job["names"], vocabulary, min(3, options.rounds), one, _environment(1), corpus_name))
    if "training" in options.kinds:
        keep({"records": _job(["training"], 2, two, job | {"vocabulary": ""})["records"]})
    return results


def _training_corpora(options: argparse.Namespace) -> list[str]:
    """The English one is the file of ``english_lines``."""
    with_english = not options.quick and "english_lines" in options.corpora
    return [name for name in TRAINING_CORPORA if name == "hamlet_lines" or with_english]


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def main(arguments: list[str] | None = None) -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 MB of each corpus, at most 2 rounds")
    parser.add_argument("--kinds", type=_names, default=list(KINDS), help=f"comma-separated: {','.join(KINDS)}")
    parser.add_argument("--rounds", type=int, default=5, help="of each cell, at least")
    parser.add_argument("--most-rounds", type=int, default=15, help="rounds until ratios have settled, at most")
    parser.add_argument("--most-seconds", type=float, default=6, help="after these no round beyond --rounds begins")
    parser.add_argument("--vocab", type=_names, default=MEASURED, help=f"comma-separated: {','.join(MEASURED)}")
    parser.add_argument("--megabytes", type=float, help="take only so many megabytes of each corpus")
    parser.add_argument("--slow-megabytes", type=float, default=SLOW_MEGABYTES, help="the same for slow libraries")
    parser.add_argument("--corpora", type=_names, default=list(CORPORA), help=f"comma-separated: {','.join(CORPORA)}")
    parser.add_argument("--backends", type=_names, default=list(BACKENDS), help=f"of {','.join(BACKENDS)}")
    parser.add_argument("--results", type=Path, help="results file (default docs/results/<date>.json)")
    parser.add_argument("--out", type=Path, help="write only this document, not those of the repository")
    parser.add_argument("--render", type=_names, metavar="RESULTS", help="only write, from these results files")
    options = parser.parse_args(arguments)
    for name, known in (("kinds", KINDS), ("vocab", MEASURED), ("corpora", CORPORA), ("backends", BACKENDS)):
        given = getattr(options, name)
        unknown = sorted(set(given) - set(known))
        if unknown or not given:
            parser.error(f"--{name} has no {', '.join(unknown) or 'names'}; there are {', '.join(known)}")
    if options.rounds < 1:
        parser.error(f"--rounds is at least 1, got {options.rounds}")
    missing = [name for name in options.render or [] if not Path(name).is_file()]
    if missing:
        parser.error(f"--render: no file {', '.join(missing)}")
    if options.quick:
        options.rounds = options.most_rounds = min(2, options.rounds)
    options.most_rounds = max(options.rounds, options.most_rounds)
    paths = [Path(name) for name in options.render or []]
    if not paths:
        paths = [_save(run(options), options)]
        say(f"results: {paths[0]}")
    from .published import publish

    publish(paths, options.out)


if __name__ == "__main__":
    main()
