"""The trial of asv: what it plants is slower, what asv says is read, and the page is what was recorded."""

from __future__ import annotations

import json
import time
from pathlib import Path

from asv_benchmarks import trial, trial_page

ROOT = Path(__file__).resolve().parent.parent
#: What asv 0.6 prints at the end of `continuous`.
PRINTED = """
[100.00%] ··· bench_encode.EncodeWarm.time_encode_batch                       ok

| Change   | Before [3f0d6a8c] <main>   | After [c04b7e11] <trial-0-1>   |   Ratio | Benchmark (Parameter) |
|----------|----------------------------|--------------------------------|---------|-----------------------|
| +        | 770±60μs                   | 1.15±0.02ms                    |    1.49 | bench_encode.x        |

SOME BENCHMARKS HAVE CHANGED SIGNIFICANTLY.
PERFORMANCE DECREASED.
"""


def test_what_is_planted_is_slower() -> None:
    class Tokenizer:
        """Stands for the one that is changed."""

        def encode_batch(self, texts: list[str], *, again: int) -> list[str]:
            time.sleep(0.02)
            return texts * again

    exec(compile(trial.PLANTED, "planted", "exec"), {"Tokenizer": Tokenizer})
    begun = time.perf_counter()
    assert Tokenizer().encode_batch(["a"], again=2) == ["a", "a"]
    # it waits half as long as it took, which is never less
    assert time.perf_counter() - begun >= 0.03


def test_what_asv_says() -> None:
    lines = trial.said(PRINTED)
    assert [line[0] for line in lines] == ["|", "|", "|", "P"]
    assert trial.said("BENCHMARKS NOT SIGNIFICANTLY CHANGED.\n") == ["BENCHMARKS NOT SIGNIFICANTLY CHANGED."]


def test_planted_code_has_its_place() -> None:
    source = (ROOT / "numba_nlp" / "tokenizer.py").read_text(encoding="utf-8")
    compile(source + trial.PLANTED, "tokenizer.py", "exec")
    assert "\nclass Tokenizer" in source
    assert "def encode_batch(" in source


def test_environments_have_the_versions_of_the_constraints() -> None:
    settings = json.loads((ROOT / "asv_benchmarks" / "asv.conf.json").read_text(encoding="utf-8"))
    pinned = [
        line.split(";")[0].strip() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    ]
    for name, (version,) in settings["matrix"]["req"].items():
        assert f"{name.removeprefix('pip+')}=={version}" in pinned


def test_the_page_is_what_was_recorded() -> None:
    found = json.loads(trial_page.RECORD.read_text(encoding="utf-8"))
    assert trial_page.PAGE.read_text(encoding="utf-8") == trial_page.render(found)
    assert [trial["flagged"] for trial in found["trials"]] == [False, True] * (len(found["trials"]) // 2)
