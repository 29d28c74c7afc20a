"""The history of speeds: which commits, what asv's files say, and a page that is what they hold."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asv_benchmarks import history, history_files, history_page
from asv_benchmarks.history_cases import CASES, Case
from asv_benchmarks.smallest import module

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = json.loads((ROOT / "asv_benchmarks" / "asv.conf.json").read_text(encoding="utf-8"))
WARM = Case("a.B.time_c", ("y", "k"), "batch, warm")
OTHER = Case("a.B.time_c", ("x", "k"), "batch, cold")
#: As asv 0.6 writes it: a row a benchmark, values in the order of the product of the parameters.
FOUND: dict[str, Any] = {
    "result_columns": ["result", "params", "version"],
    "results": {"a.B.time_c": [[float("nan"), None, 0.0025, 1.0], [["'x'", "'y'"], ["'k'", "'l'"]], "7"]},
}


def test_a_case_is_one_set_of_parameters() -> None:
    assert re.search(WARM.pattern, "a.B.time_c('y', 'k')")
    for other in (
        "a.B.time_c('y', 'k', 'z')",
        "a.B.time_c('x', 'k')",
        "aaB.time_c('y', 'k')",
        "b.a.B.time_c('y', 'k')",
    ):
        assert not re.search(WARM.pattern, other)
    assert re.search(Case("a.B.timeraw_d", (), "").pattern, "a.B.timeraw_d")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_cases_are_benchmarks_with_such_parameters(case: Case) -> None:
    file, kind, method = case.benchmark.split(".")
    benchmark = getattr(module(file), kind)
    assert callable(getattr(benchmark, method))
    given = getattr(benchmark, "params", ())
    assert len(given) == len(case.parameters)
    for value, values in zip(case.parameters, given, strict=True):
        assert value in values


def test_figures_are_found_in_the_order_of_the_parameters() -> None:
    assert history_files.measured(FOUND, WARM) == 0.0025
    assert history_files.measured(FOUND, OTHER) is None
    assert history_files.measured(FOUND, Case("a.B.time_d", (), "")) is None


def test_files_are_cut_to_what_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_files, "CASES", (WARM,))
    row = [*FOUND["results"]["a.B.time_c"], 5, [1, 2, 3, 4], [[0.1], [0.2], [0.3], [0.4]]]
    found = {
        "commit_hash": "1",
        "result_columns": [*FOUND["result_columns"], "duration", "stats_q_25", "samples", "profile"],
        "results": {"a.B.time_c": row, "a.B.time_other": [[1.0], [], "8"]},
    }
    cut = history_files.trimmed(found)
    assert cut["results"] == {"a.B.time_c": [[0.0025], [["'y'"], ["'k'"]], "7", 5, [3]]}
    assert {key: value for key, value in cut.items() if key != "results"} == {
        key: value for key, value in found.items() if key != "results"
    }
    assert history_files.measured(cut, WARM) == 0.0025
    assert history_files.trimmed(cut) == cut


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("m.K.time_a", 2.5e-3, "2.5 ms"),
        ("m.K.time_a", 1.0, "1 s"),
        ("m.K.time_a", 4.2e-6, "4.2 \u00b5s"),
        ("m.K.peakmem_a", 147_200_000.0, "147 MB"),
    ],
)
def test_units(name: str, value: float, text: str) -> None:
    assert history_page.shown(Case(name, (), ""), value) == text


def test_changes_are_marked() -> None:
    assert [history_page.marked(ratio) for ratio in (1.05, 0.95, 1.2, 0.5)] == ["1.05", "0.95", "**1.20**", "**0.50**"]


def test_ratios_are_to_the_previous_and_to_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def file(seconds: float | None) -> dict[str, Any]:
        return {"result_columns": ["result", "params"], "results": {"a.T.time_d": [[seconds], []]}}

    monkeypatch.setattr(history_page, "CASES", (Case("a.T.time_d", (), "it"),))
    listed = [{"commit": letter} for letter in "abcd"]
    results = {"a": file(None), "b": file(0.004), "c": file(0.002), "d": file(0.00204)}
    assert history_page.table(listed, results)[-1] == (
        "| it | - | 4 ms | 2 ms (**0.50**) | 2.04 ms (1.02) | **0.51** |"
    )


def test_how_far_the_controls_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = (Case("a.T.time_d", (), "it"), Case("a.T.time_e", (), "*control:* other"))
    monkeypatch.setattr(history_page, "CASES", cases)

    def file(ours: float, other: float | None) -> dict[str, Any]:
        rows = {"a.T.time_d": [[ours], []], "a.T.time_e": [[other], []]}
        return {"result_columns": ["result", "params"], "results": rows}

    results = {"a": file(9.0, 1.0), "b": file(1.0, None), "c": file(5.0, 0.8), "d": file(1.0, 0.9)}
    assert history_page.control_steps([{"commit": letter} for letter in "abcd"], results) == pytest.approx(1.25)


def test_commits_are_listed_once_and_by_date() -> None:
    one, two = {"commit": "1", "date": "2026-01-02"}, {"commit": "2", "date": "2026-01-01"}
    assert history.add_commits([one], [two, one]) == [two, one]
    listed = history.commits()
    assert listed == sorted(listed, key=lambda commit: commit["date"])


def test_an_unknown_commit_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.setattr(history, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="'no-such' is no commit of this repository"):
        history.described(["no-such"])


def test_the_name_of_a_machine_is_its_kind() -> None:
    assert history.machine_name({"processor": "Some (R) CPU @ 3.0GHz", "processors": 4}) == (
        "some-r-cpu-3-0ghz-4-processors"
    )


def test_results_of_five_commits_are_kept_where_asv_looks_for_them() -> None:
    assert (ROOT / "asv_benchmarks" / SETTINGS["results_dir"]).resolve() == history.FOUND.resolve()
    _, machine, results = history_page.kept()
    listed = {commit["commit"] for commit in history.commits()}
    assert len(set(results) & listed) >= 5
    assert (
        history.RESULTS / "benchmarks.json"
    ).exists()  # asv's list of benchmarks, without which it publishes nothing
    # neither a machine's own name nor its paths: only the kind of machine
    assert machine["machine"] == history.machine_name({"processor": machine["cpu"], "processors": machine["num_cpu"]})
    for found in results.values():
        assert set(found["params"]) >= {"machine", "cpu", "python"}
        assert set(found["env_vars"]) == set(SETTINGS["matrix"]["env_nobuild"])
        text = json.dumps({key: value for key, value in found.items() if key != "results"})
        assert '"/' not in text


def test_the_page_is_what_was_kept() -> None:
    assert history_page.PAGE.read_text(encoding="utf-8") == history_page.render(*history_page.kept())


def test_the_pictures_are_what_was_kept(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in history_page.PICTURES:
        history_page.draw(name, tmp_path / f"{name}.svg")
        drawn, again = (
            re.findall(r"<text [^>]*>(.*?)</text>", (folder / f"{name}.svg").read_text(encoding="utf-8"), re.DOTALL)
            for folder in (tmp_path, ROOT / "docs" / "pictures")
        )
        assert drawn == again
        assert drawn
