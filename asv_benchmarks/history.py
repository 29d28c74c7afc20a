"""Measure some commits of this repository by asv, all by turns, for the history that is kept in it.

::

    python -m asv_benchmarks.history                  # the commits of history_commits.json
    python -m asv_benchmarks.history HEAD             # that commit alone; it is added to the file
    python -m asv_benchmarks.history --together HEAD  # that commit and those of the file
    python -m asv_benchmarks.history_page             # writes docs/history.md

Each commit is installed in asv's own environment, with the versions of ``asv.conf.json``, and measured by the
benchmarks of this checkout (:mod:`asv_benchmarks.history_cases`). With ``--interleave-rounds`` the commits come by
turns, so that what else the machine does is the same for all. What asv found, a folder for each kind of machine, is
copied to ``history``, which is kept; asv's own results are not, as every run of asv changes them. The exit status is
asv's: 2 where a commit cannot do all of it, as old ones cannot.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .benchmarks.backends import thread_environment
from .history_cases import patterns
from .history_files import trim
from .machine import machine

__all__ = ["COMMITS", "RESULTS", "add_commits", "commits", "machine_name", "main", "run_history"]

SUITE = Path(__file__).parent
#: What is kept.
RESULTS = SUITE / "history"
#: ``results_dir`` of ``asv.conf.json``.
FOUND = SUITE / ".asv" / "results"
#: The commits of the history, oldest first, each with its date and subject.
COMMITS = SUITE / "history_commits.json"


def commits() -> list[dict[str, str]]:
    """The commits of the history, oldest first."""
    found: list[dict[str, str]] = json.loads(COMMITS.read_text(encoding="utf-8"))
    return found


def described(names: Sequence[str]) -> list[dict[str, str]]:
    """Hash, date and subject of commits, oldest first.

    Raises
    ------
    SystemExit
        Git knows no commit of that name.
    """
    found = []
    for name in names:
        command = ["git", "log", "-1", "--format=%H%n%cI%n%s", name, "--"]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name!r} is no commit of this repository: {done.stderr.strip()}")
        found.append(dict(zip(("commit", "date", "subject"), done.stdout.splitlines(), strict=True)))
    return sorted(found, key=lambda one: one["date"])


def add_commits(known: Sequence[dict[str, str]], new: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Both, each commit once, oldest first."""
    by_hash = {one["commit"]: one for one in [*known, *new]}
    return sorted(by_hash.values(), key=lambda one: one["date"])


def machine_name(here: dict[str, Any]) -> str:
    """A name for machines of this kind, without the name of this one."""
    kind = re.sub(r"[^a-z0-9]+", "-", str(here["processor"]).lower()).strip("-")
    return f"{kind}-{here['processors']}-processors"


def run_history(names: Sequence[str], machine_is: str, rounds: int, cpu: int | None) -> int:
    """Let asv measure commits, by turns; asv's exit status, which is 2 where a commit cannot do all of it."""
    here = machine()
    environment = {**os.environ, **thread_environment(1)}
    asv = [sys.executable, "-m", "asv"]
    known = {
        "--machine": machine_is,
        "--os": str(here["system"]).partition(" ")[0],
        "--arch": str(here["system"]).partition(" ")[2],
        "--cpu": str(here["processor"]),
        "--num_cpu": str(here["processors"]),
        "--ram": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
    }
    subprocess.run([*asv, "machine", *(part for pair in known.items() for part in pair)], cwd=SUITE, check=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "commits"
        file.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        command = [*asv, "run", "--machine", machine_is, "--interleave-rounds", "--attribute", f"rounds={rounds}"]
        command += ["--show-stderr", *(("--cpu-affinity", str(cpu)) if cpu is not None else ())]
        command += [option for pattern in patterns() for option in ("--bench", pattern)]
        status = subprocess.run([*command, f"HASHFILE:{file}"], cwd=SUITE, env=environment, check=False).returncode
    keep(names, machine_is)
    return status


def keep(names: Sequence[str], machine_is: str) -> None:
    """Copy what asv found at some commits to what is kept, cut to what the history follows."""
    (RESULTS / machine_is).mkdir(parents=True, exist_ok=True)
    shutil.copy(FOUND / "benchmarks.json", RESULTS)
    shutil.copy(FOUND / machine_is / "machine.json", RESULTS / machine_is)
    for name in names:
        for path in (FOUND / machine_is).glob(f"{name[:8]}-*.json"):
            trim(Path(shutil.copy(path, RESULTS / machine_is)))


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", help="names that git knows (default: those of history_commits.json)")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each commit (default: %(default)s)")
    parser.add_argument("--cpu", type=int, help="processor to stay on")
    parser.add_argument("--machine", default=machine_name(machine()), help="name of the folder (default: %(default)s)")
    parser.add_argument("--together", action="store_true", help="measure those of history_commits.json too, by turns")
    options = parser.parse_args()
    given = described(options.commits)
    chosen = given if given and not options.together else add_commits(commits(), given)
    status = run_history([one["commit"] for one in chosen], options.machine, options.rounds, options.cpu)
    together = add_commits(commits(), chosen)
    COMMITS.write_text(json.dumps(together, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
