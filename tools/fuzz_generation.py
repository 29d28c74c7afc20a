"""Compare greedy choice and beam search with transformers on random options and tiny random models; record the run.

::

    python -m tools.fuzz_generation --count 20000 --seed 1

Compared are tokens (equal), scores of rows and of tokens (within 1e-4). A difference counts unless both libraries agree
when the models compute in float64: such near ties are counted apart. Every ``--per-model`` draws the weights change.
``--engine`` says what computes ours; for another one than "torch" there is, behind each draw, one of what transformers
draws otherwise or has no more (sampling with a seed, groups of beams, stop sequences), compared with "torch".
With ``--record`` the summary goes to ``docs/results/fuzz_generation.json``; a difference is printed with its options.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from numba_nlp.generation.engines import ENGINES
from tools.engine_cases import compare_engines, draw_own_case
from tools.files import ROOT
from tools.generation_cases import ARCHITECTURES, compare, draw_case, make_pair

__all__ = ["run"]

_RESULT = ROOT / "docs" / "results" / "fuzz_generation.json"


def run(count: int, seed: int, per_model: int, engine: str = "auto") -> dict[str, Counter[str]]:
    """Draw generations of all families in turn.

    Parameters
    ----------
    count : int
        Of draws, all families together.
    seed : int
        Of options, prompts and weights.
    per_model : int
        Draws with the same weights.
    engine : str
        As of ``generate``.

    Returns
    -------
    dict
        For each family how many gave each verdict of ``compare``, and how many draws had beams.
    """
    tallies: dict[str, Counter[str]] = {architecture: Counter() for architecture in ARCHITECTURES}
    done, block = 0, 0
    while done < count:
        architecture = ARCHITECTURES[block % len(ARCHITECTURES)]
        with tempfile.TemporaryDirectory() as folder:
            pair = make_pair(architecture, Path(folder), seed=seed * 1_000_000 + block)
        tally = tallies[architecture]
        for number in range(min(per_model, count - done)):
            case = draw_case(random.Random(f"{seed} {block} {number}"), pair)
            case.engine = engine
            verdict, why = compare(pair, case)
            tally[verdict] += 1
            tally["with beams"] += case.options["num_beams"] > 1
            if engine not in ("auto", "torch"):
                own = draw_own_case(random.Random(f"own {seed} {block} {number}"), pair, engine)
                own_verdict, own_why = compare_engines(pair, own)
                tally[f"{own_verdict} (engines)"] += 1
                if own_verdict == "different":
                    print(f"{architecture}, block {block}, draw {number}: {own.options}\n{own_why}", flush=True)
            if verdict == "different":
                print(f"{architecture}, block {block}, draw {number}: {case.options}\n{why}", flush=True)
        done += min(per_model, count - done)
        block += 1
        print(f"{done}/{count} {architecture} {dict(tally)}", file=sys.stderr, flush=True)
    return tallies


def main() -> int:
    """Run and record; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-model", type=int, default=50)
    parser.add_argument("--engine", default="auto", choices=["auto", *ENGINES])
    parser.add_argument("--record", action="store_true", help="write the summary to docs/results")
    arguments = parser.parse_args()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    begin = time.perf_counter()
    tallies = run(arguments.count, arguments.seed, arguments.per_model, arguments.engine)
    total = sum(tallies.values(), Counter[str]())
    summary = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "count": arguments.count,
        "seed": arguments.seed,
        "engine": arguments.engine,
        "seconds": round(time.perf_counter() - begin),
        "versions": {name: version(name) for name in ("transformers", "torch", "numba", "numpy")},
        "families": {name: dict(sorted(tally.items())) for name, tally in tallies.items()},
        "total": dict(sorted(total.items())),
    }
    print(json.dumps(summary, indent=1))
    if arguments.record:
        _RESULT.write_text(json.dumps(summary, indent=1) + "\n")
    return 1 if total["different"] + total["different (engines)"] else 0


if __name__ == "__main__":
    sys.exit(main())
