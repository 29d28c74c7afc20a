"""Does `asv continuous` see a slow-down, and nothing where there is none? Slow-downs are planted to find out.

::

    python -m asv_benchmarks.trial --record docs/results/asv_trial.json

clones the repository into a temporary folder. Each round makes two commits on top of the newest: one that changes
nothing, and one after which `encode_batch` waits half as long again as it took, which is 1.5 times slower. asv compares
each with the commit below it, in an environment of its own, as ``asv continuous`` does for anybody. The record holds
what asv printed; ``python -m asv_benchmarks.trial_page`` writes ``docs/asv_trial.md``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .machine import machine
from .records import stamp

__all__ = ["FACTOR", "OPTIONS", "PATTERN", "PLANTED", "main", "run_trial", "said"]

#: Benchmarks that are run: one vocabulary, one corpus, this project only.
PATTERN = r"Encode(Warm|Cold)\.time_encode_batch\('gpt2', 'hamlet_lines', 'numba_nlp'\)"
#: Both commits are measured by turns, several times, so that what else the machine does is the same for both.
OPTIONS = ("--interleave-rounds", "--attribute", "rounds=6", "--show-stderr", "--bench", PATTERN)
#: Changes below are not looked at; this is what a noisy machine allows, and a planted 1.5 is well above it.
FACTOR = 1.25
SLOWER = 1.5
PLANTED = f"""

def _slower(plain):
    import time

    def call(self, *args, **options):
        begun = time.perf_counter()
        found = plain(self, *args, **options)
        until = begun + {SLOWER} * (time.perf_counter() - begun)
        while time.perf_counter() < until:
            pass
        return found

    return call


Tokenizer.encode_batch = _slower(Tokenizer.encode_batch)
"""


def run_trial(rounds: int, factor: float) -> dict[str, Any]:
    """So many comparisons with an empty commit, and as many with one that is slower."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name) / "clone"
        _git(ROOT, "clone", "--quiet", str(ROOT), str(clone))
        base = _git(clone, "rev-parse", "HEAD")
        suite = clone / "asv_benchmarks"
        _asv(suite, "machine", "--yes")
        for number in range(rounds):
            for slower in (False, True):
                _git(clone, "checkout", "--quiet", "--detach", base)
                module = clone / "numba_nlp" / "tokenizer.py"
                if slower:
                    module.write_text(module.read_text(encoding="utf-8") + PLANTED, encoding="utf-8")
                author = ("-c", "user.name=trial", "-c", "user.email=trial@example.invalid")
                message = f"{'slower' if slower else 'empty'} {number}"
                _git(clone, *author, "commit", "--quiet", "--all", "--allow-empty", "--message", message)
                commit = _git(clone, "rev-parse", "HEAD")
                _git(clone, "branch", "--force", f"trial-{number}-{int(slower)}", commit)
                status, printed = _asv(suite, "continuous", *OPTIONS, "--factor", str(factor), base, commit)
                found.append(
                    {
                        "planted": SLOWER if slower else 1.0,
                        "flagged": "PERFORMANCE DECREASED" in printed,
                        "status": status,
                        "printed": said(printed),
                    }
                )
                print(f"{message}: {found[-1]['printed'][-1] if found[-1]['printed'] else printed}", flush=True)
        version = _git(clone, "log", "-1", "--format=%h %s", base)
    return {"machine": machine(), **stamp(), "commit": version, "factor": factor, "trials": found}


def said(printed: str) -> list[str]:
    """The lines of asv's comparison, and its last word."""
    kept = []
    for line in printed.splitlines():
        text = line.strip()
        if text.startswith("|") or "PERFORMANCE" in text or "NOT SIGNIFICANTLY CHANGED" in text:
            kept.append(text)
    return kept


def _git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _asv(folder: Path, *args: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "asv", *args]
    done = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main() -> int:
    """Run the trial; 1 if asv was wrong once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--factor", type=float, default=FACTOR)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    found = run_trial(options.rounds, options.factor)
    if options.record:
        options.record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    wrong = [trial for trial in found["trials"] if trial["flagged"] != (trial["planted"] > 1)]
    print(f"{len(found['trials']) - len(wrong)} of {len(found['trials'])} as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
